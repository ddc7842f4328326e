// @ts-check
/** What moves between the cells: the fan of attention, the reading of a rising column, the loop and its traveller. */
import { percent, marked } from "../generate/format.js"
import { textAt } from "../generate/view-model.js"
import { FACE, frame, label } from "./draw.js"
import { along, cellBox, loopPath, rowTop } from "./geometry.js"

const LEAST = 0.004

/**
 * Attention of one head into the chosen cell: arcs in the lane below its row, so that no cell is covered.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./picture.js").Scene} scene
 */
export function paintFan(ctx, { geo, header, arrays, palette, layer, position }) {
  const { journey } = header
  if (geo.lane === null || journey.layer !== layer || journey.position !== position) return
  const goal = geo.columns.find((column) => column.position === position)
  if (!goal) return
  const top = rowTop(geo, layer) + geo.row + 1
  const to = goal.x + geo.inset + (goal.width - geo.inset) / 2
  ctx.strokeStyle = palette.attention
  ctx.lineCap = "round"
  for (const column of geo.columns) {
    const weight = arrays.weights[column.position] ?? 0
    if (column.position > position || weight < LEAST) continue
    const from = column.x + geo.inset / 2
    const depth = Math.min(geo.laneHeight - 24, 12 + Math.abs(to - from) / 9)
    ctx.globalAlpha = 0.35 + 0.65 * weight
    ctx.lineWidth = 1 + 7 * weight
    ctx.beginPath()
    ctx.moveTo(from, top + 2)
    ctx.bezierCurveTo(from, top + depth * 1.3, to, top + depth * 1.3, to, top + 3)
    ctx.stroke()
    ctx.globalAlpha = 1
    if (column.width < 46 || weight < 0.01) continue
    ctx.font = `600 13px ${FACE}`
    ctx.textAlign = "left"
    ctx.textBaseline = "bottom"
    ctx.fillStyle = palette.attention
    ctx.fillText(percent(weight), column.x + 2, top + geo.laneHeight - 4)
  }
  ctx.lineCap = "butt"
}

/**
 * While a column rises: the row that is being computed reads the K and V of every column at its left. The line runs
 * between two rows.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./picture.js").Scene} scene
 * @param {number} done layers that are computed
 */
export function paintReads(ctx, scene, done) {
  const { geo, header, palette, kind } = scene
  const layer = Math.min(done, geo.layers - 1)
  const newest = header.prompt + header.state.step - 1
  const goal = geo.columns.find((column) => column.position === newest)
  if (!goal) return
  const y = rowTop(geo, layer)
  for (const column of geo.columns) {
    if (column.position < header.journey.first_kept[layer]) continue
    ctx.fillStyle = palette.key
    ctx.fillRect(column.x + 1, y - 1, 4, geo.row + 1)
    ctx.fillStyle = palette.value
    ctx.fillRect(column.x + 5, y - 1, 4, geo.row + 1)
  }
  ctx.strokeStyle = palette.attention
  ctx.lineWidth = 2
  ctx.beginPath()
  ctx.moveTo(geo.columns[0].x + 2, y + geo.row)
  ctx.lineTo(goal.x + goal.width - 4, y + geo.row)
  ctx.stroke()
  ctx.strokeStyle = palette.accent
  ctx.lineWidth = 2.5
  for (const column of kind === "prefill" ? geo.columns : [goal]) {
    const box = cellBox(geo, column, layer)
    ctx.strokeRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2)
  }
}

/**
 * The way back: from the lit prediction around to the next token's place.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./picture.js").Scene} scene
 */
export function paintLoop(ctx, scene) {
  const { geo, header, palette, before, moment } = scene
  if (before || !geo.slot) return
  const moving = moment !== null && moment.phase !== "end"
  const from = geo.columns.length - 1 - (moving && scene.kind === "step" ? 1 : 0)
  if (from < 0) return
  const last = geo.columns[geo.columns.length - 1]
  const carried = moving && scene.kind === "step"
  const goal = carried ? last.x + last.width - 3 : geo.slot.x + geo.slot.width
  const path = loopPath(geo, from, goal)
  ctx.strokeStyle = palette.logits
  ctx.fillStyle = palette.logits
  ctx.lineWidth = 2
  ctx.setLineDash([6, 5])
  ctx.beginPath()
  path.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)))
  ctx.stroke()
  ctx.setLineDash([])
  const [x, y] = path[path.length - 1]
  ctx.beginPath()
  ctx.moveTo(x, y)
  ctx.lineTo(x + 9, y - 5.5)
  ctx.lineTo(x + 9, y + 5.5)
  ctx.fill()
  if (carried) return
  const waits = header.state.ahead > 0
  frame(ctx, geo.slot, palette.logits, 1.5, true, "transparent")
  const next = waits ? marked(textAt(header, header.prompt + header.state.step) ?? "") : "?"
  label(ctx, geo, geo.slot, next, palette.logits, 600)
}

/**
 * The chosen token on its way.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./picture.js").Scene} scene
 * @param {number} share
 */
export function paintTraveller(ctx, { geo, header, palette }, share) {
  const last = geo.columns[geo.columns.length - 1]
  const from = geo.columns.length - 2
  if (from < 0) return
  const path = loopPath(geo, from, last.x + last.width / 2)
  const smooth = share * share * (3 - 2 * share)
  const [x, y] = along(path, smooth)
  const width = geo.upright ? 26 : 76
  const height = geo.upright ? 64 : 32
  const box = { x: Math.min(geo.width - width - 2, x - width / 2), y: y - height / 2, width, height }
  frame(ctx, box, palette.accent, 2, false, palette.accent)
  const token = marked(textAt(header, header.prompt + header.state.step - 1) ?? "")
  label(ctx, { ...geo, label: height }, box, token, palette.paper, 600)
}
