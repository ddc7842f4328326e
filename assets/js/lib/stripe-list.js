// @ts-check
/** One stripe for each token: a button with the token's text, then its vector. The chosen one is lit. */
import { onWidth } from "./canvas.js"
import { h, part, set, visible } from "./dom.js"
import { draw, hover, scaleOf, stripe } from "./stripes.js"

/** @typedef {{position: number, text: string, note: string, values: Float32Array}} Row */

/**
 * @param {HTMLElement} root
 * @param {{rows: Row[], chosen: number, ramp: string[], name: string, stripeName: (row: Row) => string,
 *   say: (row: Row, index: number, value: number) => string, choose: (position: number) => void}} options
 *   `say`: the words for one number of a row
 */
export function renderStripeList(root, { rows, chosen, ramp, name, stripeName, say, choose }) {
  const list = part(root, "stripe-list", () => h("ul", { class: "nt-stripes" }))
  const tip = part(root, "stripe-tip", () => h("div", { class: "nt-tip", hidden: true, "aria-live": "polite" }))
  set(list, { "aria-label": name })
  while (list.children.length > rows.length) list.lastElementChild?.remove()
  while (list.children.length < rows.length) list.append(line())
  const scale = middle(rows.map((row) => scaleOf(row.values)))
  rows.forEach((row, i) => {
    const item = /** @type {HTMLElement} */ (list.children[i])
    const [button, cell] = /** @type {HTMLElement[]} */ ([...item.children])
    const [text, note] = /** @type {HTMLElement[]} */ ([...button.children])
    item.classList.toggle("lit", row.position === chosen)
    text.textContent = visible(row.text)
    note.textContent = row.note
    set(button, { onclick: () => choose(row.position), "aria-pressed": String(row.position === chosen) })
    const canvas = stripe(cell, "stripe", stripeName(row))
    canvas.tabIndex = row.position === chosen ? 0 : -1 // one stop for the keyboard, not one for each token
    hover(canvas, row.values, (at) => {
      tip.hidden = at === null
      if (at) put(tip, canvas, at.x, say(row, at.index, at.value))
    })
  })
  onWidth(list, () => rows.forEach((row, i) => {
    const canvas = list.children[i]?.querySelector("canvas")
    if (canvas) draw(canvas, row.values, { scale, ramp, height: row.position === chosen ? 26 : 18 })
  }))
}

/**
 * Show `text` just below a canvas, at `x` of it, inside the component's edges.
 * @param {HTMLElement} tip
 * @param {HTMLElement} canvas
 * @param {number} x
 * @param {string} text
 */
export function put(tip, canvas, x, text) {
  tip.hidden = false
  tip.textContent = text
  const root = /** @type {HTMLElement} */ (tip.offsetParent ?? tip.parentElement)
  const [box, at] = [root.getBoundingClientRect(), canvas.getBoundingClientRect()]
  const left = Math.min(at.left - box.left + x + 8, box.width - tip.offsetWidth - 4)
  set(tip, { style: { left: `${Math.max(0, left)}px`, top: `${at.bottom - box.top + 4}px` } })
}

/**
 * The rows' scales differ; the middle one serves all, so that a first token's huge vector does not pale the others.
 * @param {number[]} scales
 */
function middle(scales) {
  return scales.toSorted((a, b) => a - b)[Math.floor(scales.length / 2)] ?? 1
}

function line() {
  return h("li", {},
    h("button", { type: "button", class: "nt-stripe-name" }, h("span", { class: "nt-mono" }), h("small", {})),
    h("div", { class: "nt-stripe-cell" }))
}
