// @ts-check
/** The arithmetic of RoPE for one query and one key: exact, so that a drag shows what the model would compute. */

/** @typedef {{q: Float32Array, k: Float32Array, pairs: Int32Array, freq: Float32Array, factor: number,
 *   scale: number}} Head  `pairs`: two places of the head for each pair */

/**
 * A pair of numbers turned by an angle.
 * @param {number} a
 * @param {number} b
 * @param {number} angle in radians
 * @returns {[number, number]}
 */
export function turn(a, b, angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)]
  return [a * cos - b * sin, a * sin + b * cos]
}

/**
 * All pairs of a vector at a position: a flat list x₀, y₀, x₁, y₁, …
 * @param {Float32Array} vector (hd) before RoPE
 * @param {number} position
 * @param {Head} head
 * @returns {Float64Array}
 */
export function turned(vector, position, { pairs, freq, factor }) {
  const out = new Float64Array(2 * freq.length)
  for (let j = 0; j < freq.length; j++) {
    const [x, y] = turn(vector[pairs[2 * j]], vector[pairs[2 * j + 1]], position * freq[j])
    out[2 * j] = x * factor
    out[2 * j + 1] = y * factor
  }
  return out
}

/**
 * The scaled score of the query at one position and the key at another, and what each pair gave to it.
 * @param {Head} head
 * @param {number} atQuery
 * @param {number} atKey
 * @returns {{score: number, terms: Float64Array, rest: number}} `rest`: from the numbers that do not turn
 */
export function score(head, atQuery, atKey) {
  const [q, k] = [turned(head.q, atQuery, head), turned(head.k, atKey, head)]
  const terms = new Float64Array(head.freq.length)
  for (let j = 0; j < terms.length; j++) terms[j] = (q[2 * j] * k[2 * j] + q[2 * j + 1] * k[2 * j + 1]) * head.scale
  const rest = still(head)
  return { score: terms.reduce((sum, term) => sum + term, rest), terms, rest }
}

/**
 * The score at distances 0, 1, …, count − 1.
 * @param {Head} head
 * @param {number} count
 */
export function curve(head, count) {
  const rest = still(head)
  const { q, k, pairs, freq } = head
  const gain = head.factor * head.factor * head.scale
  const out = new Float64Array(count).fill(rest)
  for (let j = 0; j < freq.length; j++) {
    const [a, b] = [pairs[2 * j], pairs[2 * j + 1]]
    const along = gain * (q[a] * k[a] + q[b] * k[b])
    const across = gain * (q[b] * k[a] - q[a] * k[b])
    for (let d = 0; d < count; d++) out[d] += along * Math.cos(d * freq[j]) - across * Math.sin(d * freq[j])
  }
  return out
}

/**
 * The part of the score that no rotation changes (partial RoPE).
 * @param {Head} head
 */
function still({ q, k, pairs, scale }) {
  if (pairs.length === q.length) return 0
  const turning = new Set(pairs)
  let sum = 0
  for (let i = 0; i < q.length; i++) if (!turning.has(i)) sum += q[i] * k[i]
  return sum * scale
}
