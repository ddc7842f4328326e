// From logits to a drawn token, in the browser: the twin of core/decoding/sampling.py, same order, same rules.
//
// repetition penalty -> temperature -> top-k -> top-p -> min-p -> renormalise, over the whole vocabulary.
// Candidates are ordered by probability, highest first, equal ones by id, lowest first. top-k keeps ties with the
// k-th; top-p keeps the token that crosses p; a limit counts as reached within 1e-9. tests/fixtures/sampling.json
// holds both sides to the same numbers. Nothing is sorted as a whole: thresholds are found by partitioning, so that
// a slider can call `pipeline` on 49,152 logits at every frame.

export { uniform } from "./randomness.js";

/**
 * @typedef {Object} Params
 * @property {number} temperature 0 means greedy
 * @property {number} top_k 0 is off
 * @property {number} top_p 1 is off, 0 keeps one token
 * @property {number} min_p 0 is off
 * @property {number} repetition_penalty 1 is off
 * @property {number} [seed]
 */

/**
 * @typedef {Object} Stage
 * @property {string} name one of ORDER
 * @property {Float64Array} probabilities (V) sums to 1; 0 where removed
 * @property {number} mass share of the tempered distribution that is left; probabilities * mass are the bars before
 *   renormalising
 * @property {number} kept number of candidates
 */

/**
 * @typedef {Object} Pipeline
 * @property {Params} params
 * @property {ArrayLike<number>} logits (V) raw
 * @property {Stage[]} stages in ORDER
 * @property {Float64Array} probabilities (V) the final ones
 * @property {number} massKept
 * @property {Uint8Array} removedBy (V) index into REMOVERS, 0 for a candidate that is left
 */

/** @typedef {{tokenId: number, u: number, lower: number, upper: number}} Draw */

export const ORDER = ["raw", "penalised", "tempered", "top_k", "top_p", "min_p"];
export const REMOVERS = ["", "greedy", "top_k", "top_p", "min_p", "impossible"];
export const GREEDY_BELOW = 1e-6;

const GREEDY = 1, TOP_K = 2, TOP_P = 3, MIN_P = 4, IMPOSSIBLE = 5;
const CLOSE = 1e-9;

/**
 * What no setting changes, so that a slider need not compute it again. Throws as `pipeline` does.
 * @param {ArrayLike<number>} logits (V)
 * @returns {{removedBy: Uint8Array, raw: Stage}}
 */
export function prepare(logits) {
  const removedBy = checked(logits);
  return { removedBy, raw: { name: "raw", probabilities: softmax(logits, 1), mass: 1, kept: count(removedBy) } };
}

/**
 * Run every stage. Throws RangeError when the logits hold NaN or +Infinity, or leave no token possible.
 * @param {ArrayLike<number>} logits (V)
 * @param {Params} params
 * @param {Iterable<number>} [previousIds] prompt and generated ids, for the penalty
 * @param {{removedBy: Uint8Array, raw: Stage}} [prepared] what `prepare` gave for these logits
 * @returns {Pipeline}
 */
export function pipeline(logits, params, previousIds = [], prepared = prepare(logits)) {
  const { raw } = prepared;
  const removedBy = prepared.removedBy.slice();
  const [penalisedLogits, penalised] = penalise(logits, raw, params.repetition_penalty, previousIds);
  const tempered = temper(penalisedLogits, penalised, params.temperature, removedBy);
  const afterTopK = topK(penalisedLogits, tempered, params.top_k, removedBy);
  const afterTopP = topP(afterTopK, params.top_p, removedBy);
  const afterMinP = minP(afterTopP, params.min_p, removedBy);
  return {
    params,
    logits,
    stages: [raw, penalised, tempered, afterTopK, afterTopP, afterMinP],
    probabilities: afterMinP.probabilities,
    massKept: afterMinP.mass,
    removedBy,
  };
}

/**
 * The candidate on whose stretch of the cumulative line `u` in [0, 1) falls.
 * @param {Pipeline} result
 * @param {number} u
 * @returns {Draw}
 */
export function choose(result, u) {
  if (!(u >= 0 && u < 1)) throw new RangeError(`u must be in [0, 1), not ${u}`);
  const p = result.probabilities;
  const { value, above } = massThreshold(p, u, true);
  let lower = above, last = -1;
  for (let id = 0; id < p.length; id++) {
    if (p[id] !== value) continue;
    if (last >= 0) lower += value;
    last = id;
    if (lower + value > u) break;
  }
  return { tokenId: last, u, lower, upper: lower + value };
}

/**
 * The front of the cumulative line: the `n` likeliest candidates with the end of each one's stretch.
 * @param {Pipeline} result
 * @param {number} n
 * @returns {{ids: Int32Array, cumulative: Float64Array}}
 */
export function cumulativeTop(result, n) {
  const p = result.probabilities;
  const ids = topIds(p, n).filter((id) => p[id] > 0);
  const cumulative = new Float64Array(ids.length);
  let sum = 0;
  for (let i = 0; i < ids.length; i++) cumulative[i] = sum += p[ids[i]];
  return { ids, cumulative };
}

/**
 * Ids of the n largest values, largest first, ties by id.
 * @param {ArrayLike<number>} values
 * @param {number} n
 * @returns {Int32Array}
 */
export function topIds(values, n) {
  const size = Math.min(n, values.length);
  if (size <= 0) return new Int32Array(0);
  const threshold = kthLargest(values, size);
  const ids = [];
  for (let id = 0; id < values.length; id++) if (values[id] >= threshold) ids.push(id);
  ids.sort((a, b) => values[b] - values[a] || a - b);
  return Int32Array.from(ids.slice(0, size));
}

/**
 * Entropy in nats, perplexity exp(entropy), and effective choices 1 / sum p^2.
 * @param {Float64Array} probabilities
 */
export function spread(probabilities) {
  let entropy = 0, squares = 0;
  for (let i = 0; i < probabilities.length; i++) {
    const p = probabilities[i];
    if (p > 0) entropy -= p * Math.log(p);
    squares += p * p;
  }
  return { entropy: Math.max(0, entropy), perplexity: Math.exp(Math.max(0, entropy)), effectiveChoices: 1 / squares };
}

/** @param {ArrayLike<number>} logits */
function checked(logits) {
  const removedBy = new Uint8Array(logits.length);
  let possible = 0;
  for (let id = 0; id < logits.length; id++) {
    const value = logits[id];
    if (value === -Infinity) removedBy[id] = IMPOSSIBLE;
    else if (Number.isFinite(value)) possible++;
    else throw new RangeError("logits hold NaN or +Infinity");
  }
  if (possible === 0) throw new RangeError("logits leave no token possible");
  return removedBy;
}

/** @param {Uint8Array} removedBy */
function count(removedBy) {
  let kept = 0;
  for (let id = 0; id < removedBy.length; id++) if (removedBy[id] === 0) kept++;
  return kept;
}

/**
 * @param {ArrayLike<number>} logits
 * @param {number} temperature
 */
function softmax(logits, temperature) {
  const size = logits.length;
  const out = new Float64Array(size);
  let highest = -Infinity;
  for (let id = 0; id < size; id++) if (logits[id] > highest) highest = logits[id];
  const top = highest / temperature;
  let sum = 0;
  for (let id = 0; id < size; id++) sum += out[id] = Math.exp(logits[id] / temperature - top);
  for (let id = 0; id < size; id++) out[id] /= sum;
  return out;
}

/**
 * @param {ArrayLike<number>} logits
 * @param {Stage} stage
 * @param {number} penalty
 * @param {Iterable<number>} previousIds
 * @returns {[ArrayLike<number>, Stage]}
 */
function penalise(logits, stage, penalty, previousIds) {
  const seen = [...new Set(previousIds)].filter((id) => id >= 0 && id < logits.length);
  if (penalty === 1 || seen.length === 0) return [logits, { ...stage, name: "penalised" }];
  const changed = new Float64Array(logits);
  for (const id of seen) changed[id] = changed[id] < 0 ? changed[id] * penalty : changed[id] / penalty;
  return [changed, { ...stage, name: "penalised", probabilities: softmax(changed, 1) }];
}

/**
 * @param {ArrayLike<number>} logits
 * @param {Stage} stage
 * @param {number} temperature
 * @param {Uint8Array} removedBy
 * @returns {Stage}
 */
function temper(logits, stage, temperature, removedBy) {
  if (temperature === 1) return { ...stage, name: "tempered" };
  if (temperature >= GREEDY_BELOW) {
    return { ...stage, name: "tempered", probabilities: softmax(logits, temperature) };
  }
  let best = 0;
  for (let id = 1; id < logits.length; id++) if (logits[id] > logits[best]) best = id;
  const probabilities = new Float64Array(logits.length);
  probabilities[best] = 1;
  for (let id = 0; id < logits.length; id++) if (id !== best && removedBy[id] === 0) removedBy[id] = GREEDY;
  return { name: "tempered", probabilities, mass: 1, kept: 1 };
}

/**
 * @param {ArrayLike<number>} logits
 * @param {Stage} stage
 * @param {number} k
 * @param {Uint8Array} removedBy
 * @returns {Stage}
 */
function topK(logits, stage, k, removedBy) {
  if (k === 0 || k >= logits.length) return { ...stage, name: "top_k" };
  const threshold = kthLargest(logits, k);
  return filtered(stage, "top_k", (id) => logits[id] < threshold, removedBy, TOP_K);
}

/**
 * @param {Stage} stage
 * @param {number} p
 * @param {Uint8Array} removedBy
 * @returns {Stage}
 */
function topP(stage, p, removedBy) {
  if (p >= 1) return { ...stage, name: "top_p" };
  const values = stage.probabilities;
  const { value, above } = massThreshold(values, p - CLOSE, false);
  // Of the tokens that tie at the threshold, the first ones by id are kept until the mass is reached.
  let mass = above, taken = 0;
  const remove = (/** @type {number} */ id) => {
    if (values[id] !== value) return values[id] < value;
    if (taken > 0 && mass >= p - CLOSE) return true;
    mass += value;
    taken++;
    return false;
  };
  return filtered(stage, "top_p", remove, removedBy, TOP_P);
}

/**
 * @param {Stage} stage
 * @param {number} share
 * @param {Uint8Array} removedBy
 * @returns {Stage}
 */
function minP(stage, share, removedBy) {
  if (share === 0) return { ...stage, name: "min_p" };
  const values = stage.probabilities;
  let highest = 0;
  for (let id = 0; id < values.length; id++) if (values[id] > highest) highest = values[id];
  const limit = share * highest * (1 - CLOSE);
  return filtered(stage, "min_p", (id) => values[id] < limit, removedBy, MIN_P);
}

/**
 * @param {Stage} stage
 * @param {string} name
 * @param {(id: number) => boolean} remove asked once for each candidate that is left, in id order
 * @param {Uint8Array} removedBy
 * @param {number} code
 * @returns {Stage}
 */
function filtered(stage, name, remove, removedBy, code) {
  const probabilities = stage.probabilities.slice();
  let sum = 0, kept = 0;
  for (let id = 0; id < probabilities.length; id++) {
    if (removedBy[id] !== 0) continue;
    if (remove(id)) {
      removedBy[id] = code;
      probabilities[id] = 0;
    } else {
      sum += probabilities[id];
      kept++;
    }
  }
  for (let id = 0; id < probabilities.length; id++) probabilities[id] /= sum;
  return { name, probabilities, mass: stage.mass * sum, kept };
}

/**
 * The k-th largest value, by partitioning a copy.
 * @param {ArrayLike<number>} values
 * @param {number} k from 1
 */
function kthLargest(values, k) {
  const work = new Float64Array(values);
  let from = 0, to = work.length, rank = k;
  for (;;) {
    const pivot = middle(work, from, to);
    const [larger, smaller] = partition(work, from, to, pivot);
    if (rank <= larger - from) to = larger;
    else if (rank <= smaller - from) return pivot;
    else {
      rank -= smaller - from;
      from = smaller;
    }
  }
}

/**
 * The value at which the mass of the descending order reaches `mass` (passes it, if `strictly`), and the mass of
 * all larger values. When it never does, the smallest positive value.
 * @param {Float64Array} values
 * @param {number} mass
 * @param {boolean} strictly
 * @returns {{value: number, above: number}}
 */
function massThreshold(values, mass, strictly) {
  const work = front(values, mass);
  let from = 0, to = work.length, above = 0;
  const reaches = (/** @type {number} */ sum) => (strictly ? sum > mass : sum >= mass);
  for (;;) {
    const pivot = middle(work, from, to);
    const [larger, smaller] = partition(work, from, to, pivot);
    let before = above;
    for (let i = from; i < larger; i++) before += work[i];
    const through = before + pivot * (smaller - larger);
    if (larger > from && reaches(before)) to = larger;
    else if (reaches(through) || smaller === to) return { value: pivot, above: before };
    else {
      above = through;
      from = smaller;
    }
  }
}

/**
 * All values from some size up that together surely reach `mass`: a small part of a peaked distribution. All
 * positive values when only they do.
 * @param {Float64Array} values
 * @param {number} mass
 * @returns {Float64Array}
 */
function front(values, mass) {
  let highest = 0;
  for (let id = 0; id < values.length; id++) if (values[id] > highest) highest = values[id];
  const work = new Float64Array(values.length);
  for (const share of [1e-2, 1e-4, 0]) {
    const least = highest * share;
    let size = 0, sum = 0;
    for (let id = 0; id < values.length; id++) {
      const value = values[id];
      if (value > least) sum += work[size++] = value;
    }
    if (sum > mass + CLOSE || share === 0) return work.subarray(0, size);
  }
  return work;
}

/**
 * Put larger values first, then equal ones, then smaller ones; return where the equal ones begin and end.
 * @param {Float64Array} work
 * @param {number} from
 * @param {number} to
 * @param {number} pivot
 * @returns {[number, number]}
 */
function partition(work, from, to, pivot) {
  let larger = from, smaller = to, i = from;
  while (i < smaller) {
    const value = work[i];
    if (value > pivot) {
      work[i++] = work[larger];
      work[larger++] = value;
    } else if (value < pivot) {
      work[i] = work[--smaller];
      work[smaller] = value;
    } else i++;
  }
  return [larger, smaller];
}

/**
 * Median of three, so that ordered input is no bad case.
 * @param {Float64Array} work
 * @param {number} from
 * @param {number} to
 */
function middle(work, from, to) {
  const a = work[from], b = work[(from + to) >> 1], c = work[to - 1];
  return Math.max(Math.min(a, b), Math.min(Math.max(a, b), c));
}
