// @ts-check
/** One dial for each pair of numbers: the query's and the key's arrow, before the turn (thin) and after it. */
import { context, monospaced } from "../lib/canvas.js"
import { number } from "../lib/numbers.js"

/** @typedef {{before: [number, number], after: [number, number]}} Arrow */
/** @typedef {{columns: number, cell: number, radius: number, height: number}} Grid */

const LABEL = 34

/**
 * @param {number} width
 * @param {number} count
 * @returns {Grid} `height` of one row
 */
export function gridOf(width, count) {
  const wanted = count > 64 ? 60 : 84
  const columns = Math.max(4, Math.min(count, 16, Math.floor(width / wanted)))
  const cell = width / columns
  const radius = Math.min(34, cell * 0.42)
  return { columns, cell, radius, height: 2 * radius + LABEL + 10 }
}

/**
 * @param {Grid} grid
 * @param {number} count
 * @param {number} x
 * @param {number} y
 */
export function dialAt(grid, count, x, y) {
  const column = Math.floor(x / grid.cell)
  const index = Math.floor(y / grid.height) * grid.columns + column
  return column >= 0 && column < grid.columns && index >= 0 && index < count ? index : null
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {{q: Arrow[], k: Arrow[], terms: Float64Array, periods: Float32Array, lit: number, unit: string}} all
 *   `periods`: positions for a full turn
 * @param {any} colour
 */
export function drawDials(canvas, width, all, colour) {
  const count = all.terms.length
  const grid = gridOf(width, count)
  const ctx = context(canvas, width, Math.ceil(count / grid.columns) * grid.height)
  const longest = (/** @type {Arrow[]} */ arrows) => Math.max(1e-12, ...arrows.map(({ before: [x, y] }) => Math.hypot(x, y)))
  const tops = { q: longest(all.q), k: longest(all.k) }
  const strongest = Math.max(1e-12, ...all.terms.map(Math.abs))
  for (let j = 0; j < count; j++) {
    const x = ((j % grid.columns) + 0.5) * grid.cell
    const y = Math.floor(j / grid.columns) * grid.height + grid.radius + 5
    ring(ctx, x, y, grid.radius, j === all.lit ? colour.accent : colour.line, j === all.lit ? 2.5 : 1)
    arrow(ctx, x, y, grid.radius, all.k[j].before, tops.k, colour.key, false)
    arrow(ctx, x, y, grid.radius, all.q[j].before, tops.q, colour.query, false)
    arrow(ctx, x, y, grid.radius, all.k[j].after, tops.k, colour.key, true)
    arrow(ctx, x, y, grid.radius, all.q[j].after, tops.q, colour.query, true)
    monospaced(ctx, 10.5)
    ctx.fillStyle = colour.muted
    ctx.textAlign = "center"
    ctx.fillText(`${brief(all.periods[j])}${grid.cell > 76 ? ` ${all.unit}` : ""}`, x, y + grid.radius + 15)
    bar(ctx, x, y + grid.radius + 21, grid.radius, all.terms[j] / strongest, colour)
  }
}

/** @param {number} value */
function brief(value) {
  return value >= 1e6 ? `${number(value / 1e6, 2)}M` : value >= 1e4 ? `${number(value / 1e3, 2)}k` : number(value, 2)
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 * @param {string} colour
 * @param {number} width
 */
function ring(ctx, x, y, radius, colour, width) {
  ctx.beginPath()
  ctx.arc(x, y, radius, 0, 2 * Math.PI)
  ctx.strokeStyle = colour
  ctx.lineWidth = width
  ctx.stroke()
}

/**
 * An arrow whose length is the square root of the pair's share of the largest, so that small pairs stay in sight.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x
 * @param {number} y
 * @param {number} radius
 * @param {[number, number]} to
 * @param {number} top
 * @param {string} colour
 * @param {boolean} full
 */
function arrow(ctx, x, y, radius, [a, b], top, colour, full) {
  const size = Math.hypot(a, b)
  if (!size) return
  const length = radius * Math.min(1, Math.sqrt(size / top))
  const [dx, dy] = [(a / size) * length, (-b / size) * length]
  ctx.globalAlpha = full ? 1 : 0.45
  ctx.strokeStyle = ctx.fillStyle = colour
  ctx.lineWidth = full ? 2.25 : 1
  ctx.setLineDash(full ? [] : [2, 2])
  ctx.beginPath()
  ctx.moveTo(x, y)
  ctx.lineTo(x + dx, y + dy)
  ctx.stroke()
  ctx.setLineDash([])
  if (full) {
    ctx.beginPath()
    ctx.arc(x + dx, y + dy, 2.75, 0, 2 * Math.PI)
    ctx.fill()
  }
  ctx.globalAlpha = 1
}

/**
 * What the pair gives to the score: to the right when it raises it, to the left when it lowers it.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x
 * @param {number} y
 * @param {number} reach
 * @param {number} share from −1 to 1
 * @param {any} colour
 */
function bar(ctx, x, y, reach, share, colour) {
  ctx.fillStyle = colour.line
  ctx.fillRect(x - 0.5, y - 1, 1, 8)
  ctx.fillStyle = share >= 0 ? colour.diverging[4] : colour.diverging[0]
  const width = Math.max(0.5, Math.abs(share) * reach)
  ctx.fillRect(share >= 0 ? x : x - width, y, width, 6)
}
