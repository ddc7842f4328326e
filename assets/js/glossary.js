// @ts-check
/** The glossary: all terms by name, searched while one types, each with its own address. */
import { h, memory, part, set } from "./lib/dom.js"
import { fill } from "./generate/format.js"

export const styles = ["glossary.css"]

/** @typedef {{ slug: string, name: string, meaning: string, field: string, pages: string[][], sources: string[] }} Entry */
/** @typedef {{ header: any, emit: (event: string, payload?: any) => void, asked: string, shown: string | null }} Memory */

/** @param {string} words */
const folded = (words) => words.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()

/**
 * The entries that hold every word of what was typed; those with it in their name stand first.
 * @param {Entry[]} terms
 * @param {string} typed
 */
export function search(terms, typed) {
  const words = folded(typed).split(/\s+/).filter(Boolean)
  if (!words.length) return terms
  const has = (/** @type {string} */ where) => words.every((word) => folded(where).includes(word))
  const named = (/** @type {Entry} */ term) => has(`${term.name} ${term.field} ${term.slug}`)
  const found = terms.filter((term) => has(`${term.name} ${term.field} ${term.slug} ${term.meaning}`))
  return [...found.filter(named), ...found.filter((term) => !named(term))]
}

/**
 * @param {HTMLElement} element
 * @param {any} header terms, chosen, labels
 * @param {any} _arrays
 * @param {(event: string, payload?: any) => void} emit `open` with a page's name, `choose` with a slug
 */
export function render(element, header, _arrays, emit) {
  const m = memory(element, () => /** @type {Memory} */ ({ header, emit, asked: "", shown: null }))
  Object.assign(m, { header, emit })
  paint(element, m)
  if (header.chosen && header.chosen !== m.shown) reveal(element, m, header.chosen)
  m.shown = header.chosen
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 */
function paint(element, m) {
  const { labels, terms } = m.header
  const found = search(terms, m.asked)
  const root = part(element, "root", () => h("section", { class: "ntgl", "aria-label": labels.list }))
  const bar = part(root, "bar", () => h("div", { class: "ntgl-bar" }))
  const label = part(bar, "label", () => h("label", {}))
  part(label, "words", () => h("span", {})).textContent = labels.search
  const field = /** @type {HTMLInputElement} */ (part(label, "field", () => h("input", { type: "search", autocomplete: "off" })))
  set(field, { oninput: () => { m.asked = field.value; paint(element, m) } })
  const count = part(bar, "count", () => h("p", { class: "nt-muted", role: "status" }))
  count.textContent = found.length ? fill(labels.count, { shown: found.length, all: terms.length }) : labels.none
  const list = part(root, "list", () => h("div", { class: "ntgl-list" }))
  const shown = new Set(found.map((term) => term.slug))
  for (const [place, term] of [...found, ...terms.filter((/** @type {Entry} */ t) => !shown.has(t.slug))].entries()) {
    const entry = part(list, term.slug, () => build(term, m))
    entry.hidden = !shown.has(term.slug)
    entry.style.order = String(place)
    entry.classList.toggle("here", term.slug === m.header.chosen)
  }
}

/**
 * @param {Entry} term
 * @param {Memory} m
 */
function build(term, m) {
  const { labels } = m.header
  const address = h("a", {
    href: `glossary?term=${term.slug}`, class: "ntgl-link", "aria-label": `${labels.copy}: ${term.name}`,
    onclick: (/** @type {MouseEvent} */ event) => plain(event, () => m.emit("choose", term.slug)),
  }, "#")
  const pages = term.pages.map(([name, title, path]) => h("a", {
    href: path, onclick: (/** @type {MouseEvent} */ event) => plain(event, () => m.emit("open", name)),
  }, title))
  return h("article", { class: "ntgl-entry", tabindex: "-1", "aria-label": term.name },
    h("h2", {}, term.name, address),
    term.field ? h("p", { class: "ntgl-field", title: labels.field }, term.field) : null,
    h("p", {}, term.meaning),
    pages.length ? h("p", { class: "ntgl-pages nt-muted" }, `${labels.pages} `, ...pages) : null,
    h("details", {}, h("summary", {}, labels.sources), h("ul", {}, ...term.sources.map((source) => h("li", {}, source)))),
  )
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {string} slug
 */
function reveal(element, m, slug) {
  const entry = /** @type {HTMLElement | null} */ (element.querySelector(`[data-part="${CSS.escape(slug)}"]`))
  if (!entry) return
  if (entry.hidden) {
    m.asked = ""
    const field = element.querySelector("input")
    if (field) field.value = ""
    paint(element, m)
  }
  requestAnimationFrame(() => {
    entry.scrollIntoView({ block: "center" })
    entry.focus({ preventScroll: true })
  })
}

/**
 * A plain click stays in this run; with a modifier the browser does what it always does.
 * @param {MouseEvent} event
 * @param {() => void} action
 */
function plain(event, action) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return
  event.preventDefault()
  action()
}
