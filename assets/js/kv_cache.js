// @ts-check
/** The KV cache: layers × tokens, keys and values; and the vectors of one cell. */
import { forgetWidth } from "./lib/canvas.js"
import { h, memory, part, set } from "./lib/dom.js"
import { renderCell } from "./kv_cache/cell.js"
import { renderGrids } from "./kv_cache/grids.js"

export const styles = ["vectors.css", "kv_cache.css"]

const CHOOSE_AFTER_MS = 180
const LOOK_AFTER_MS = 220

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/kv_cache.py
 * @param {any} arrays `keys`, `values`: (layers, positions) lengths, −1 where dropped; of a cell (heads, size)
 * @param {import("./lib/loader.js").Emit} emit `choose` {layer, position} on a click or a key, `look` while pointed at
 */
export function render(element, header, arrays, emit) {
  const root = part(element, "view", () => h("section", { class: "nt-view" }))
  set(root, { "aria-label": header.labels[`${header.view}_name`] })
  if (header.view === "cell") {
    renderCell(root, element, header, arrays)
    return
  }
  const m = memory(element, () => ({ layer: 0, position: 0, timer: /** @type {any} */ (null), look: /** @type {any} */ (null), looked: "" }))
  if (m.timer === null) Object.assign(m, { layer: header.layer, position: header.position })
  m.looked = `${header.layer}:${header.position}` // a new message: the page shows the chosen cell again
  const draw = () => renderGrids(root, element, header, arrays, m, { choose, look })
  const choose = (/** @type {number} */ layer, /** @type {number} */ position) => {
    Object.assign(m, { layer, position })
    m.looked = `${layer}:${position}`
    draw()
    clearTimeout(m.timer)
    clearTimeout(m.look)
    m.timer = setTimeout(() => {
      m.timer = null
      emit("choose", { layer, position })
    }, CHOOSE_AFTER_MS)
  }
  const look = (/** @type {number} */ layer, /** @type {number} */ position) => {
    clearTimeout(m.look)
    if (m.looked === `${layer}:${position}`) return
    m.look = setTimeout(() => {
      m.looked = `${layer}:${position}`
      emit("look", { layer, position })
    }, LOOK_AFTER_MS)
  }
  draw()
}

/** @param {HTMLElement} element */
export function destroy(element) {
  const m = memory(element, () => ({ timer: null, look: null }))
  clearTimeout(m.timer)
  clearTimeout(m.look)
  for (const box of element.querySelectorAll(".nt-kv-frame, .nt-stripes")) forgetWidth(/** @type {any} */ (box))
}
