// @ts-check
// Many draws at once from one distribution, and how far they are from it. The twin of `draw_counts` in
// core/decoding/sampling.py: the same seed gives the same tokens. V is the vocabulary size.
import { cumulativeTop } from "./sampling.js"

/** @typedef {import("./sampling.js").Pipeline} Pipeline */

const FRONT = 1024

/**
 * The token that each number falls on, in the order of the numbers. Most numbers fall on the likely part; the whole
 * vocabulary is put in order only when one falls behind it.
 * @param {Pipeline} result
 * @param {Float64Array} numbers each in [0, 1)
 * @returns {Int32Array}
 */
export function drawIds(result, numbers) {
  const { ids, cumulative } = cumulativeTop(result, FRONT)
  const reached = cumulative[cumulative.length - 1]
  if (numbers.some((u) => u >= reached)) return drawFromAll(result.probabilities, numbers)
  return Int32Array.from(numbers, (u) => ids[above(cumulative, u)])
}

/**
 * The same over all candidates. Sorting bare values is many times faster than sorting ids by value; the ids are looked
 * up afterwards for the values that were drawn: of equal ones, by their place among the equals.
 * @param {Float64Array} probabilities (V)
 * @param {Float64Array} numbers
 * @returns {Int32Array}
 */
function drawFromAll(probabilities, numbers) {
  const values = probabilities.filter((p) => p > 0).sort().reverse()
  const cumulative = new Float64Array(values.length)
  let sum = 0
  for (let i = 0; i < values.length; i++) cumulative[i] = sum += values[i]
  const places = Int32Array.from(numbers, (u) => Math.min(above(cumulative, u), values.length - 1))
  /** @type {Map<number, number[]>} */
  const equals = new Map()
  for (const place of places) if (!equals.has(values[place])) equals.set(values[place], [])
  for (let id = 0; id < probabilities.length; id++) equals.get(probabilities[id])?.push(id)
  return places.map((place) => {
    const value = values[place]
    return /** @type {number[]} */ (equals.get(value))[place - firstAt(values, value)]
  })
}

/**
 * Index of the first entry that is not larger than `value`.
 * @param {Float64Array} descending
 * @param {number} value
 */
function firstAt(descending, value) {
  let low = 0, high = descending.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (descending[middle] <= value) high = middle
    else low = middle + 1
  }
  return low
}

/**
 * How often each token came among the first `count` draws.
 * @param {Int32Array} ids
 * @param {number} count
 * @returns {Map<number, number>}
 */
export function tally(ids, count) {
  /** @type {Map<number, number>} */
  const counts = new Map()
  for (let i = 0; i < count && i < ids.length; i++) counts.set(ids[i], (counts.get(ids[i]) ?? 0) + 1)
  return counts
}

/**
 * Total variation distance between the probabilities and the shares that were seen, over all V tokens: the share of
 * draws that would have to fall elsewhere for the two to agree. 0 is equal, 1 is nothing in common.
 * @param {Float64Array} probabilities (V)
 * @param {Map<number, number>} counts
 */
export function totalVariation(probabilities, counts) {
  let all = 0
  for (const count of counts.values()) all += count
  if (all === 0) return 1
  let apart = 0, seen = 0
  for (const [id, count] of counts) {
    apart += Math.abs(probabilities[id] - count / all)
    seen += probabilities[id]
  }
  return (apart + Math.max(0, 1 - seen)) / 2
}

/**
 * Index of the first value that is larger than `u`.
 * @param {Float64Array} ascending
 * @param {number} u
 */
function above(ascending, u) {
  let low = 0, high = ascending.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (ascending[middle] > u) high = middle
    else low = middle + 1
  }
  return low
}
