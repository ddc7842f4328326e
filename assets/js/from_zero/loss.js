// @ts-check
/** The loss against steps: on the batches, on held-out text, and what guessing alike would cost. */
import { fill } from "../attention/words.js"
import { renderCurves } from "../lib/curves.js"
import { number } from "../lib/numbers.js"

const TICKS = 5

/**
 * Round steps for the horizontal axis, from 0 on.
 * @param {number} last
 */
export function stepTicks(last) {
  const raw = Math.max(1, last) / TICKS
  const size = 10 ** Math.floor(Math.log10(raw))
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * size).find((n) => n >= raw) ?? size)
  const ticks = []
  for (let at = 0; at <= last; at += step) ticks.push({ at, text: at.toLocaleString("en-US") })
  return ticks
}

/**
 * @param {ArrayLike<number>} at
 * @param {ArrayLike<number>} values
 * @returns {[number, number][]}
 */
export function pairs(at, values) {
  return Array.from({ length: at.length }, (_, i) => /** @type {[number, number]} */ ([at[i], values[i]]))
}

/**
 * @param {HTMLElement} panel
 * @param {import("../from_zero.js").Header} header
 * @param {any} arrays
 * @returns {{mark: (checkpoint: import("../from_zero.js").Checkpoint | null) => void}}
 */
export function renderLoss(panel, header, arrays) {
  const { labels, uniform } = header
  const last = Math.max(1, header.end)
  const series = [
    { name: labels.line_uniform, points: /** @type {[number, number][]} */ ([[0, uniform], [last, uniform]]) },
    { name: labels.line_held, points: pairs(arrays.held_at, arrays.held), lit: true },
    { name: fill(header.group > 1 ? labels.line_batches : labels.line_batch, { count: header.group }), points: pairs(arrays.loss_at, arrays.loss) },
  ]
  const top = Math.ceil(Math.max(uniform, ...series.flatMap((one) => one.points.map(([, y]) => y))))
  const ticks = Array.from({ length: top + 1 }, (_, y) => ({ at: y, text: String(y) }))
  const mark = (/** @type {import("../from_zero.js").Checkpoint | null} */ checkpoint) =>
    renderCurves(panel, "curves", {
      series,
      x: { min: 0, max: last, title: labels.axis_steps, ticks: stepTicks(last) },
      y: { min: 0, max: top, title: labels.axis_loss, ticks },
      alt: fill(labels.loss_alt, { steps: header.steps }),
      height: 300,
      mark: checkpoint && { at: checkpoint.step, text: fill(labels.mark, { step: checkpoint.step }) },
      say: (x) => fill(labels.loss_said, { step: number(x, 4) }),
      value: (y) => number(y),
    })
  return { mark }
}
