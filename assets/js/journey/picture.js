// @ts-check
/** The journey's grid on a canvas: cells, K and V marks, text below, predictions above, arcs and the loop. */
import { laser, monospaced } from "../lib/canvas.js"
import { shade as stripeShade } from "../lib/stripes.js"
import { lookup, luminance } from "../lib/theme.js"
import { marked, percent } from "../generate/format.js"
import { textAt } from "../generate/view-model.js"
import { paintFan, paintLoop, paintReads, paintTraveller } from "./paths.js"
import { FACE, cut, frame, label } from "./draw.js"
import { cellBox, rowTop } from "./geometry.js"

/** @typedef {import("./geometry.js").Geometry} Geometry */
/** @typedef {{geo: Geometry, header: any, arrays: any, palette: any, lens: import("./lenses.js").Lens,
 *   layer: number, position: number, before: boolean, moment: import("./motion.js").Moment | null,
 *   kind: string, scale: number}} Scene `moment`: where the film of the step is, null at rest */

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 */
export function paintScene(ctx, scene) {
  const tables = {
    ramp: lookup(scene.palette.ramp),
    attention: lookup([scene.palette.ramp[0], scene.palette.attention]),
    expert: lookup([scene.palette.ramp[0], scene.palette.expert]),
    cache: lookup(scene.palette.ramp),
  }
  paintRail(ctx, scene)
  scene.geo.columns.forEach((column, i) => {
    paintCells(ctx, scene, column, tables[scene.lens.colour])
    paintStripe(ctx, scene, column)
    paintToken(ctx, scene, column)
    paintPrediction(ctx, scene, column, i)
  })
  if (scene.geo.gap) paintFold(ctx, scene)
  if (scene.lens.name === "attention" && !scene.before) paintFan(ctx, scene)
  paintChosen(ctx, scene)
  if (scene.moment?.phase === "rise") paintReads(ctx, scene, risen(scene))
  paintLoop(ctx, scene)
  if (scene.moment?.phase === "carry") paintTraveller(ctx, scene, scene.moment.share)
  paintCaptions(ctx, scene)
}

/**
 * How many layers of a column are computed at this moment: all, or as far as it has risen.
 * @param {Scene} scene
 */
export function risen(scene) {
  if (!scene.moment || scene.moment.phase === "end") return scene.geo.layers
  return scene.moment.phase === "rise" ? Math.floor(scene.moment.share * (scene.geo.layers + 1)) : 0
}

/**
 * Whether this column is the one (or one of those) that the film is about.
 * @param {Scene} scene
 * @param {number} position
 */
export function isMoving(scene, position) {
  if (!scene.moment || scene.moment.phase === "end") return false
  return scene.kind === "prefill" || position === scene.header.prompt + scene.header.state.step - 1
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 */
function paintRail(ctx, { geo, palette, header }) {
  ctx.font = `13px ${FACE}`
  ctx.textBaseline = "middle"
  ctx.textAlign = "right"
  ctx.fillStyle = palette.muted
  const every = Math.max(1, Math.ceil(geo.layers / 6 / 5) * 5)
  const shown = new Set([geo.layers - 1])
  for (let layer = 0; layer < geo.layers - every / 2; layer += every) shown.add(layer)
  if (geo.layers <= 6) for (let layer = 0; layer < geo.layers; layer++) shown.add(layer)
  for (const layer of shown) ctx.fillText(String(layer), geo.rail - 6, rowTop(geo, layer) + geo.row / 2)
  if (geo.rail < 60) return
  const words = header.labels
  ctx.fillText(words.rail_out, geo.rail - 6, geo.top + geo.label / 2)
  ctx.fillText(words.rail_embed, geo.rail - 6, geo.embed + geo.embedHeight / 2)
  if (geo.ids) ctx.fillText(words.rail_ids, geo.rail - 6, geo.id + 9)
  ctx.fillText(words.rail_tokens, geo.rail - 6, geo.token + geo.label / 2)
  ctx.save()
  ctx.translate(geo.rail - 46, geo.body + geo.bodyHeight / 2)
  ctx.rotate(-Math.PI / 2)
  ctx.textAlign = "center"
  ctx.fillText(words.rail_layers, 0, 0)
  ctx.restore()
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {import("../lib/fold.js").Column} column
 * @param {[number, number, number][]} table
 */
function paintCells(ctx, scene, column, table) {
  const { geo, palette, lens } = scene
  const { position } = column
  const done = scene.before ? 0 : isMoving(scene, position) ? risen(scene) : geo.layers
  const middle = column.x + geo.inset + (column.width - geo.inset - 3) / 2
  ctx.fillStyle = palette.residual
  ctx.globalAlpha = done ? 0.25 : 0.1
  ctx.fillRect(middle - 1, geo.body - 9, 2, geo.bodyHeight + 17)
  ctx.globalAlpha = done ? 0.6 : 0.2
  ctx.fillRect(middle - 1, geo.body - 9, 2, 8)
  ctx.fillRect(middle - 1, geo.body + geo.bodyHeight, 2, 8)
  const every = Math.max(1, Math.ceil(25 / geo.row))
  for (let layer = 0; layer < geo.layers; layer++) {
    const box = cellBox(geo, column, layer)
    ctx.globalAlpha = 1
    ctx.fillStyle = palette.paper
    ctx.fillRect(box.x, box.y, box.width, box.height)
    if (layer >= done) {
      ctx.globalAlpha = 0.7
      ctx.strokeStyle = palette.line
      ctx.lineWidth = 1
      ctx.strokeRect(box.x + 0.5, box.y + 0.5, box.width - 1, box.height - 1)
      continue
    }
    const value = lens.shade(layer, position)
    if (lens.name === "cache") paintHalves(ctx, box, value, palette)
    else paintCell(ctx, scene, box, value === null ? null : table[value], lens.unknown)
    marks(ctx, scene, column, layer)
    if (value !== null && (geo.layers - 1 - layer) % every === 0) {
      word(ctx, box, lens.label(layer, position), table[value], palette, geo.row)
    }
  }
  ctx.globalAlpha = 1
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {import("./geometry.js").Box} box
 * @param {[number, number, number] | null} colour
 * @param {boolean} unknown
 */
function paintCell(ctx, { palette }, box, colour, unknown) {
  if (colour) {
    ctx.fillStyle = `rgb(${colour.join(" ")})`
    ctx.fillRect(box.x, box.y, box.width, box.height)
    return
  }
  ctx.globalAlpha = unknown ? 1 : 0.55
  ctx.fillStyle = palette.ramp[0]
  ctx.fillRect(box.x, box.y, box.width, box.height)
  ctx.globalAlpha = 1
}

/**
 * A cell of the cache: its K at the left, its V at the right, full where this pass wrote them.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./geometry.js").Box} box
 * @param {number | null} value
 * @param {any} palette
 */
function paintHalves(ctx, box, value, palette) {
  const half = box.width / 2
  ctx.globalAlpha = value === null ? 0.08 : value === 255 ? 1 : 0.42
  ctx.fillStyle = palette.key
  ctx.fillRect(box.x, box.y, half - 1, box.height)
  ctx.fillStyle = palette.value
  ctx.fillRect(box.x + half, box.y, half, box.height)
  ctx.globalAlpha = 1
}

/**
 * K and V as two thin marks at the left of a cell: the cache is the columns to the left.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {import("../lib/fold.js").Column} column
 * @param {number} layer
 */
function marks(ctx, { geo, header, palette, moment }, column, layer) {
  const kept = column.position >= header.journey.first_kept[layer]
  const newest = column.position >= header.journey.times.at(-1)[0]
  const wide = geo.inset >= 12 ? 3 : geo.inset >= 8 ? 2 : 1.5
  const y = rowTop(geo, layer)
  ctx.globalAlpha = kept ? (newest && !moment ? 1 : 0.5) : 0.1
  ctx.fillStyle = palette.key
  ctx.fillRect(column.x + 2, y, wide, geo.row - 1)
  ctx.fillStyle = palette.value
  ctx.fillRect(column.x + 3 + wide, y, wide, geo.row - 1)
  ctx.globalAlpha = 1
}

/**
 * A few words in a cell, on the cell's own colour.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./geometry.js").Box} box
 * @param {string} text
 * @param {[number, number, number]} colour
 * @param {any} palette
 * @param {number} row
 */
function word(ctx, box, text, colour, palette, row) {
  if (!text) return
  monospaced(ctx, row < 12 ? 13 : 14, 500)
  const fits = ctx.measureText(text).width <= box.width - 2
  if (!fits && box.width < 30) return
  ctx.textAlign = "center"
  ctx.textBaseline = "middle"
  const dark = luminance(`rgb(${colour.join(",")})`) < 0.32
  const light = luminance(palette.ink) > 0.5
  ctx.fillStyle = dark === light ? palette.ink : palette.paper
  ctx.fillText(fits ? text : cut(ctx, text, box.width - 2), box.x + box.width / 2, box.y + box.height / 2 + 0.5)
}

/**
 * The embedding row of the column's token.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {import("../lib/fold.js").Column} column
 */
function paintStripe(ctx, { geo, arrays, palette, scale }, column) {
  const { embeddings } = arrays
  const bins = embeddings.shape[1]
  const table = lookup(palette.diverging)
  const width = column.width - geo.inset - 3
  for (let i = 0; i < bins; i++) {
    const colour = table[stripeShade(embeddings[column.position * bins + i], scale)]
    ctx.fillStyle = `rgb(${colour.join(" ")})`
    ctx.fillRect(column.x + geo.inset + (i * width) / bins, geo.embed, width / bins + 0.3, geo.embedHeight)
  }
}

/**
 * The token's text in its box, and its id above.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {import("../lib/fold.js").Column} column
 */
function paintToken(ctx, scene, column) {
  const { geo, header, palette, moment } = scene
  const { position } = column
  const made = position >= header.prompt
  const coming = isMoving(scene, position) && scene.kind === "step" && (moment?.phase === "draw" || moment?.phase === "carry")
  const box = { x: column.x + geo.inset - 6, y: geo.token, width: column.width - geo.inset + 3, height: geo.label }
  frame(ctx, box, made ? palette.accent : palette.muted, position === scene.position ? 2.5 : 1.25, coming, palette.surface)
  if (position === scene.position) laser(ctx, palette, box.x, box.y, box.width, box.height, 6)
  if (coming) return
  if (geo.ids) {
    ctx.font = `13px ${FACE}`
    ctx.textAlign = "center"
    ctx.textBaseline = "middle"
    ctx.fillStyle = palette.muted
    ctx.fillText(String(header.tokens[position][0]), box.x + box.width / 2, geo.id + 9)
  }
  label(ctx, geo, box, marked(textAt(header, position) ?? ""), made ? palette.accent : palette.ink, 500)
}

/**
 * What leaves a column at the top. Of the prompt only the last one is used; the last column's is lit.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {import("../lib/fold.js").Column} column
 * @param {number} index
 */
function paintPrediction(ctx, scene, column) {
  const { geo, header, palette } = scene
  const { position } = column
  const newest = header.prompt + header.state.step - 1
  const open = scene.moment && scene.moment.phase !== "end"
  const lit = scene.kind === "step" && open ? newest - 1 : newest
  if (scene.before || (isMoving(scene, position) && open)) return
  const taken = position >= header.prompt - 1 ? header.chosen[position - header.prompt + 1] : undefined
  const said = header.journey.predictions[position]
  const used = taken !== undefined
  const text = used ? marked(textAt(header, position + 1) ?? "") : said ? marked(said[0]) : ""
  if (!text) return
  const chance = used ? taken[0] : said[1]
  const box = { x: column.x + geo.inset - 6, y: geo.top, width: column.width - geo.inset + 3, height: geo.label }
  const unused = position < header.prompt - 1
  const colour = position === lit ? palette.paper : unused ? palette.muted : palette.logits
  ctx.globalAlpha = unused ? 0.85 : 1
  const ground = position === lit ? palette.logits : "transparent"
  frame(ctx, box, unused ? palette.muted : palette.logits, unused ? 1 : 1.5, unused, ground)
  label(ctx, geo, box, text, colour, 600, column.width >= 88 ? percent(chance) : "")
  ctx.globalAlpha = 1
}

/**
 * The middle is folded away: three dots, and how many columns they stand for.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 */
function paintFold(ctx, { geo, palette }) {
  const gap = /** @type {{x: number, width: number}} */ (geo.gap)
  const x = gap.x + gap.width / 2
  ctx.fillStyle = palette.muted
  for (let i = -1; i <= 1; i++) {
    ctx.beginPath()
    ctx.arc(x + i * 6, geo.body + geo.bodyHeight / 2, 2, 0, 7)
    ctx.fill()
  }
  ctx.font = `13px ${FACE}`
  ctx.textAlign = "center"
  ctx.textBaseline = "middle"
  ctx.fillText(`+${geo.hidden}`, x, geo.body + geo.bodyHeight / 2 + 16)
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 */
function paintChosen(ctx, { geo, palette, layer, position }) {
  const column = geo.columns.find((one) => one.position === position)
  if (!column) return
  const box = cellBox(geo, column, layer)
  const grow = Math.max(2, (11 - box.height) / 2)
  laser(ctx, palette, box.x - 2, box.y - grow, box.width + 4, box.height + 2 * grow, 4)
}

/**
 * The two groups named below: given, and generated.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 */
function paintCaptions(ctx, { geo, header, palette }) {
  const made = geo.columns.find((column) => column.position >= header.prompt)
  const start = geo.columns[0]
  const narrow = geo.rail < 60
  ctx.font = `14px ${FACE}`
  ctx.textBaseline = "middle"
  ctx.textAlign = "left"
  const first = narrow ? header.labels.group_given_short : header.labels.group_given
  const second = narrow ? header.labels.group_made_short : header.labels.group_made
  const y = geo.caption + 9
  const room = (made ? made.x : geo.width) - start.x - 12
  ctx.fillStyle = palette.muted
  if (start.position < header.prompt) ctx.fillText(fit(ctx, [first, header.labels.group_given_short], room), start.x + 4, y)
  if (!made) return
  ctx.fillStyle = palette.accent
  ctx.fillText(fit(ctx, [second, header.labels.group_made_short], geo.width - made.x - 4), made.x + 4, y)
}

/**
 * The first text that fits.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string[]} texts
 * @param {number} room
 */
function fit(ctx, texts, room) {
  return texts.find((text) => ctx.measureText(text).width <= room) ?? ""
}
