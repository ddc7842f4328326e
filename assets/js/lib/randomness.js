// @ts-check
// Random numbers that need no state: the twin of core/decoding/randomness.py. The same (seed, step, index) gives the
// same number here and in Python, so a run repeats itself from any step.

/**
 * A number in [0, 1) fixed by its counters: MurmurHash3 over five words, twice, for 53 bits.
 * @param {number} seed 0 to 2^53 - 1
 * @param {number} step tokens already generated
 * @param {number} [index] tells several draws at one step apart
 */
export function uniform(seed, step, index = 0) {
  if (!Number.isSafeInteger(seed) || seed < 0 || !isWord(step) || !isWord(index)) {
    throw new RangeError(`seed ${seed}, step ${step} or index ${index} is outside its range`);
  }
  const low = seed >>> 0, high = Math.floor(seed / 2 ** 32);
  const a = hash(low, high, step, index, 0), b = hash(low, high, step, index, 1);
  return ((a >>> 5) * 2 ** 26 + (b >>> 6)) / 2 ** 53;
}

const isWord = (/** @type {number} */ n) => Number.isInteger(n) && n >= 0 && n < 2 ** 32;
const rotate = (/** @type {number} */ word, /** @type {number} */ bits) => (word << bits) | (word >>> (32 - bits));

/** @param {...number} words */
function hash(...words) {
  let state = 0;
  for (const word of words) {
    const mixed = Math.imul(rotate(Math.imul(word | 0, 0xcc9e2d51), 15), 0x1b873593);
    state = (Math.imul(rotate(state ^ mixed, 13), 5) + 0xe6546b64) | 0;
  }
  state ^= 4 * words.length;
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

/**
 * `uniform(seed, step, i)` for i from 0 to count - 1.
 * @param {number} seed
 * @param {number} step
 * @param {number} count
 */
export function uniforms(seed, step, count) {
  return Float64Array.from({ length: count }, (_, index) => uniform(seed, step, index));
}
