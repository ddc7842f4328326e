// @ts-check
/** The merges of one word, applied. Pure: no page is needed. */

/** @typedef {{ place: number, bytes: number[], fresh: boolean }} Symbol_ */
/** @typedef {{ rank: number, left: number[], right: number[] }} Pair */

/**
 * The symbols after the first `count` merges; `fresh` marks the one that the last merge made.
 * @param {number[][]} letters bytes of the symbols to start from
 * @param {[number, number][]} merges rank and place (the number of the left symbol's first letter)
 * @param {number} count
 * @returns {Symbol_[]}
 */
export function symbolsAfter(letters, merges, count) {
  const symbols = letters.map((bytes, place) => ({ place, bytes, fresh: false }))
  merges.slice(0, count).forEach(([, place], turn) => {
    const at = symbols.findIndex((symbol) => symbol.place === place)
    const [left, right] = symbols.splice(at, 2)
    symbols.splice(at, 0, { place, bytes: [...left.bytes, ...right.bytes], fresh: turn === count - 1 })
  })
  return symbols
}

/**
 * The pair that merge number `index` joins, or null past the end.
 * @param {number[][]} letters
 * @param {[number, number][]} merges
 * @param {number} index
 * @returns {Pair | null}
 */
export function pairOf(letters, merges, index) {
  if (index >= merges.length) return null
  const [rank, place] = merges[index]
  const symbols = symbolsAfter(letters, merges, index)
  const at = symbols.findIndex((symbol) => symbol.place === place)
  return { rank, left: symbols[at].bytes, right: symbols[at + 1].bytes }
}
