// @ts-check
/** Where columns of tokens stand when they must fit a width: wide, then narrow, then the middle folds. */

/** @typedef {{position: number, x: number, width: number}} Column */
/** @typedef {{columns: Column[], gap: {x: number, width: number} | null, hidden: number}} Layout */

const WIDEST = 64
const NARROWEST = 6
const FOLD_WIDTH = 28
const FIRST_KEPT = 4

/**
 * Lay out `count` columns in `width` pixels. When they do not fit at their narrowest, the first few, the newest
 * and the chosen one stay in sight; the rest fold into one gap and `hidden` counts them.
 * @param {number} count
 * @param {number} width
 * @param {number} promptLength a gap of `groupGap` stands between the prompt and what was generated
 * @param {number} chosen this column is always shown
 * @param {number} groupGap
 * @param {{widest?: number, narrowest?: number}} [sizes] of a column, in pixels
 * @returns {Layout}
 */
export function fold(count, width, promptLength, chosen, groupGap, { widest = WIDEST, narrowest = NARROWEST } = {}) {
  const between = promptLength > 0 && promptLength < count ? groupGap : 0
  const room = width - between
  if (count * narrowest <= room) {
    return place(range(0, count), Math.min(widest, room / count), promptLength, between, null, 0)
  }
  const kept = Math.max(FIRST_KEPT + 2, Math.floor((room - FOLD_WIDTH) / narrowest))
  const first = Math.min(FIRST_KEPT, count)
  const tail = kept - first
  let start = count - tail
  if (chosen >= first && chosen < start) start = Math.max(first, chosen - Math.floor(tail / 2))
  const end = Math.min(count, start + tail)
  const shown = [...range(0, first), ...range(start, end)]
  const hidden = count - shown.length
  return place(shown, narrowest, promptLength, between, start > first ? first : null, hidden)
}

/**
 * Which column is under `x`, or null for a gap.
 * @param {Layout} layout
 * @param {number} x
 */
export function columnAt(layout, x) {
  const hit = layout.columns.find((column) => x >= column.x && x < column.x + column.width)
  return hit ? hit.position : null
}

/**
 * @param {number[]} positions
 * @param {number} width
 * @param {number} promptLength
 * @param {number} between
 * @param {number | null} foldAfter how many columns stand before the folded ones
 * @param {number} hidden
 * @returns {Layout}
 */
function place(positions, width, promptLength, between, foldAfter, hidden) {
  /** @type {Column[]} */
  const columns = []
  let x = 0
  /** @type {Layout["gap"]} */
  let gap = null
  let separated = false
  positions.forEach((position, i) => {
    if (foldAfter !== null && i === foldAfter) {
      gap = { x, width: FOLD_WIDTH }
      x += FOLD_WIDTH
    }
    if (between && !separated && position >= promptLength) {
      separated = true
      if (i > 0) x += between
    }
    columns.push({ position, x, width })
    x += width
  })
  return { columns, gap, hidden }
}

/**
 * @param {number} from
 * @param {number} to
 */
function range(from, to) {
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i)
}
