// @ts-check
/** Where things stand on the timeline: rows for tokens, seconds along the width. No drawing here. */

/** @typedef {{start: number, end: number, from: number, seconds: number, choose: number | null}} Pass
 *   `from`: seconds at which the pass begins; `choose`: seconds of the choice after it */

const TALLEST_ROW = 20
const SHORTEST_ROW = 4
const TALLEST_PROMPT = 220
const TALLEST_ANSWER = 360

/**
 * Heights of a row: of a prompt token and of a generated one. Long texts get thin rows; very long ones keep to a
 * limit, and the rows of the prompt then stand for several tokens each.
 * @param {number} prompt
 * @param {number} generated
 */
export function rowHeights(prompt, generated) {
  const answer = Math.max(SHORTEST_ROW, Math.min(TALLEST_ROW, TALLEST_ANSWER / Math.max(1, generated)))
  return { prompt: Math.min(TALLEST_ROW, TALLEST_PROMPT / prompt), answer }
}

/**
 * The top of a position's row and its height.
 * @param {number} position
 * @param {number} prompt
 * @param {{prompt: number, answer: number}} heights
 */
export function rowOf(position, prompt, heights) {
  return position < prompt
    ? { y: position * heights.prompt, height: heights.prompt }
    : { y: prompt * heights.prompt + (position - prompt) * heights.answer, height: heights.answer }
}

/**
 * Round marks on a time axis: about `wanted` of them, at 1, 2 or 5 times a power of ten.
 * @param {number} seconds
 * @param {number} wanted
 */
export function ticks(seconds, wanted) {
  if (!(seconds > 0)) return [0]
  const rough = seconds / Math.max(1, wanted)
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough
  return Array.from({ length: Math.floor(seconds / step + 1e-9) + 1 }, (_, i) => i * step)
}

/**
 * Which pass stands at a point in time; the nearest one when the point is between two.
 * @param {Pass[]} passes
 * @param {number} seconds
 */
export function passAt(passes, seconds) {
  const after = passes.findIndex((one) => seconds < one.from + one.seconds + (one.choose ?? 0))
  return after < 0 ? passes.length - 1 : after
}

/**
 * Seconds as a learner reads them.
 * @param {number} seconds
 */
export function span(seconds) {
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(3))} ms`
  return `${Number(seconds.toPrecision(3))} s`
}
