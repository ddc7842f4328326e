// @ts-check
/** The run as a picture of time: one row for each token, one block for each pass, a chosen pass taken apart. */
import { forgetWidth } from "./lib/canvas.js"
import { h, memory, part, set } from "./lib/dom.js"
import { renderChart } from "./timeline/chart.js"
import { renderGuesses } from "./timeline/guesses.js"
import { renderStages } from "./timeline/stages.js"

export const styles = ["vectors.css", "timeline.css"]

const EMIT_AFTER_MS = 180

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/timeline.py
 * @param {any} arrays `stages` (passes, 3 + layers): choice, embedding, blocks, head; in seconds
 * @param {import("./lib/loader.js").Emit} emit `choose` with a position
 */
export function render(element, header, arrays, emit) {
  const root = part(element, "view", () => h("section", { class: "nt-view" }))
  const m = memory(element, () => ({ chosen: 0, timer: /** @type {any} */ (null) }))
  set(root, { "aria-label": header.labels.title })
  if (header.view === "guesses") {
    renderGuesses(root, header, (position) => emit("choose", { position }))
    return
  }
  if (m.timer === null) m.chosen = passOf(header.passes, header.position)
  const draw = () => {
    renderChart(root, element, header, m.chosen, choose)
    renderStages(root, element, header, arrays.stages, m.chosen)
  }
  const choose = (/** @type {number} */ index) => {
    m.chosen = index
    draw()
    clearTimeout(m.timer)
    m.timer = setTimeout(() => {
      m.timer = null
      emit("choose", { position: header.passes[index].end - 1 })
    }, EMIT_AFTER_MS)
  }
  draw()
}

/** @param {HTMLElement} element */
export function destroy(element) {
  clearTimeout(memory(element, () => ({ timer: null })).timer)
  for (const box of element.querySelectorAll(".nt-time-frame")) forgetWidth(/** @type {any} */ (box))
}

/**
 * The pass that processed a position.
 * @param {{start: number, end: number}[]} passes
 * @param {number} position
 */
function passOf(passes, position) {
  const found = passes.findIndex((one) => position >= one.start && position < one.end)
  return found < 0 ? passes.length - 1 : found
}
