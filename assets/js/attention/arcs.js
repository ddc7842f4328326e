// @ts-check
/** The text with an arc from the chosen token to each token that it looks at; a click chooses the token that looks. */
import { h, part, set, svg } from "../lib/dom.js"
import { fill, percent, token } from "./words.js"

const HEIGHT = 96
const FROM = 0.004 // thinner arcs would not be seen
const MOST = 60

/**
 * @param {HTMLElement} panel
 * @param {import("../attention.js").State} s
 */
export function renderArcs(panel, s) {
  const { header, labels, query } = s
  const scroll = part(panel, "scroll", () => h("div", { class: "nta-scroll" }))
  const inner = part(scroll, "inner", () => h("div", { class: "nta-arcs" }))
  const drawing = part(inner, "arcs", () => svg("svg", { "aria-hidden": "true", height: HEIGHT }))
  const strip = part(inner, "tokens", () => h("div", { class: "nta-tokens", role: "listbox" }))
  set(strip, { "aria-label": labels.query_title, onkeydown: (/** @type {KeyboardEvent} */ event) => keys(event, s, strip) })
  while (strip.children.length > header.tokens.length) strip.lastElementChild?.remove()
  header.tokens.forEach((/** @type {string} */ text, /** @type {number} */ at) => {
    const button = strip.children[at] ?? strip.appendChild(h("button", { class: "nta-token nt-mono", role: "option", type: "button" }))
    const weight = s.row.weights[at]
    const words = token(text, 12)
    const state = `${words}|${weight.toFixed(4)}|${at === query}|${at > query}|${at === s.key}`
    if (button.getAttribute("data-state") === state) return // most of a long text does not change
    button.setAttribute("data-state", state)
    if (button.textContent !== words) button.textContent = words
    set(button, {
      tabindex: at === query ? "0" : "-1", "aria-selected": String(at === query),
      class: `nta-token nt-mono${at === query ? " query" : ""}${at > query ? " later" : ""}${at === s.key ? " picked" : ""}`,
      title: fill(at > query ? labels.token_later : labels.token_tip, { token: words, position: at, weight: percent(weight) }),
      onclick: () => s.choose({ position: at }),
    })
    ;/** @type {HTMLElement} */ (button).style.setProperty("--share", String(weight))
  })
  draw(drawing, inner, strip, s)
  const chosen = /** @type {HTMLElement} */ (strip.children[query])
  if (scroll.scrollWidth > scroll.clientWidth && s.scrolled !== query) {
    scroll.scrollLeft = chosen.offsetLeft - scroll.clientWidth * 0.7
    s.scrolled = query
  }
}

/**
 * @param {SVGElement} drawing
 * @param {HTMLElement} inner
 * @param {HTMLElement} strip
 * @param {import("../attention.js").State} s
 */
function draw(drawing, inner, strip, s) {
  const middle = (/** @type {number} */ at) => {
    const child = /** @type {HTMLElement} */ (strip.children[at])
    return child.offsetLeft + child.offsetWidth / 2
  }
  set(drawing, { width: inner.scrollWidth })
  const heavy = Array.from(s.row.weights.keys()).filter((key) => s.row.weights[key] >= FROM)
  heavy.sort((a, b) => s.row.weights[b] - s.row.weights[a])
  const to = middle(s.query)
  drawing.replaceChildren(...heavy.slice(0, MOST).reverse().map((key) => {
    const weight = s.row.weights[key]
    const from = middle(key)
    const rise = Math.min(HEIGHT - 8, 18 + Math.abs(to - from) * 0.35)
    const path = key === s.query
      ? `M ${to - 7} ${HEIGHT} C ${to - 16} ${HEIGHT - 34}, ${to + 16} ${HEIGHT - 34}, ${to + 7} ${HEIGHT}`
      : `M ${from} ${HEIGHT} C ${from} ${HEIGHT - rise * 1.3}, ${to} ${HEIGHT - rise * 1.3}, ${to} ${HEIGHT}`
    return svg("path", {
      d: path, fill: "none", class: key === s.key ? "picked" : "", "stroke-width": 1 + 11 * weight,
      opacity: 0.25 + 0.75 * Math.sqrt(weight),
    })
  }))
}

/**
 * @param {KeyboardEvent} event
 * @param {import("../attention.js").State} s
 * @param {HTMLElement} strip
 */
function keys(event, s, strip) {
  const last = s.head.total - 1
  /** @type {Record<string, number>} */
  const to = { ArrowLeft: s.query - 1, ArrowRight: s.query + 1, Home: 0, End: last }
  if (!(event.key in to) || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  event.stopPropagation() // the page's own arrow keys step the run
  const at = Math.max(0, Math.min(last, to[event.key]))
  s.choose({ position: at })
  ;/** @type {HTMLElement} */ (strip.children[at]).focus()
}
