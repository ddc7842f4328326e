// @ts-check
/** Boxes and words of the journey's grid. */
import { monospaced } from "../lib/canvas.js"

/** @typedef {import("./geometry.js").Geometry} Geometry */

export const FACE = '"Inter", system-ui, sans-serif'

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./geometry.js").Box} box
 * @param {string} colour
 * @param {number} width
 * @param {boolean} dashed
 * @param {string} ground
 */
export function frame(ctx, box, colour, width, dashed, ground) {
  ctx.beginPath()
  ctx.roundRect(box.x, box.y, box.width, box.height, Math.min(8, box.width / 4))
  if (ground !== "transparent") {
    ctx.fillStyle = ground
    ctx.fill()
  }
  ctx.strokeStyle = colour
  ctx.lineWidth = width
  ctx.setLineDash(dashed ? [4, 4] : [])
  ctx.stroke()
  ctx.setLineDash([])
}

/**
 * Text in a box; in a narrow column it stands upright.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Geometry} geo
 * @param {import("./geometry.js").Box} box
 * @param {string} text
 * @param {string} colour
 * @param {number} weight
 * @param {string} [more] a number behind the text
 */
export function label(ctx, geo, box, text, colour, weight, more = "") {
  const room = geo.upright ? box.height - 10 : box.width - 8
  const tail = more && !geo.upright ? 42 : 0
  for (const size of geo.upright ? [14, 13] : [16, 14, 13]) {
    monospaced(ctx, size, weight)
    if (ctx.measureText(text).width <= room - tail) break
  }
  ctx.textBaseline = "middle"
  ctx.textAlign = "center"
  ctx.fillStyle = colour
  const sign = geo.upright && ctx.measureText(text).width <= box.width - 4
  if (sign) ctx.fillText(text, box.x + box.width / 2, box.y + box.height / 2 + 1)
  else if (geo.upright) {
    ctx.save()
    ctx.translate(box.x + box.width / 2, box.y + box.height / 2)
    ctx.rotate(-Math.PI / 2)
    ctx.fillText(cut(ctx, text, room), 0, 0)
    ctx.restore()
  }
  if (geo.upright) return
  const shown = cut(ctx, text, room - tail)
  const width = ctx.measureText(shown).width
  const x = box.x + (box.width - width - tail) / 2
  ctx.textAlign = "left"
  ctx.fillText(shown, x, box.y + box.height / 2 + 1)
  if (!more) return
  ctx.font = `500 13px ${FACE}`
  ctx.fillText(more, x + width + 6, box.y + box.height / 2 + 1)
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} width
 */
export function cut(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text
  const signs = [...text]
  while (signs.length && ctx.measureText(signs.join("") + "…").width > width) signs.pop()
  return signs.length ? signs.join("") + "…" : [...text][0] ?? ""
}
