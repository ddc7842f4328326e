// @ts-check
/** The small grid: positions × layers, one cell lit. Click or arrow keys choose a cell for all pages. */
import { bitmap, context, forgetWidth, laser, monospaced, onWidth } from "./lib/canvas.js"
import { h, memory, part, set, visible } from "./lib/dom.js"
import { columnAt, fold } from "./lib/fold.js"
import { colours, lookup } from "./lib/theme.js"

export const styles = ["small_grid.css"]

const BODY = 78 // height of all layers, in pixels
const TOP = 5
const FOOT = 9
const NAMES = 18 // room for the tokens' own text, where columns are wide enough for it
const NAMED_FROM = 34
const GROUP_GAP = 7
const EMIT_AFTER_MS = 140

/** @typedef {import("./lib/loader.js").Emit} Emit */
/** @typedef {{ header: any, shades: any, emit: Emit, layer: number, position: number,
 *   layout: import("./lib/fold.js").Layout | null, timer: any }} Memory */

/**
 * @param {HTMLElement} element
 * @param {any} header tokens, prompt_length, layer, position, labels
 * @param {any} arrays `shades` (layers, positions), bytes
 * @param {Emit} emit `choose` with {layer, position}
 */
export function render(element, header, arrays, emit) {
  const m = memory(element, () => /** @type {Memory} */ ({
    header, shades: null, emit, layer: 0, position: 0, layout: null, timer: null,
  }))
  Object.assign(m, { header, shades: arrays.shades, emit })
  if (m.timer === null) Object.assign(m, { layer: header.layer, position: header.position })
  const frame = part(element, "frame", () => h("div", {
    class: "nt-small-grid", role: "application", tabindex: "0", "aria-roledescription": "grid",
  }))
  const canvas = part(frame, "canvas", () => /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" })))
  const line = part(element, "line", () => h("div", { class: "nt-small-grid-line" }))
  part(line, "given", () => h("span", { class: "given" }))
  part(line, "made", () => h("span", { class: "made" }))
  part(line, "where", () => h("span", { class: "where", "aria-live": "polite" }))
  const tip = part(element, "tip", () => h("div", { class: "nt-tip", hidden: true }))
  set(frame, {
    "aria-label": header.labels.title,
    onclick: (/** @type {MouseEvent} */ event) => point(element, canvas, event, (cell) => choose(element, m, cell, 0)),
    onpointermove: (/** @type {PointerEvent} */ event) => hover(element, canvas, tip, m, event),
    onpointerleave: () => (tip.hidden = true),
    onkeydown: (/** @type {KeyboardEvent} */ event) => keys(element, m, event),
  })
  onWidth(frame, () => paint(element, m))
}

/** @param {HTMLElement} element */
export function destroy(element) {
  const frame = element.querySelector(".nt-small-grid")
  if (frame) forgetWidth(/** @type {HTMLElement} */ (frame))
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 */
function paint(element, m) {
  const canvas = /** @type {HTMLCanvasElement} */ (element.querySelector("canvas"))
  const width = /** @type {HTMLElement} */ (canvas.parentElement).clientWidth
  if (!width) return
  const [layers, count] = m.shades.shape
  const palette = colours(element)
  const layout = fold(count, width, m.header.prompt_length, m.position, GROUP_GAP)
  m.layout = layout
  const named = (layout.columns[0]?.width ?? 0) >= NAMED_FROM
  const ctx = context(canvas, width, TOP + BODY + FOOT + (named ? NAMES : 0))
  const cells = bitmap(upsideDown(m.shades, layers, count), count, layers, lookup(palette.ramp))
  ctx.imageSmoothingEnabled = false
  const row = BODY / layers
  for (const { position, x, width: w } of layout.columns) {
    const inner = Math.max(1, w - (w > 5 ? 1.5 : w > 3 ? 1 : 0))
    ctx.drawImage(cells, position, 0, 1, layers, x, TOP, inner, BODY)
    ctx.fillStyle = position < m.header.prompt_length ? palette.muted : palette.accent
    ctx.globalAlpha = position === m.position ? 1 : 0.55
    ctx.fillRect(x, TOP + BODY + 4, inner, position === m.position ? 4 : 2)
    ctx.globalAlpha = 1
  }
  if (named) names(ctx, layout, m.header, palette)
  if (row >= 2.4) hairlines(ctx, layout, layers, row, palette.paper)
  if (layout.gap) dots(ctx, layout.gap, palette.muted)
  const lit = layout.columns.find(({ position }) => position === m.position)
  if (lit) {
    const y = TOP + (layers - 1 - m.layer) * row
    const grow = Math.max(0, 7 - row) / 2
    ctx.strokeStyle = palette.laser
    ctx.lineWidth = palette.laserWidth / 2
    ctx.globalAlpha = 0.6
    ctx.strokeRect(lit.x - 1, TOP - 0.5, lit.width + 0.5, BODY + 1)
    ctx.globalAlpha = 1
    laser(ctx, palette, lit.x - 1, y - grow, Math.max(6, lit.width + 0.5), row + 2 * grow)
  }
  words(element, m, layout)
}

/**
 * Layer 0 is the lowest row, the bitmap's first row is its highest.
 * @param {Uint8Array} shades
 * @param {number} layers
 * @param {number} count
 */
function upsideDown(shades, layers, count) {
  const turned = new Uint8Array(shades.length)
  for (let layer = 0; layer < layers; layer++) {
    turned.set(shades.subarray(layer * count, (layer + 1) * count), (layers - 1 - layer) * count)
  }
  return turned
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./lib/fold.js").Layout} layout
 * @param {number} layers
 * @param {number} row
 * @param {string} paper
 */
function hairlines(ctx, layout, layers, row, paper) {
  const end = layout.columns.at(-1)
  if (!end) return
  ctx.fillStyle = paper
  for (let i = 1; i < layers; i++) ctx.fillRect(0, TOP + i * row - 0.25, end.x + end.width, 0.5)
}

/**
 * The tokens under their columns, cut to the column's width.
 * @param {CanvasRenderingContext2D} ctx
 * @param {import("./lib/fold.js").Layout} layout
 * @param {any} header
 * @param {any} palette
 */
function names(ctx, layout, header, palette) {
  monospaced(ctx, 12)
  ctx.textBaseline = "top"
  for (const { position, x, width } of layout.columns) {
    ctx.fillStyle = position < header.prompt_length ? palette.ink : palette.accent
    ctx.fillText(cut(ctx, visible(header.tokens[position] ?? ""), width - 4), x, TOP + BODY + FOOT + 3)
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} width
 */
function cut(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text
  const signs = [...text]
  while (signs.length && ctx.measureText(signs.join("") + "…").width > width) signs.pop()
  return signs.join("") + "…"
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {{x: number, width: number}} gap
 * @param {string} ink
 */
function dots(ctx, gap, ink) {
  ctx.fillStyle = ink
  for (let i = -1; i <= 1; i++) {
    ctx.beginPath()
    ctx.arc(gap.x + gap.width / 2 + i * 6, TOP + BODY / 2, 1.6, 0, 7)
    ctx.fill()
  }
}

/**
 * The line below the cells: which columns are given, which are generated, and the chosen place in words.
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {import("./lib/fold.js").Layout} layout
 */
function words(element, m, layout) {
  const { labels, tokens, prompt_length: given } = m.header
  const [given_, made, where] = /** @type {HTMLElement[]} */ ([...element.querySelectorAll(".nt-small-grid-line span")])
  given_.textContent = fill(labels.given, { count: given.toLocaleString("en-US"), limit: m.header.limit })
  made.textContent = tokens.length > given ? fill(labels.made, { count: tokens.length - given }) : ""
  const folded = layout.hidden ? ` ${fill(labels.folded, { count: layout.hidden })}` : ""
  where.textContent = place(m, m.layer, m.position) + folded
}

/**
 * @param {Memory} m
 * @param {number} layer
 * @param {number} position
 */
function place(m, layer, position) {
  const { labels, tokens } = m.header
  return fill(labels.where, { token: visible(tokens[position] ?? ""), position, layer })
}

/**
 * @param {string} template
 * @param {Record<string, string|number>} values
 */
function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""))
}

/**
 * @param {HTMLElement} element
 * @param {HTMLCanvasElement} canvas
 * @param {MouseEvent} event
 * @param {(cell: {layer: number, position: number}) => void} then
 */
function point(element, canvas, event, then) {
  const m = memory(element, () => /** @type {Memory} */ ({}))
  if (!m.layout) return
  const box = canvas.getBoundingClientRect()
  const position = columnAt(m.layout, event.clientX - box.left)
  if (position === null) return
  const layers = m.shades.shape[0]
  const down = Math.floor(((event.clientY - box.top - TOP) / BODY) * layers)
  then({ position, layer: clamp(layers - 1 - down, layers) })
}

/**
 * @param {HTMLElement} element
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLElement} tip
 * @param {Memory} m
 * @param {PointerEvent} event
 */
function hover(element, canvas, tip, m, event) {
  tip.hidden = true
  if (event.pointerType === "touch") return
  point(element, canvas, event, ({ layer, position }) => {
    tip.hidden = false
    tip.textContent = place(m, layer, position)
    const box = element.getBoundingClientRect()
    const left = Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 4)
    set(tip, { style: { left: `${Math.max(0, left)}px`, top: `${event.clientY - box.top + 16}px` } })
  })
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {KeyboardEvent} event
 */
function keys(element, m, event) {
  const [layers, count] = m.shades.shape
  /** @type {Record<string, [number, number]>} */
  const moves = {
    ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0],
    Home: [0, -count], End: [0, count], PageUp: [layers, 0], PageDown: [-layers, 0],
  }
  const move = moves[event.key]
  if (!move || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  event.stopPropagation() // the page's own arrow keys step the run
  choose(element, m, { layer: clamp(m.layer + move[0], layers), position: clamp(m.position + move[1], count) }, EMIT_AFTER_MS)
}

/**
 * Light the cell at once; tell the page when the learner has come to rest.
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {{layer: number, position: number}} cell
 * @param {number} wait in milliseconds
 */
function choose(element, m, cell, wait) {
  Object.assign(m, cell)
  paint(element, m)
  clearTimeout(m.timer)
  m.timer = setTimeout(() => {
    m.timer = null
    m.emit("choose", { layer: m.layer, position: m.position })
  }, wait)
}

/**
 * @param {number} value
 * @param {number} count
 */
function clamp(value, count) {
  return Math.max(0, Math.min(count - 1, value))
}
