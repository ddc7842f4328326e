// @ts-check
/** Small helpers to build elements. Text goes in by `textContent` alone, so no token can become markup. */

const SVG = "http://www.w3.org/2000/svg"

/**
 * `h("button", {class: "chip", onclick: f, "aria-label": "…"}, "text", child)`
 * @param {string} tag
 * @param {Record<string, any>} [attributes] `on…` functions are assigned, not stacked; `null` and `false` leave out
 * @param {...(Node|string|number|null|undefined)} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  return /** @type {HTMLElement} */ (fill(document.createElement(tag), attributes, children))
}

/**
 * The same for SVG elements.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node|string|number|null|undefined)} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  return /** @type {SVGElement} */ (fill(document.createElementNS(SVG, tag), attributes, children))
}

/**
 * Set attributes and handlers on an element that is there already.
 * @template {Element} E
 * @param {E} element
 * @param {Record<string, any>} attributes
 * @returns {E}
 */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function" || name.startsWith("on")) Object.assign(element, { [name]: value })
    else if (name === "style" && typeof value === "object") Object.assign(/** @type {any} */ (element).style, value)
    else if (value === null || value === undefined || value === false) element.removeAttribute(name)
    else element.setAttribute(name, value === true ? "" : String(value))
  }
  return element
}

/**
 * Find a child by its `data-part` name, or build it once: the way to stay idempotent.
 * @template {Element} E
 * @param {ParentNode} parent
 * @param {string} name
 * @param {() => E} build
 * @returns {E}
 */
export function part(parent, name, build) {
  for (const child of parent.children) if (child.getAttribute("data-part") === name) return /** @type {E} */ (child)
  const made = build()
  made.setAttribute("data-part", name)
  parent.append(made)
  return made
}

/** @type {WeakMap<Element, any>} */
const memories = new WeakMap()

/**
 * What a component remembers between two calls of `render` on the same element.
 * @template T
 * @param {Element} element
 * @param {() => T} start
 * @returns {T}
 */
export function memory(element, start) {
  if (!memories.has(element)) memories.set(element, start())
  return memories.get(element)
}

/**
 * Text with its spaces and line ends made visible: `·` for a space, `↵` for a line break, `⇥` for a tab.
 * @param {string} text
 */
export function visible(text) {
  return text.replace(/ /g, "·").replace(/\n/g, "↵").replace(/\t/g, "⇥").replace(/\r/g, "␍")
}

/**
 * @param {Element} element
 * @param {Record<string, any>} attributes
 * @param {(Node|string|number|null|undefined)[]} children
 */
function fill(element, attributes, children) {
  set(element, attributes)
  for (const child of children) {
    if (child !== null && child !== undefined) element.append(child instanceof Node ? child : String(child))
  }
  return element
}
