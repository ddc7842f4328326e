// @ts-check
/** The grid's element: one canvas, the place in words below it, pointer and keys. */
import { context, onWidth } from "../lib/canvas.js"
import { h, memory, part, set } from "../lib/dom.js"
import { put } from "../generate/bars.js"
import { fill, marked } from "../generate/format.js"
import { textAt } from "../generate/view-model.js"
import { scaleOf } from "../lib/stripes.js"
import { measure, placeAt } from "./geometry.js"
import { paintScene } from "./picture.js"

/** @typedef {{header: any, arrays: any, palette: any, lens: import("./lenses.js").Lens, layer: number,
 *   position: number, before: boolean, moment: import("./motion.js").Moment | null, kind: string, open: boolean}} View */
/** @typedef {{choose: (place: {layer: number, position: number}, wait: boolean) => void,
 *   open: (place: {layer: number, position: number}) => void}} On */

/** @type {WeakMap<object, number>} one colour scale for all embedding rows of a message */
const scales = new WeakMap()

/**
 * @param {HTMLElement} root
 * @param {View} view
 * @param {On} on
 */
export function renderGrid(root, view, on) {
  const frame = part(root, "grid", () => h("div", {
    class: "ntj-grid", role: "application", tabindex: "0", "aria-roledescription": "grid",
  }))
  const canvas = part(frame, "canvas", () => /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" })))
  const tip = part(frame, "tip", () => h("div", { class: "nt-tip", hidden: true }))
  const m = memory(frame, () => /** @type {any} */ ({}))
  m.view = view
  const at = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect()
    return m.geo ? placeAt(m.geo, event.clientX - box.left, event.clientY - box.top) : null
  }
  set(frame, {
    "aria-label": view.header.labels.grid_name,
    onmousedown: (/** @type {MouseEvent} */ event) => event.preventDefault(), // the arrow keys go on to step the run
    onclick: (/** @type {MouseEvent} */ event) => {
      const place = at(event)
      if (place) on.choose({ position: place.position, layer: place.layer ?? m.view.layer }, true)
    },
    ondblclick: (/** @type {MouseEvent} */ event) => {
      const place = at(event)
      if (place) on.open({ position: place.position, layer: place.layer ?? m.view.layer })
    },
    onpointermove: (/** @type {PointerEvent} */ event) => hover(frame, tip, m, event, at(event)),
    onpointerleave: () => (tip.hidden = true),
    onkeydown: (/** @type {KeyboardEvent} */ event) => keys(frame, m, event, on),
  })
  const line = part(root, "place", () => h("div", { class: "ntj-place" },
    h("span", { "aria-live": "polite" }), h("button", { type: "button", class: "nt-chip" })))
  const [where, open] = /** @type {HTMLElement[]} */ ([...line.children])
  put(where, placed(view, view.layer, view.position))
  put(open, fill(view.header.labels.open_block, { layer: view.layer }))
  set(open, { onclick: () => on.open({ layer: view.layer, position: view.position }) })
  onWidth(frame, () => paint(canvas, m))
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {any} m
 */
function paint(canvas, m) {
  const view = /** @type {View} */ (m.view)
  const width = /** @type {HTMLElement} */ (canvas.parentElement).clientWidth
  if (!width) return
  const { header, arrays } = view
  const count = header.prompt + header.state.step
  m.geo = measure({
    width, count, layers: header.layers, prompt: header.prompt, chosen: Math.min(view.position, count - 1),
    lane: view.lens.name === "attention" ? view.layer : null, open: view.open || header.state.ahead > 0,
    wordy: view.lens.name === "say",
  })
  let scale = scales.get(arrays.embeddings)
  if (scale === undefined) scales.set(arrays.embeddings, (scale = scaleOf(arrays.embeddings)))
  paintScene(context(canvas, width, m.geo.height), { ...view, geo: m.geo, scale })
}

/**
 * A cell in words.
 * @param {View} view
 * @param {number} layer
 * @param {number} position
 */
function placed(view, layer, position) {
  const { labels } = view.header
  const place = fill(labels.place, { token: `“${marked(textAt(view.header, position) ?? "")}”`, position, layer })
  return view.before ? place : `${place}: ${view.lens.said(layer, position)}`
}

/**
 * @param {HTMLElement} frame
 * @param {HTMLElement} tip
 * @param {any} m
 * @param {PointerEvent} event
 * @param {{position: number, layer: number | null} | null} place
 */
function hover(frame, tip, m, event, place) {
  tip.hidden = place === null || event.pointerType === "touch"
  if (!place || tip.hidden) return
  tip.textContent = placed(m.view, place.layer ?? m.view.layer, place.position)
  const box = frame.getBoundingClientRect()
  const left = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4)
  set(tip, { style: { left: `${Math.max(0, left)}px`, top: `${event.clientY - box.top + 18}px` } })
}

/**
 * With the grid in focus by key the arrows move the chosen cell and Enter opens its block; else they step the run.
 * @param {HTMLElement} frame
 * @param {any} m
 * @param {KeyboardEvent} event
 * @param {On} on
 */
function keys(frame, m, event, on) {
  if (!frame.matches(":focus-visible") || event.altKey || event.ctrlKey || event.metaKey) return
  const { header, layer, position } = /** @type {View} */ (m.view)
  const [layers, count] = [header.layers, header.prompt + header.state.step]
  /** @type {Record<string, [number, number]>} */
  const moves = {
    ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0],
    Home: [0, -count], End: [0, count], PageUp: [layers, 0], PageDown: [-layers, 0],
  }
  const move = moves[event.key]
  if (!move && event.key !== "Enter") return
  event.preventDefault()
  event.stopPropagation()
  if (!move) return on.open({ layer, position })
  const inside = (/** @type {number} */ value, /** @type {number} */ many) => Math.max(0, Math.min(many - 1, value))
  on.choose({ layer: inside(layer + move[0], layers), position: inside(position + move[1], count) }, true)
}
