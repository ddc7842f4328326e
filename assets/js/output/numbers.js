// @ts-check
/** The arithmetic of the Output page over the whole vocabulary, in double precision. */

/**
 * The products n_i · w_i of one dot product: the largest in size, the sum of the others, the sum of all.
 * @param {ArrayLike<number>} normed
 * @param {ArrayLike<number>} row
 * @param {number} count
 */
export function products(normed, row, count) {
  const all = Float64Array.from(normed, (value, i) => value * row[i])
  const order = Array.from(all.keys()).sort((a, b) => Math.abs(all[b]) - Math.abs(all[a]) || a - b).slice(0, count)
  const sum = all.reduce((total, value) => total + value, 0)
  const rest = sum - order.reduce((total, i) => total + all[i], 0)
  return { all, order, rest, sum }
}

/**
 * Softmax over all logits after adding `constant` to each: e^(z + c − max) / Σ.
 * @param {ArrayLike<number>} logits
 * @param {number} constant
 */
export function softmax(logits, constant) {
  let largest = -Infinity
  for (let i = 0; i < logits.length; i++) if (logits[i] + constant > largest) largest = logits[i] + constant
  const weights = new Float64Array(logits.length)
  let total = 0
  for (let i = 0; i < logits.length; i++) total += weights[i] = Math.exp(logits[i] + constant - largest)
  for (let i = 0; i < logits.length; i++) weights[i] /= total
  return { probabilities: weights, largest, total }
}

/**
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
export function largestDifference(a, b) {
  let largest = 0
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i] - b[i]))
  return largest
}

/**
 * How many logits fall into each of `bins` equal bins from `low` to `high`; values at the ends belong to them.
 * @param {ArrayLike<number>} logits
 * @param {number} low
 * @param {number} high
 * @param {number} bins
 */
export function histogram(logits, low, high, bins) {
  const counts = new Uint32Array(bins)
  const width = (high - low) / bins || 1
  for (let i = 0; i < logits.length; i++) {
    if (!Number.isFinite(logits[i])) continue
    counts[Math.max(0, Math.min(bins - 1, Math.floor((logits[i] - low) / width)))]++
  }
  return counts
}

/** @param {ArrayLike<number>} values those that are not finite are left out */
export function range(values) {
  let low = Infinity, high = -Infinity
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue
    if (values[i] < low) low = values[i]
    if (values[i] > high) high = values[i]
  }
  return low <= high ? { low, high } : { low: 0, high: 0 }
}
