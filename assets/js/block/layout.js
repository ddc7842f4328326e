// @ts-check
/** Where the boxes of a block stand: the residual stream as a line at the top, the two parts below it. */

/** @typedef {{name: string, lane: string, column: number, rows: {length: number}[]}} Box */
/** @typedef {{x: number, y: number, width: number, height: number}} Place `y`, `height`: of the strip alone */

export const TITLE = 34
const NARROWEST = 50
const TALLEST = 190
const SHORTEST = 8
const GAP = 10

/**
 * Strips have heights in proportion to their numbers.
 * @param {Box[]} boxes
 * @param {number} columns
 * @param {number} available in pixels
 * @returns {{places: Record<string, Place>, width: number, height: number}}
 */
export function layout(boxes, columns, available) {
  const cell = Math.max(NARROWEST, Math.floor(available / columns))
  const most = Math.max(...boxes.map(size))
  const tall = (/** @type {Box} */ box) => Math.max(SHORTEST, (size(box) / most) * TALLEST)
  /** @type {Record<string, Place>} */
  const places = {}
  const lanes = overlap(boxes) ? [["stream"], ["attention"], ["ffn"]] : [["stream"], ["attention", "ffn"]]
  let top = 0
  for (const lane of lanes) {
    /** @type {Record<number, number>} */
    const filled = {}
    for (const box of boxes.filter((one) => lane.includes(one.lane))) {
      const y = top + (filled[box.column] ?? 0) + TITLE
      places[box.name] = { x: box.column * cell, y, width: cell, height: tall(box) }
      filled[box.column] = y + tall(box) + GAP - top
    }
    top += Math.max(0, ...Object.values(filled)) + GAP
  }
  return { places, width: cell * columns, height: top }
}

/** How many numbers a box holds. @param {Box} box */
export function size(box) {
  return box.rows.reduce((sum, row) => sum + row.length, 0)
}

/** The two parts need lanes of their own: they stand in the same columns. @param {Box[]} boxes */
function overlap(boxes) {
  const own = new Set(boxes.filter((box) => box.lane === "attention").map((box) => box.column))
  return boxes.some((box) => box.lane === "ffn" && own.has(box.column))
}
