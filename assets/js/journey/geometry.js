// @ts-check
/** Where everything of the journey's grid stands, in CSS pixels. Pure: no DOM. */
import { columnAt, fold } from "../lib/fold.js"

const BODY = 330
const ROW_MIN = 5
const ROW_MAX = 34
const NARROW = 520
const UPRIGHT_BELOW = 58
const IDS_FROM = 44
const LANE = 64
const EDGE = 6

/** @typedef {{x: number, y: number, width: number, height: number}} Box */
/** @typedef {{width: number, height: number, columns: import("../lib/fold.js").Column[],
 *   gap: {x: number, width: number} | null, hidden: number, rail: number, row: number, layers: number,
 *   lane: number | null, laneHeight: number, upright: boolean, ids: boolean, top: number, label: number, body: number,
 *   bodyHeight: number, embed: number, embedHeight: number, id: number, token: number, caption: number,
 *   slot: Box | null, loopX: number, inset: number}} Geometry */

/**
 * @param {{width: number, count: number, layers: number, prompt: number, chosen: number, lane: number | null,
 *   open: boolean, wordy?: boolean}} of `lane`: the layer below which room is made for arcs; `open`: a next token may
 *   come; `wordy`: the cells hold words, so columns stay wide and the middle folds earlier
 * @returns {Geometry}
 */
export function measure({ width, count, layers, prompt, chosen, lane, open, wordy = false }) {
  const narrow = width < NARROW
  const rail = narrow ? 22 : 84
  const right = open ? (narrow ? 44 : 104) : EDGE + 8
  const sizes = { widest: 128, narrowest: wordy ? (narrow ? 46 : 54) : narrow ? 22 : 27 }
  const layout = fold(count, width - rail - right, prompt, chosen, narrow ? 10 : 24, sizes)
  const columns = layout.columns.map((column) => ({ ...column, x: column.x + rail }))
  const wide = columns[0]?.width ?? 0
  const upright = wide < UPRIGHT_BELOW
  const label = upright ? 96 : 36
  const row = Math.max(ROW_MIN, Math.min(ROW_MAX, BODY / layers))
  const laneHeight = lane === null ? 0 : LANE
  const body = EDGE + label + 12
  const bodyHeight = layers * row + laneHeight
  const embed = body + bodyHeight + 10
  const id = embed + 18
  const ids = wide >= IDS_FROM
  const token = id + (ids ? 20 : 6)
  const end = columns.at(-1)
  const slotX = (end ? end.x + end.width : rail) + (count <= prompt ? (narrow ? 6 : 18) : 6)
  const slot = open ? { x: slotX, y: token, width: narrow ? 20 : Math.min(wide, 70), height: label } : null
  return {
    width, height: token + label + 30, columns, gap: layout.gap && { ...layout.gap, x: layout.gap.x + rail },
    hidden: layout.hidden, rail, row, layers, lane, laneHeight, upright, ids, top: EDGE, label, body, bodyHeight, embed,
    embedHeight: 14, id, token, caption: token + label + 8, slot,
    loopX: Math.min(width - EDGE, (slot ? slot.x + slot.width : slotX) + (narrow ? 12 : 26)),
    inset: wide >= 48 ? 12 : wide >= 30 ? 8 : 6,
  }
}

/**
 * The upper edge of a layer's row.
 * @param {Geometry} geo
 * @param {number} layer
 */
export function rowTop(geo, layer) {
  const lifted = geo.lane !== null && layer >= geo.lane ? geo.laneHeight : 0
  return geo.body + geo.bodyHeight - (layer + 1) * geo.row - lifted
}

/**
 * The cell itself, without the two marks for K and V at its left.
 * @param {Geometry} geo
 * @param {import("../lib/fold.js").Column} column
 * @param {number} layer
 * @returns {Box}
 */
export function cellBox(geo, column, layer) {
  const gap = geo.row > 8 ? 1.5 : 0.75
  const width = Math.max(2, column.width - geo.inset - 3)
  return { x: column.x + geo.inset, y: rowTop(geo, layer), width, height: geo.row - gap }
}

/**
 * Which column and layer are at a point; the layer is null beside the rows of cells.
 * @param {Geometry} geo
 * @param {number} x
 * @param {number} y
 * @returns {{position: number, layer: number | null} | null}
 */
export function placeAt(geo, x, y) {
  const position = columnAt({ columns: geo.columns, gap: null, hidden: 0 }, x)
  if (position === null || y < geo.top || y > geo.token + geo.label) return null
  for (let layer = 0; layer < geo.layers; layer++) {
    const top = rowTop(geo, layer)
    if (y >= top && y < top + geo.row) return { position, layer }
  }
  return { position, layer: null }
}

/**
 * The way of a choice: from its prediction, around at the right, to the place of the next token.
 * @param {Geometry} geo
 * @param {number} from index into the columns
 * @param {number} goalX the right edge of the place where it ends
 * @returns {[number, number][]}
 */
export function loopPath(geo, from, goalX) {
  const column = geo.columns[from]
  const high = geo.top + Math.min(18, geo.label / 2)
  const low = geo.token + Math.min(18, geo.label / 2)
  return [[column.x + column.width - 3, high], [geo.loopX, high], [geo.loopX, low], [goalX + 4, low]]
}

/**
 * The point at a share of a path's length.
 * @param {[number, number][]} path
 * @param {number} share from 0 to 1
 * @returns {[number, number]}
 */
export function along(path, share) {
  const parts = path.slice(1).map((point, i) => Math.hypot(point[0] - path[i][0], point[1] - path[i][1]))
  let left = share * parts.reduce((sum, part) => sum + part, 0)
  for (let i = 0; i < parts.length; i++) {
    if (left <= parts[i] || i === parts.length - 1) {
      const part = parts[i] ? Math.min(1, left / parts[i]) : 1
      return [path[i][0] + part * (path[i + 1][0] - path[i][0]), path[i][1] + part * (path[i + 1][1] - path[i][1])]
    }
    left -= parts[i]
  }
  return path[0]
}
