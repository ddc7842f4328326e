// @ts-check
/** The head's table of all pairs three times: scores before the mask, after it, and the weights. Row = query. */
import { bitmap, context, monospaced } from "../lib/canvas.js"
import { h, part, set } from "../lib/dom.js"
import { allowed, largest } from "./numbers.js"
import { fill, number, percent, token } from "./words.js"

const NAMED_UP_TO = 20
const LEFT = 74
const TOP = 62
const WIDEST = 400
const RIGHT = 34 // the last slanted name leans over the table's edge
export const KINDS = ["before", "after", "weights"]

/**
 * @param {HTMLElement} panel
 * @param {import("../attention.js").State} s
 */
export function renderTriangles(panel, s) {
  const row = part(panel, "row", () => h("div", { class: "nta-triangles" }))
  s.top = s.tables.top ??= largest(s.tables.scores)
  for (const kind of KINDS) {
    const box = part(row, kind, () => h("figure", { class: "nta-triangle" }))
    const title = part(box, "title", () => h("figcaption"))
    part(title, "name", () => h("strong")).textContent = s.labels[`triangle_${kind}`]
    part(title, "sub", () => h("span", { class: "nt-muted" })).textContent = s.labels[`triangle_${kind}_sub`]
    const frame = part(box, "frame", () => h("div", { class: "nta-frame", tabindex: "0", role: "application" }))
    const canvas = part(frame, "canvas", () => /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" })))
    set(frame, {
      "aria-label": describe(s, kind), "aria-roledescription": s.labels.triangle_role, "data-kind": kind,
      onpointermove: (/** @type {PointerEvent} */ event) => s.tip(event, told(s, kind, cellAt(s, canvas, event))),
      onpointerleave: (/** @type {PointerEvent} */ event) => s.tip(event, null),
      onclick: (/** @type {MouseEvent} */ event) => {
        const cell = cellAt(s, canvas, event)
        if (cell) s.choose({ position: cell.query }, cell.key)
      },
      onkeydown: (/** @type {KeyboardEvent} */ event) => move(s, event),
    })
    legend(part(box, "legend", () => h("div", { class: "nta-legend nt-muted" })), s, kind)
  }
  const note = part(panel, "blend", () => h("p", { class: "nt-muted nta-note" }))
  note.textContent = s.labels.triangle_blend
  note.hidden = measures(s, row.clientWidth / 3 - 20).cell >= 1
  // Only now do all three share the row, so only now is their width known.
  for (const canvas of row.querySelectorAll("canvas")) paint(canvas, s, canvas.closest(".nta-frame")?.getAttribute("data-kind") ?? "")
}

/**
 * @param {import("../attention.js").State} s
 * @param {number} width
 */
function measures(s, width) {
  const named = s.head.total <= NAMED_UP_TO
  const [left, top, right] = named ? [LEFT, TOP, RIGHT] : [20, 18, 2]
  const room = Math.min(WIDEST, width) - left - right
  const cell = room / s.head.total
  return { named, left, top, right, cell: cell >= 3 ? Math.floor(Math.min(cell, 44)) : cell }
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {import("../attention.js").State} s
 * @param {string} kind
 */
function paint(canvas, s, kind) {
  const width = /** @type {HTMLElement} */ (canvas.parentElement).clientWidth
  if (!width) return
  const { head, colours } = s
  const total = head.total
  const { named, left, top, right, cell } = measures(s, width)
  const side = cell * total
  const ctx = context(canvas, left + side + right, top + side + 2)
  const weights = kind === "weights"
  ctx.imageSmoothingEnabled = cell < 1
  ctx.drawImage(picture(s, weights), left, top, side, side)
  if (kind !== "before") hatch(ctx, s, left, top, cell)
  if (cell >= 8) grid(ctx, total, left, top, cell, colours.paper)
  if (named) names(ctx, s, left, top, cell)
  else axes(ctx, s, left, top, side)
  ctx.strokeStyle = colours.query
  ctx.lineWidth = 2
  ctx.strokeRect(left - 1, top + s.query * cell - 1, side + 2, Math.max(cell, 2) + 2)
  ctx.strokeStyle = colours.key
  ctx.strokeRect(left + s.key * cell - 1, top + s.query * cell - 1, Math.max(cell, 3) + 2, Math.max(cell, 3) + 2)
}

/**
 * The table's pixels: made once for a head and a theme, not again for each chosen cell.
 * @param {import("../attention.js").State} s
 * @param {boolean} weights
 */
function picture(s, weights) {
  const name = `${weights ? "weights" : "scores"} ${s.colours.ramp} ${s.colours.diverging}`
  s.tables.pictures ??= new Map()
  if (!s.tables.pictures.has(name)) {
    const total = s.head.total
    const shades = new Uint8Array(total * total)
    for (let i = 0; i < shades.length; i++) {
      shades[i] = weights ? 255 * Math.sqrt(s.tables.weights[i]) : 127.5 + (127.5 * s.tables.scores[i]) / s.top
    }
    s.tables.pictures.set(name, bitmap(shades, total, total, weights ? s.ramp : s.diverging))
  }
  return s.tables.pictures.get(name)
}

/**
 * Masked cells are outside the scale: covered with lines.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("../attention.js").State} s
 * @param {number} left
 * @param {number} top
 * @param {number} cell
 */
function hatch(ctx, s, left, top, cell) {
  const { head, colours } = s
  const area = new Path2D()
  const right = left + head.total * cell
  area.moveTo(right, top)
  for (let query = 0; query < head.total; query++) {
    area.lineTo(left + (query + 1) * cell, top + query * cell)
    area.lineTo(left + (query + 1) * cell, top + (query + 1) * cell)
  }
  area.closePath()
  for (let query = 0; query < head.total; query++) {
    if (head.first[query]) area.rect(left, top + query * cell, head.first[query] * cell, cell)
  }
  ctx.fillStyle = colours.surface
  ctx.fill(area)
  const lines = document.createElement("canvas")
  Object.assign(lines, { width: 8, height: 8 })
  const pen = /** @type {CanvasRenderingContext2D} */ (lines.getContext("2d"))
  pen.strokeStyle = colours.muted
  pen.globalAlpha = 0.55
  pen.lineWidth = 1
  pen.beginPath()
  for (const shift of [-4, 0, 4, 8]) {
    pen.moveTo(shift - 1, 9)
    pen.lineTo(shift + 9, -1)
  }
  pen.stroke()
  ctx.fillStyle = /** @type {CanvasPattern} */ (ctx.createPattern(lines, "repeat"))
  ctx.fill(area)
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} total
 * @param {number} left
 * @param {number} top
 * @param {number} cell
 * @param {string} paper
 */
function grid(ctx, total, left, top, cell, paper) {
  ctx.fillStyle = paper
  for (let i = 1; i < total; i++) {
    ctx.fillRect(left + i * cell - 0.5, top, 1, total * cell)
    ctx.fillRect(left, top + i * cell - 0.5, total * cell, 1)
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("../attention.js").State} s
 * @param {number} left
 * @param {number} top
 * @param {number} cell
 */
function names(ctx, s, left, top, cell) {
  monospaced(ctx, Math.min(12, Math.max(9, cell * 0.7)))
  ctx.textBaseline = "middle"
  s.header.tokens.forEach((/** @type {string} */ text, /** @type {number} */ at) => {
    ctx.fillStyle = at === s.query ? s.colours.query : s.colours.muted
    ctx.textAlign = "right"
    ctx.fillText(token(text, 9), left - 6, top + (at + 0.5) * cell)
    ctx.save()
    ctx.translate(left + (at + 0.5) * cell, top - 6)
    ctx.rotate(-Math.PI / 4)
    ctx.fillStyle = at === s.key ? s.colours.key : s.colours.muted
    ctx.textAlign = "left"
    ctx.fillText(token(text, 9), 0, 0)
    ctx.restore()
  })
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("../attention.js").State} s
 * @param {number} left
 * @param {number} top
 * @param {number} side
 */
function axes(ctx, s, left, top, side) {
  monospaced(ctx, 11)
  ctx.fillStyle = s.colours.key
  ctx.textAlign = "left"
  ctx.fillText(s.labels.axis_key, left, top - 6)
  ctx.save()
  ctx.translate(left - 8, top + side)
  ctx.rotate(-Math.PI / 2)
  ctx.fillStyle = s.colours.query
  ctx.fillText(s.labels.axis_query, Math.max(0, side - 110), 0)
  ctx.restore()
}

/**
 * @param {import("../attention.js").State} s
 * @param {HTMLCanvasElement} canvas
 * @param {MouseEvent} event
 */
function cellAt(s, canvas, event) {
  const box = canvas.getBoundingClientRect()
  const { left, top, cell } = measures(s, /** @type {HTMLElement} */ (canvas.parentElement).clientWidth)
  const key = Math.floor((event.clientX - box.left - left) / cell)
  const query = Math.floor((event.clientY - box.top - top) / cell)
  const inside = (/** @type {number} */ i) => i >= 0 && i < s.head.total
  return inside(key) && inside(query) ? { query, key } : null
}

/**
 * @param {import("../attention.js").State} s
 * @param {string} kind
 * @param {{query: number, key: number} | null} cell
 */
function told(s, kind, cell) {
  if (!cell) return null
  const { query, key } = cell
  const at = query * s.head.total + key
  const masked = kind !== "before" && !allowed(s.head, query, key)
  const value = masked ? s.labels.masked : kind === "weights" ? percent(s.tables.weights[at]) : number(s.tables.scores[at])
  return fill(s.labels.triangle_tip, {
    query: token(s.header.tokens[query]), q: query, key: token(s.header.tokens[key]), k: key, value,
    what: s.labels[kind === "weights" ? "weight" : "score"],
  })
}

/**
 * @param {import("../attention.js").State} s
 * @param {string} kind
 */
function describe(s, kind) {
  return `${s.labels[`triangle_${kind}`]}. ${s.labels[`triangle_${kind}_sub`]} ${told(s, kind, { query: s.query, key: s.key })}. ${s.labels.triangle_keys}`
}

/**
 * @param {HTMLElement} box
 * @param {import("../attention.js").State} s
 * @param {string} kind
 */
function legend(box, s, kind) {
  const weights = kind === "weights"
  part(box, "low", () => h("span")).textContent = weights ? "0" : number(-s.top)
  const bar = part(box, "bar", () => h("span", { class: "nta-scale" }))
  const stops = weights ? s.colours.ramp : s.colours.diverging
  set(bar, { style: { background: `linear-gradient(to right, ${stops.join(", ")})` } })
  part(box, "high", () => h("span")).textContent = weights ? s.labels.scale_weights : number(s.top)
  const hatched = part(box, "masked", () => h("span", { class: "nta-masked-key" }))
  hatched.textContent = s.labels.masked
  hatched.hidden = kind === "before"
}

/**
 * @param {import("../attention.js").State} s
 * @param {KeyboardEvent} event
 */
function move(s, event) {
  const last = s.head.total - 1
  /** @type {Record<string, [number, number]>} */
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -last], End: [0, last] }
  const by = moves[event.key]
  if (!by || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  event.stopPropagation()
  const inside = (/** @type {number} */ i) => Math.max(0, Math.min(last, i))
  s.choose({ position: inside(s.query + by[0]) }, inside(s.key + by[1]))
}
