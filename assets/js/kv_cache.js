// @ts-check
/** The KV cache: layers × tokens, keys and values; one cell's vectors; how full the cache is. */
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
 * @param {any} arrays `keys`, `values` (layers, positions), −1 where dropped; `cell_keys`, `cell_values` (heads, size)
 * @param {import("./lib/loader.js").Emit} emit `choose` {layer, position} on a click or a key, `look` while pointed at
 */
export function render(element, header, arrays, emit) {
  const root = part(element, "view", () => h("section", { class: "nt-view" }))
  set(root, { "aria-label": header.labels.title })
  const m = memory(element, () => ({ layer: 0, position: 0, timer: /** @type {any} */ (null), look: /** @type {any} */ (null) }))
  if (m.timer === null) Object.assign(m, { layer: header.layer, position: header.position })
  const draw = () => renderGrids(root, element, header, arrays, m, { choose, look })
  const choose = (/** @type {number} */ layer, /** @type {number} */ position) => {
    Object.assign(m, { layer, position })
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
    if (layer === header.cell.layer && position === header.cell.position) return
    m.look = setTimeout(() => emit("look", { layer, position }), LOOK_AFTER_MS)
  }
  draw()
  renderCell(root, element, header, arrays)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  const m = memory(element, () => ({ timer: null, look: null }))
  clearTimeout(m.timer)
  clearTimeout(m.look)
  for (const box of element.querySelectorAll(".nt-kv-frame, .nt-stripes")) forgetWidth(/** @type {any} */ (box))
}
