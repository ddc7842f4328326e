// @ts-check
/** One head's arithmetic, from its q, k and v: the same numbers as in the model, up to the last bits of float32. */

/** @typedef {{q: Float32Array, k: Float32Array, v: Float32Array, first: Int32Array,
 *   total: number, size: number, width: number, scale: number, softcap: number | null, sink: number | null}} Head */

/**
 * @param {any} header scale, softcap, sink
 * @param {any} arrays q, k (T, size), v (T, width), first (T)
 * @returns {Head}
 */
export function headOf(header, arrays) {
  const [total, size] = arrays.q.shape
  return {
    q: arrays.q, k: arrays.k, v: arrays.v, first: arrays.first, total, size, width: arrays.v.shape[1],
    scale: header.scale, softcap: header.softcap, sink: header.sink,
  }
}

/**
 * q · k for one query and one key.
 * @param {Head} head
 * @param {number} query
 * @param {number} key
 */
export function dot(head, query, key) {
  const { q, k, size } = head
  let sum = 0
  for (let i = 0, a = query * size, b = key * size; i < size; i++) sum += q[a + i] * k[b + i]
  return sum
}

/**
 * The scale, and the soft-cap of families that have one.
 * @param {Head} head
 * @param {number} raw
 */
export function scaled(head, raw) {
  const score = raw * head.scale
  return head.softcap === null ? score : Math.tanh(score / head.softcap) * head.softcap
}

/**
 * @param {Head} head
 * @param {number} query
 * @param {number} key
 */
export function allowed(head, query, key) {
  return key <= query && key >= head.first[query]
}

/**
 * All steps of one row. `weights` is 0 where masked; `total` is the sum of the powers, the sink's included.
 * @param {Head} head
 * @param {number} query
 */
export function row(head, query) {
  const raw = new Float64Array(head.total)
  const scores = new Float64Array(head.total)
  let top = head.sink ?? -Infinity
  for (let key = 0; key < head.total; key++) {
    raw[key] = dot(head, query, key)
    scores[key] = scaled(head, raw[key])
    if (allowed(head, query, key)) top = Math.max(top, scores[key])
  }
  const weights = new Float64Array(head.total)
  let total = head.sink === null ? 0 : Math.exp(head.sink - top)
  for (let key = head.first[query]; key <= query; key++) total += weights[key] = Math.exp(scores[key] - top)
  for (let key = head.first[query]; key <= query; key++) weights[key] /= total
  return { raw, scores, weights }
}

/**
 * The weighted sum of the value rows: what the head hands on for this query.
 * @param {Head} head
 * @param {Float64Array} weights
 */
export function weightedSum(head, weights) {
  const out = new Float32Array(head.width)
  for (let key = 0; key < head.total; key++) {
    if (!weights[key]) continue
    for (let i = 0, a = key * head.width; i < head.width; i++) out[i] += weights[key] * head.v[a + i]
  }
  return out
}

/**
 * Scores of all pairs (before the mask) and the weights, (T, T) each, row = query.
 * @param {Head} head
 */
export function tables(head) {
  const { total } = head
  const scores = new Float32Array(total * total)
  const weights = new Float32Array(total * total)
  for (let query = 0; query < total; query++) {
    const one = row(head, query)
    scores.set(one.scores, query * total)
    weights.set(one.weights, query * total)
  }
  return { scores, weights }
}

/**
 * The largest absolute value, at least a tiny one, so that it can divide.
 * @param {ArrayLike<number>} values
 */
export function largest(values) {
  let top = 1e-12
  for (let i = 0; i < values.length; i++) top = Math.max(top, Math.abs(values[i]))
  return top
}

/**
 * Which keys a table of rows shows: all of them, or the heaviest in the order of the text.
 * @param {Float64Array} weights
 * @param {number} from
 * @param {number} to the last one, included
 * @param {number} most
 */
export function shownKeys(weights, from, to, most) {
  const keys = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  if (keys.length <= most) return keys
  return keys.sort((a, b) => weights[b] - weights[a]).slice(0, most).sort((a, b) => a - b)
}
