// @ts-check
/**
 * From one message and the settings on the screen to everything that is drawn. Pure: no DOM.
 *
 * The probabilities come from the shared pipeline over the whole vocabulary, so a slider needs no server.
 */
import { GREEDY_BELOW, REMOVERS, choose, cumulativeTop, pipeline, spread, uniform } from "../lib/sampling.js"

/** @typedef {{temperature: number, top_k: number, top_p: number, min_p: number, repetition_penalty: number, seed: number}} Params */
/** @typedef {{step: number, ahead: number, limit: number|null, stop: string|null, kv_bytes: number,
 *   kv_step_bytes: number, pass_tokens: number, pass_s: number}} State */
/** @typedef {{run: string, tokens: any[][], prompt: number, chosen: number[][], state: State,
 *   params: Params, names: {ids: number[], texts: string[]}, layers: number, labels: Record<string, string>,
 *   answered: number, position: number, notice: string, session: string}} Header */
/** @typedef {{id: number, text: string|null, probability: number, model: number, removed: string,
 *   recorded: boolean, drawn: boolean}} Bar */
/** @typedef {{id: number|null, text: string|null, from: number, to: number}} Segment */
/** @typedef {{bars: Bar[], restCount: number, restMass: number, kept: number, keptMass: number, entropyBits: number,
 *   modelBits: number, choices: number, greedy: boolean, u: number, drawnId: number, drawnText: string|null,
 *   segments: Segment[], recordedId: number|null, recordedForced: boolean, recordedText: string|null,
 *   scale: number, drawnProbability: number}} Distribution */

const SEGMENTS = 24
const SCALES = [0.1, 0.2, 0.4, 0.6, 0.8, 1]

/** @type {WeakMap<object, number>} the model's own entropy in nats, by logits: no slider changes it */
const modelEntropies = new WeakMap()

/**
 * The ids that the repetition penalty looks at: prompt and generated, up to the step on the screen.
 * @param {Header} header
 */
export function previousIds(header) {
  return header.tokens.slice(0, header.prompt + header.state.step).map((token) => token[0])
}

/**
 * Texts by id: the likeliest tokens' own texts, and those of the whole tokens in the text.
 * @param {Header} header
 */
export function namesOf(header) {
  /** @type {Map<number, string>} */
  const names = new Map()
  for (const token of header.tokens) if (token.length === 2) names.set(token[0], token[1])
  header.names.ids.forEach((id, i) => names.set(id, header.names.texts[i]))
  return names
}

/**
 * The distribution on the screen under `params`, with the draw of this step.
 * @param {Header} header
 * @param {Float32Array} logits
 * @param {Params} params
 * @param {number} count how many bars
 * @param {import("../lib/sampling.js").Pipeline} [result] of these logits under `params`, where it is at hand
 * @returns {Distribution}
 */
export function distribution(header, logits, params, count, result) {
  const previous = previousIds(header)
  result ??= pipeline(logits, params, previous)
  const names = namesOf(header)
  const greedy = params.temperature < GREEDY_BELOW
  const u = uniform(params.seed, header.state.step)
  const drawn = choose(result, greedy ? 0 : u)
  const drawnId = drawn.tokenId
  const next = header.tokens[header.prompt + header.state.step]
  const recordedId = header.state.ahead > 0 && next ? next[0] : null
  const model = result.stages[0].probabilities
  const ids = shownIds(header, result.stages[1].probabilities, count, previous)
  const bars = ids.map((id) => ({
    id,
    text: names.get(id) ?? null,
    probability: result.probabilities[id],
    model: model[id],
    removed: REMOVERS[result.removedBy[id]],
    recorded: id === recordedId,
    drawn: id === drawnId,
  }))
  const shown = bars.reduce((sum, bar) => sum + bar.probability, 0)
  const final = result.stages[result.stages.length - 1]
  const now = spread(result.probabilities)
  return {
    bars,
    restCount: logits.length - bars.length,
    restMass: Math.max(0, 1 - shown),
    kept: final.kept,
    keptMass: final.mass,
    entropyBits: now.entropy / Math.LN2,
    modelBits: modelEntropy(logits, model) / Math.LN2,
    choices: now.perplexity,
    greedy,
    u,
    drawnId,
    drawnText: names.get(drawnId) ?? null,
    drawnProbability: result.probabilities[drawnId],
    segments: segments(result, names),
    recordedId,
    recordedForced: recordedId !== null && header.chosen[header.state.step][2] === 1,
    recordedText: recordedId === null ? null : textAt(header, header.prompt + header.state.step),
    scale: scaleFor(Math.max(...bars.map((bar) => Math.max(bar.probability, bar.model)))),
  }
}

/**
 * The full text of a token in the ribbon: of a split character its first part carries the text.
 * @param {Header} header
 * @param {number} index
 */
export function textAt(header, index) {
  const token = header.tokens[index]
  if (!token) return null
  return token.length > 2 && token[3] > 1 ? `⟨${token[5]}⟩` : token[1]
}

/**
 * The likeliest ids after the repetition penalty. The message names the likeliest of the raw logits; the penalty
 * moves only tokens of the text, so those two sets hold every id that can be among the first.
 * @param {Header} header
 * @param {ArrayLike<number>} penalised
 * @param {number} count
 * @param {number[]} previous
 */
function shownIds(header, penalised, count, previous) {
  const ids = [...new Set([...header.names.ids, ...previous])]
  return ids.sort((a, b) => penalised[b] - penalised[a] || a - b).slice(0, count)
}

/**
 * The front of the cumulative line, one segment a token, and one for all the others.
 * @param {any} result
 * @param {Map<number, string>} names
 * @returns {Segment[]}
 */
function segments(result, names) {
  const { ids, cumulative } = cumulativeTop(result, SEGMENTS)
  /** @type {Segment[]} */
  const parts = [...ids].map((id, i) => ({
    id,
    text: names.get(id) ?? null,
    from: i === 0 ? 0 : cumulative[i - 1],
    to: Math.min(1, cumulative[i]),
  }))
  const reached = parts[parts.length - 1].to
  if (reached < 1 - 1e-9) parts.push({ id: null, text: null, from: reached, to: 1 })
  return parts
}

/**
 * The end of the bars' scale: a round number above the longest bar, so that bars move and the scale rests.
 * @param {number} longest
 */
export function scaleFor(longest) {
  return SCALES.find((scale) => longest <= scale) ?? 1
}

/**
 * @param {Float32Array} logits
 * @param {Float64Array} model
 */
function modelEntropy(logits, model) {
  const known = modelEntropies.get(logits)
  if (known !== undefined) return known
  const { entropy } = spread(model)
  modelEntropies.set(logits, entropy)
  return entropy
}
