// @ts-check
/** Vectors that belong together, one below the other, with one number of all of them read out at once. */
import { onWidth } from "./canvas.js"
import { h, part, set } from "./dom.js"
import { draw, hover, scaleOf, stripe } from "./stripes.js"
import { fill } from "../generate/format.js"
import { number } from "./numbers.js"

/**
 * @param {HTMLElement} root
 * @param {any} header `parts`: [{name, note}], `readout`: words with the places {index}, {0}, {1}, …; `at`: the
 *   number that is read out while none is pointed at
 * @param {any} arrays one vector for each part, in order
 * @param {string[]} ramp
 */
export function renderParts(root, header, arrays, ramp) {
  const list = part(root, "parts", () => h("ul", { class: "nt-stripes parts" }))
  const readout = part(root, "readout", () => h("p", { class: "nt-readout", "aria-live": "polite" }))
  while (list.children.length > header.parts.length) list.lastElementChild?.remove()
  while (list.children.length < header.parts.length) list.append(line())
  const vectors = header.parts.map((/** @type {any} */ _, /** @type {number} */ i) => arrays[i])
  const say = (/** @type {number} */ index) => {
    const values = vectors.map((/** @type {Float32Array} */ vector) => number(vector[index]))
    readout.textContent = fill(header.readout, { index, ...values })
    paint(index)
  }
  const paint = (/** @type {number} */ lit) => {
    vectors.forEach((/** @type {Float32Array} */ vector, /** @type {number} */ i) => {
      const canvas = list.children[i]?.querySelector("canvas")
      if (canvas) draw(canvas, vector, { scale: scales[i], ramp, lit })
    })
  }
  const scales = vectors.map((/** @type {Float32Array} */ vector) => scaleOf(vector))
  header.parts.forEach((/** @type {any} */ one, /** @type {number} */ i) => {
    const item = /** @type {HTMLElement} */ (list.children[i])
    const [name, cell] = /** @type {HTMLElement[]} */ ([...item.children])
    part(name, "name", () => h("b")).textContent = one.name
    part(name, "note", () => h("small")).textContent = one.note
    const canvas = stripe(cell, "stripe", `${one.name}. ${one.note}`)
    canvas.tabIndex = i === 0 ? 0 : -1
    hover(canvas, vectors[i], (at) => say(at ? at.index : header.at))
  })
  set(list, { "aria-label": header.labels.title })
  onWidth(list, () => say(header.at))
}

function line() {
  return h("li", {}, h("div", { class: "nt-stripe-word" }), h("div", { class: "nt-stripe-cell" }))
}
