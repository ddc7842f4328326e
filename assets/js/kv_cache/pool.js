// @ts-check
/** From stored lengths to cells of a picture: shades, and several columns in one where the width is short. */

const NARROWEST = 3
const WIDEST = 26

/**
 * How many columns share one cell, how many cells there are and how wide each is.
 * @param {number} columns
 * @param {number} width
 */
export function bins(columns, width) {
  const together = Math.max(1, Math.ceil((columns * NARROWEST) / Math.max(1, width)))
  const count = Math.ceil(columns / together)
  return { together, count, cell: Math.min(WIDEST, width / count) }
}

/**
 * The smallest and largest length that is stored; the far largest values do not count, so that the first token's huge
 * keys do not pale the others.
 * @param {ArrayLike<number>} lengths −1 where nothing is stored
 */
export function range(lengths) {
  const kept = Float32Array.from(Array.from(lengths).filter((value) => value >= 0)).sort()
  if (!kept.length) return { low: 0, high: 1 }
  const [low, high] = [kept[Math.floor(0.01 * (kept.length - 1))], kept[Math.floor(0.99 * (kept.length - 1))]]
  return { low, high: high > low ? high : low + 1 }
}

/**
 * Shades from 0 to 255 of (rows × count) cells, the last row of the data on top; −1 where every column was dropped.
 * A cell of several columns shows the largest of them.
 * @param {ArrayLike<number>} lengths (rows × columns)
 * @param {number} rows
 * @param {number} columns
 * @param {{together: number, count: number}} layout
 * @param {{low: number, high: number}} limits
 */
export function shades(lengths, rows, columns, layout, limits) {
  const cells = new Int16Array(rows * layout.count)
  for (let row = 0; row < rows; row++) for (let cell = 0; cell < layout.count; cell++) {
    let best = -1
    const end = Math.min(columns, (cell + 1) * layout.together)
    for (let at = cell * layout.together; at < end; at++) best = Math.max(best, lengths[row * columns + at])
    const share = Math.max(0, Math.min(1, (best - limits.low) / (limits.high - limits.low)))
    cells[(rows - 1 - row) * layout.count + cell] = best < 0 ? -1 : Math.round(40 + 215 * share)
  }
  return cells
}
