// @ts-check
/** The score of one query and one key at every distance, with a dot to drag. */
import { context } from "../lib/canvas.js"
import { number } from "../lib/numbers.js"

const LEFT = 48
const TOP = 10
const BOTTOM = 26
const HEIGHT = 190

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {{values: Float64Array, at: number, own: number, axis: string}} data `own`: the distance in the run
 * @param {any} colour
 */
export function drawCurve(canvas, width, { values, at, own, axis }, colour) {
  const ctx = context(canvas, width, HEIGHT)
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)]
  const span = high - low || 1
  const x = (/** @type {number} */ d) => LEFT + (d / Math.max(1, values.length - 1)) * (width - LEFT - 8)
  const y = (/** @type {number} */ v) => TOP + ((high - v) / span) * (HEIGHT - TOP - BOTTOM)
  ctx.font = "11px Inter, system-ui, sans-serif"
  ctx.fillStyle = colour.muted
  ctx.strokeStyle = colour.line
  ctx.lineWidth = 1
  for (const value of new Set([low, 0, high])) {
    line(ctx, LEFT, y(value), width - 8, y(value))
    ctx.textAlign = "right"
    ctx.fillText(number(value, 3), LEFT - 6, y(value) + 4)
  }
  ctx.textAlign = "left"
  ctx.fillText("0", LEFT, HEIGHT - 8)
  ctx.textAlign = "right"
  ctx.fillText(number(values.length - 1, 5), width - 8, HEIGHT - 8)
  ctx.textAlign = "center"
  ctx.fillText(axis, LEFT + (width - LEFT) / 2, HEIGHT - 8)
  ctx.strokeStyle = colour.attention
  ctx.lineWidth = 2
  ctx.beginPath()
  values.forEach((value, d) => (d ? ctx.lineTo(x(d), y(value)) : ctx.moveTo(x(d), y(value))))
  ctx.stroke()
  if (own < values.length) {
    ctx.strokeStyle = colour.muted
    ctx.lineWidth = 1.5
    ctx.beginPath()
    ctx.arc(x(own), y(values[own]), 7, 0, 2 * Math.PI)
    ctx.stroke()
  }
  if (at < 0 || at >= values.length) return
  ctx.setLineDash([3, 3])
  ctx.strokeStyle = colour.accent
  line(ctx, x(at), TOP, x(at), HEIGHT - BOTTOM)
  ctx.setLineDash([])
  ctx.fillStyle = colour.accent
  ctx.beginPath()
  ctx.arc(x(at), y(values[at]), 5, 0, 2 * Math.PI)
  ctx.fill()
}

/**
 * The distance at `x` of a curve of `count` distances.
 * @param {number} x
 * @param {number} width
 * @param {number} count
 */
export function distanceAt(x, width, count) {
  const share = (x - LEFT) / Math.max(1, width - LEFT - 8)
  return Math.max(0, Math.min(count - 1, Math.round(share * (count - 1))))
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x0
 * @param {number} y0
 * @param {number} x1
 * @param {number} y1
 */
function line(ctx, x0, y0, x1, y1) {
  ctx.beginPath()
  ctx.moveTo(x0, y0)
  ctx.lineTo(x1, y1)
  ctx.stroke()
}
