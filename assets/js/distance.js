// @ts-check
/** Scores of one head against the distance between query and key. */
import { renderCurves } from "./lib/curves.js"
import { number } from "./lib/numbers.js"

export const styles = ["curves.css"]

const TICKS = 6

/**
 * Round values between two ends, about `TICKS` of them.
 * @param {number} low
 * @param {number} high
 */
export function roundTicks(low, high) {
  const raw = (high - low || 1) / TICKS
  const size = 10 ** Math.floor(Math.log10(raw))
  const step = [1, 2, 5, 10].map((n) => n * size).find((n) => n >= raw) ?? size
  const ticks = []
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push({ at: i * step, text: String(Number((i * step).toPrecision(6))) })
  return ticks
}

/**
 * A value at each distance 0, 1, …; where there is none it is left out.
 * @param {Float32Array} values
 * @returns {[number, number][]}
 */
function points(values) {
  return [...values].flatMap((value, i) => (Number.isNaN(value) ? [] : [/** @type {[number, number]} */ ([i, value])]))
}

/**
 * @param {HTMLElement} element
 * @param {any} header labels: own, mean, typical, x, y, alt
 * @param {any} arrays `own` (query + 1,), `mean` and `typical` (distances,)
 */
export function render(element, header, arrays) {
  const { labels } = header
  const series = [
    { name: labels.own, points: points(arrays.own) },
    { name: labels.mean, points: points(arrays.mean) },
    { name: labels.typical, points: points(arrays.typical), lit: true },
  ]
  const all = series.flatMap((one) => one.points.map(([, y]) => y))
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)]
  const last = Math.max(1, arrays.typical.length - 1)
  renderCurves(element, "curves", {
    series,
    x: { min: 0, max: last, title: labels.x, ticks: roundTicks(0, last) },
    y: { min: low, max: high, title: labels.y, ticks: roundTicks(low, high) },
    alt: labels.alt,
    height: 320,
    say: (x) => `${labels.x} ${x}`,
    value: (y) => number(y, 4),
  })
}
