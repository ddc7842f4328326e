// @ts-check
/**
 * The numbers of the sampling laboratory. Pure: no DOM. Every probability comes from the shared pipeline over the whole
 * vocabulary, so a slider needs no server.
 */
import { GREEDY_BELOW, REMOVERS, pipeline, spread } from "../lib/sampling.js"

/** @typedef {import("../lib/sampling.js").Pipeline} Pipeline */
/** @typedef {import("../generate/view-model.js").Params} Params */
/** @typedef {{share: number, ghost: number, removed: string, here: boolean}} Cell
 *   `share`: the bar; `ghost`: the share it had before a filter took it, else 0; `here`: this very stage took it */
/** @typedef {{name: string, cells: Cell[], rest: number, restCount: number, kept: number, taken: number, mass: number,
 *   entropyBits: number, perplexity: number, choices: number, setting: number | null, off: boolean}} StageView */
/** @typedef {{temperature: number, shares: number[], rest: number, entropyBits: number, choices: number}} Column */

export const STAGES = ["raw", "penalised", "tempered", "top_k", "top_p", "min_p", "final"]
export const TEMPERATURES = [0, 0.2, 0.5, 1, 1.5, 2, 5]
export const LOWEST = 0.05
export const HIGHEST = 10
const CURVE_POINTS = 25

/** After which stage a token is gone, by what took it. @type {Record<string, number>} */
const TAKEN_AT = { impossible: 0, greedy: 2, top_k: 3, top_p: 4, min_p: 5 }
/** @type {Record<string, {name: keyof Params, off: number}>} */
const SETTING_OF = {
  penalised: { name: "repetition_penalty", off: 1 },
  tempered: { name: "temperature", off: 1 },
  top_k: { name: "top_k", off: 0 },
  top_p: { name: "top_p", off: 1 },
  min_p: { name: "min_p", off: 0 },
}

/** @type {WeakMap<Float64Array, ReturnType<typeof spread>>} stages that are off share one array */
const spreads = new WeakMap()

/** @param {Float64Array} probabilities */
function spreadOf(probabilities) {
  let known = spreads.get(probabilities)
  if (!known) spreads.set(probabilities, (known = spread(probabilities)))
  return known
}

/**
 * All stages for the tokens `ids`: bars before renormalising (they show what the filters leave of the whole), then the
 * final shares that are drawn from.
 * @param {Pipeline} result
 * @param {number[]} ids
 * @returns {StageView[]}
 */
export function stageViews(result, ids) {
  return STAGES.map((name, index) => {
    const last = name === "final"
    const stage = result.stages[Math.min(index, result.stages.length - 1)]
    const before = result.stages[Math.max(0, Math.min(index, result.stages.length) - 1)]
    const scale = last ? 1 : stage.mass
    const cells = ids.map((id) => cell(result, id, index, stage.probabilities[id] * scale))
    const numbers = spreadOf(stage.probabilities)
    const setting = SETTING_OF[name]
    const value = setting ? Number(result.params[setting.name]) : null
    return {
      name, cells,
      rest: Math.max(0, scale - cells.reduce((sum, one) => sum + one.share, 0)),
      restCount: Math.max(0, stage.kept - cells.filter((one) => one.removed === "").length),
      kept: stage.kept,
      taken: last ? 0 : before.kept - stage.kept,
      mass: stage.mass,
      entropyBits: numbers.entropy / Math.LN2,
      perplexity: numbers.perplexity,
      choices: numbers.effectiveChoices,
      setting: value,
      off: setting !== undefined && value === setting.off,
    }
  })
}

/**
 * @param {Pipeline} result
 * @param {number} id
 * @param {number} index of the stage
 * @param {number} share
 * @returns {Cell}
 */
function cell(result, id, index, share) {
  const remover = REMOVERS[result.removedBy[id]]
  const gone = remover !== "" && TAKEN_AT[remover] <= index
  if (!gone) return { share, ghost: 0, removed: "", here: false }
  const before = result.stages[remover === "greedy" ? 1 : 2].probabilities[id]
  return { share: 0, ghost: index < STAGES.length - 1 ? before : 0, removed: remover, here: TAKEN_AT[remover] === index }
}

/**
 * One context at several temperatures, after the penalty and without filters.
 * @param {ArrayLike<number>} logits
 * @param {number[]} previous
 * @param {number} penalty
 * @param {number[]} ids
 * @param {number[]} temperatures
 * @returns {Column[]}
 */
export function columns(logits, previous, penalty, ids, temperatures) {
  return temperatures.map((temperature) => {
    const settings = { temperature, top_k: 0, top_p: 1, min_p: 0, repetition_penalty: penalty }
    const { probabilities } = pipeline(logits, settings, previous)
    const shares = ids.map((id) => probabilities[id])
    const { entropy, effectiveChoices } = spread(probabilities)
    const rest = Math.max(0, 1 - shares.reduce((sum, share) => sum + share, 0))
    return { temperature, shares, rest, entropyBits: entropy / Math.LN2, choices: effectiveChoices }
  })
}

/** Temperatures for the curve, evenly spaced on a logarithmic line. */
export function curveTemperatures() {
  const step = Math.log(HIGHEST / LOWEST) / (CURVE_POINTS - 1)
  return Array.from({ length: CURVE_POINTS }, (_, i) => LOWEST * Math.exp(step * i))
}

/**
 * Number of draws that a slider's position stands for: 1, 2, 5, 10 … 10,000, finely spaced.
 * @param {number} position from 0 to DRAW_STEPS
 */
export function drawsAt(position) {
  const value = 10 ** (position / 10)
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value) + 1e-9) - 1)
  return Math.min(MOST_DRAWS, Math.max(1, Math.round(value / unit) * unit))
}

export const MOST_DRAWS = 10_000
export const DRAW_STEPS = 40

/** @param {Params} params */
export function isGreedy(params) {
  return params.temperature < GREEDY_BELOW
}
