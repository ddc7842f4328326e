// @ts-check
/**
 * A model that is being trained: its loss, and at each checkpoint what it writes and where its heads look.
 * The slider moves over the checkpoints in the browser; left alone, it stays at the newest one.
 */
import { memory, part, h, set } from "./lib/dom.js"
import { colours } from "./lib/theme.js"
import { fill } from "./attention/words.js"
import { number } from "./lib/numbers.js"
import { renderHeads } from "./from_zero/heads.js"
import { renderLoss } from "./from_zero/loss.js"
import { renderMerges } from "./from_zero/merges.js"
import { renderSample } from "./from_zero/sample.js"

export const styles = ["curves.css", "from_zero.css"]

/** @typedef {{step: number, held: number, sample: string}} Checkpoint */
/** @typedef {{view: string, labels: Record<string, string>, steps: number, end: number, group: number, uniform: number,
 *   checkpoints: Checkpoint[], start: string, tokens: string[], merges: string[][]}} Header */
/** @typedef {{chosen: number | null, layer: number, head: number, query: number, key: number}} Place */

/**
 * @param {HTMLElement} element
 * @param {Header} header
 * @param {any} arrays
 */
export function render(element, header, arrays) {
  if (header.view === "merges") return renderMerges(element, header)
  const place = memory(element, () => ({ chosen: null, layer: 1, head: 0, query: -1, key: -1 }))
  const root = part(element, "page", () => h("section", { class: "ntz" }))
  const loss = part(root, "loss", () => h("div", { class: "nt-panel" }))
  const curves = renderLoss(loss, header, arrays)
  const rest = part(root, "rest", () => h("div", { class: "nt-panel ntz-rest" }))
  rest.hidden = header.checkpoints.length === 0
  const show = () => {
    const at = shownAt(place.chosen, header.checkpoints.length)
    curves.mark(header.checkpoints[at] ?? null)
    if (!header.checkpoints[at]) return
    slider(rest, header, at, (next) => {
      place.chosen = next === header.checkpoints.length - 1 ? null : next
      show()
    })
    renderSample(rest, header, header.checkpoints[at])
    renderHeads(rest, header, arrays, { place, at, colours: colours(element), again: show })
  }
  show()
}

/**
 * The checkpoint on the screen: the chosen one, or the newest while none is chosen.
 * @param {number | null} chosen
 * @param {number} count
 */
export function shownAt(chosen, count) {
  return chosen === null ? count - 1 : Math.min(chosen, count - 1)
}

/**
 * @param {HTMLElement} rest
 * @param {Header} header
 * @param {number} at
 * @param {(at: number) => void} choose
 */
function slider(rest, header, at, choose) {
  const { labels, checkpoints } = header
  const row = part(rest, "slider", () => h("label", { class: "ntz-slider" }))
  const { step, held } = checkpoints[at]
  const said = fill(labels.checkpoint, { step: step.toLocaleString("en-US"), held: number(held) })
  part(row, "said", () => h("span")).textContent = said
  const input = /** @type {HTMLInputElement} */ (part(row, "input", () => h("input", { type: "range", min: 0, step: 1 })))
  set(input, {
    max: checkpoints.length - 1, "aria-label": labels.slider, "aria-valuetext": said,
    oninput: () => choose(Number(input.value)),
  })
  if (Number(input.value) !== at) input.value = String(at)
}
