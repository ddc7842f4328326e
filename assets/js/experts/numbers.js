// @ts-check
/** One text's routing, read cell by cell: who was chosen, with which weight, and who came next. */

/** @typedef {{layers: number[], total: number, experts: number, k: number, probabilities: Float32Array,
 *   indices: ArrayLike<number>, weights: Float32Array, gate: Float32Array | null}} Routing
 *   layers: the M layers with a router; total: T tokens; arrays are (M, T, E), (M, T, k), (M, T, k), (M, T) */
/** @typedef {{expert: number, weight: number}} Chosen */
/** @typedef {{order: number[], scores: ArrayLike<number>, chosen: Chosen[], runnerUp: number | null, gate: number | null}} Cell
 *   order: experts by falling score; chosen: the heaviest first */

/**
 * @param {any} header `routers`
 * @param {any} arrays
 * @returns {Routing}
 */
export function routingOf(header, arrays) {
  const [, total, experts] = arrays.probabilities.shape
  return {
    layers: header.routers, total, experts, k: arrays.indices.shape[2], probabilities: arrays.probabilities,
    indices: arrays.indices, weights: arrays.weights, gate: arrays.gate ?? null,
  }
}

/**
 * The chosen experts of one token at one layer, the heaviest first; null at a dense layer.
 * @param {Routing} r
 * @param {number} layer
 * @param {number} position
 * @returns {Chosen[] | null}
 */
export function chosenAt(r, layer, position) {
  const at = r.layers.indexOf(layer)
  if (at < 0) return null
  const start = (at * r.total + position) * r.k
  const found = Array.from({ length: r.k }, (_, i) => ({ expert: r.indices[start + i], weight: r.weights[start + i] }))
  return found.sort((a, b) => b.weight - a.weight)
}

/**
 * @param {Routing} r
 * @param {number} layer
 * @param {number} position
 * @returns {Cell | null}
 */
export function cellAt(r, layer, position) {
  const chosen = chosenAt(r, layer, position)
  if (!chosen) return null
  const row = r.layers.indexOf(layer) * r.total + position
  const scores = r.probabilities.subarray(row * r.experts, (row + 1) * r.experts)
  const order = Array.from(scores.keys()).sort((a, b) => scores[b] - scores[a])
  const taken = new Set(chosen.map(({ expert }) => expert))
  return {
    order, scores, chosen, runnerUp: order.find((expert) => !taken.has(expert)) ?? null,
    gate: r.gate ? r.gate[row] : null,
  }
}

const WHOLE_FROM = 10
const WIDEST = 96
const SPREAD = 34

/**
 * Whether cells are too narrow for all their experts.
 * @param {number} width in pixels
 */
export function isNarrow(width) {
  return width < WHOLE_FROM
}

/**
 * Widths of the pieces that a cell is cut into: by weight. Where not all have room, the heaviest and the one sought.
 * @param {Chosen[]} chosen
 * @param {number} width in pixels
 * @param {number | null} [sought]
 * @returns {{expert: number, x: number, width: number}[]}
 */
export function pieces(chosen, width, sought = null) {
  const most = isNarrow(width) ? 1 : Math.min(chosen.length, Math.floor(width / 6))
  const shown = chosen.slice(0, most)
  const wanted = chosen.findIndex(({ expert }) => expert === sought)
  if (wanted >= most) shown[most - 1] = chosen[wanted]
  const sum = shown.reduce((all, { weight }) => all + Math.max(0, weight), 0)
  let x = 0
  return shown.map(({ expert, weight }) => {
    const part = sum > 0 ? (Math.max(0, weight) / sum) * width : width / shown.length
    const piece = { expert, x, width: part }
    x += part
    return piece
  })
}

/**
 * How wide a column is: the text fits the room, or is spread out so that numbers can be read.
 * @param {number} total
 * @param {number} room in pixels
 * @param {boolean} spread
 */
export function columnWidth(total, room, spread) {
  const fitting = Math.max(3, Math.min(WIDEST, room / total))
  return spread ? Math.max(SPREAD, fitting) : fitting
}

/**
 * How many chosen experts two tokens share at a layer.
 * @param {Chosen[]} a
 * @param {Chosen[]} b
 */
export function inCommon(a, b) {
  const other = new Set(b.map(({ expert }) => expert))
  return a.filter(({ expert }) => other.has(expert)).length
}
