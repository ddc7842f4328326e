// @ts-check
/** The grid: tokens × layers, each cell coloured by the experts that the token was sent to. */
import { context, laser, monospaced, onWidth } from "../lib/canvas.js"
import { h, part, set, visible } from "../lib/dom.js"
import { colours } from "../lib/theme.js"
import { fill, percent, token } from "../attention/words.js"
import { looks, mark } from "./look.js"
import { chosenAt, columnWidth, isNarrow, pieces } from "./numbers.js"
import { place } from "./place.js"

const LEFT = 34
const TOP = 4
const UPRIGHT_FROM = 34 // narrower columns write their token from bottom to top
const NAMED_FROM = 11
const NUMBERS_FROM = 13

/** @typedef {import("../experts.js").State} State */

/**
 * @param {HTMLElement} panel
 * @param {State} s
 * @returns {HTMLElement} the frame that scrolls
 */
export function renderGrid(panel, s) {
  const frame = part(panel, "frame", () => h("div", { class: "ntx-frame", tabindex: "0", role: "application" }))
  const inner = part(frame, "inner", () => h("div", { class: "ntx-inner" }))
  part(inner, "canvas", () => h("canvas", { "aria-hidden": "true" }))
  set(frame, {
    "aria-label": s.labels.grid_alt, "aria-roledescription": s.labels.grid_role,
    onscroll: () => paint(frame, s),
    onclick: (/** @type {PointerEvent} */ event) => {
      const at = under(frame, s, event)
      if (at) s.choose(at, 0)
    },
    onpointermove: (/** @type {PointerEvent} */ event) => s.tip(event, words(s, under(frame, s, event))),
    onpointerleave: (/** @type {PointerEvent} */ event) => s.tip(event, null),
    onkeydown: (/** @type {KeyboardEvent} */ event) => keys(event, s),
  })
  onWidth(frame, () => paint(frame, s))
  return frame
}

/**
 * Whether spreading out would change anything, and whether cells are too narrow for all their experts.
 * @param {HTMLElement} frame
 * @param {State} s
 */
export function roomOf(frame, s) {
  const [fitting, spread] = [false, true].map((wide) => columnWidth(s.routing.total, roomIn(frame.clientWidth), wide))
  return { spreads: spread > fitting, narrow: isNarrow((s.spread ? spread : fitting) - 1) }
}

/** @param {number} width of the frame; what is left of it for columns */
function roomIn(width) {
  return width - LEFT - 4
}

/**
 * @param {State} s
 * @param {number} width
 */
function measures(s, width) {
  const { total } = s.routing
  const column = columnWidth(total, roomIn(width), s.spread)
  const row = s.header.n_layers > 20 ? 15 : 20
  const foot = column >= UPRIGHT_FROM ? 22 : column >= NAMED_FROM ? 78 : 12
  return { column, row, foot, height: TOP + row * s.header.n_layers + foot }
}

/**
 * @param {HTMLElement} frame
 * @param {State} s
 */
function paint(frame, s) {
  const width = frame.clientWidth
  if (!width) return
  const { column, row, foot, height } = measures(s, width)
  const inner = /** @type {HTMLElement} */ (frame.firstElementChild)
  set(inner, { style: { width: `${Math.max(width, LEFT + column * s.routing.total + 2)}px`, height: `${height}px` } })
  keepInSight(frame, s, column)
  const ctx = context(/** @type {HTMLCanvasElement} */ (inner.firstElementChild), width, height)
  const palette = colours(s.element)
  const from = Math.floor(frame.scrollLeft / column)
  const to = Math.min(s.routing.total, Math.ceil((frame.scrollLeft + width - LEFT) / column))
  ctx.save()
  ctx.beginPath()
  ctx.rect(LEFT - 2, 0, width - LEFT + 2, height)
  ctx.clip()
  ctx.translate(LEFT - frame.scrollLeft, TOP)
  for (let position = from; position < to; position++) {
    for (let layer = 0; layer < s.header.n_layers; layer++) {
      cell(ctx, s, layer, position, position * column, (s.header.n_layers - 1 - layer) * row, column, row, palette)
    }
    name(ctx, s, position, column, s.header.n_layers * row, foot, palette)
  }
  const given = s.header.prompt_length
  if (given < s.routing.total) {
    ctx.fillStyle = palette.accent
    ctx.fillRect(given * column - 1.5, -TOP, 2, s.header.n_layers * row + TOP + 4)
  }
  lit(ctx, s, column, row, palette)
  ctx.restore()
  rows(ctx, s, row, palette)
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {State} s
 * @param {number} layer
 * @param {number} position
 * @param {number} x
 * @param {number} y
 * @param {number} column
 * @param {number} row
 * @param {any} palette
 */
function cell(ctx, s, layer, position, x, y, column, row, palette) {
  const chosen = chosenAt(s.routing, layer, position)
  const gap = column > 5 ? 1 : 0
  if (!chosen) {
    ctx.fillStyle = palette.line
    ctx.fillRect(x, y + row / 2 - 1, column - gap, 2)
    return
  }
  const { fills, inks } = looks(s.element)
  const { expert: sought } = place()
  for (const { expert, x: at, width } of pieces(chosen, column - gap, sought)) {
    const shade = expert % fills.length
    ctx.globalAlpha = sought === null || sought === expert ? 1 : 0.16
    ctx.fillStyle = fills[shade]
    ctx.fillRect(x + at, y, width, row - 1)
    if (width >= NUMBERS_FROM && row >= 14) {
      ctx.fillStyle = sought === null || sought === expert ? inks[shade] : palette.ink
      monospaced(ctx, 10.5, 500)
      ctx.textBaseline = "middle"
      ctx.textAlign = "center"
      ctx.fillText(String(expert), x + at + width / 2, y + row / 2)
    } else mark(ctx, expert, x + at, y, width, row - 1, inks[shade])
  }
  ctx.globalAlpha = 1
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {State} s
 * @param {number} position
 * @param {number} column
 * @param {number} y
 * @param {number} foot
 * @param {any} palette
 */
function name(ctx, s, position, column, y, foot, palette) {
  const at = place()
  ctx.fillStyle = position === at.position ? palette.accent : position < s.header.prompt_length ? palette.ink : palette.accent
  ctx.textAlign = "left"
  ctx.textBaseline = "middle"
  monospaced(ctx, 12, position === at.position ? 700 : 400)
  const x = position * column
  if (column >= UPRIGHT_FROM) ctx.fillText(cut(ctx, s.header.tokens[position], column - 3), x + 1, y + 12)
  else if (column >= NAMED_FROM) {
    ctx.save()
    ctx.translate(x + column / 2, y + foot - 2)
    ctx.rotate(-Math.PI / 2)
    ctx.textAlign = "right"
    const text = cut(ctx, s.header.tokens[position], foot - 8)
    ctx.fillText(text, foot - 6, 0)
    ctx.restore()
  } else {
    ctx.globalAlpha = position === at.position ? 1 : 0.4
    ctx.fillRect(x, y + 3, Math.max(1, column - 1), 3)
    ctx.globalAlpha = 1
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} width
 */
function cut(ctx, text, width) {
  const whole = visible(text)
  if (ctx.measureText(whole).width <= width) return whole
  const signs = [...whole]
  while (signs.length && ctx.measureText(`${signs.join("")}…`).width > width) signs.pop()
  return `${signs.join("")}…`
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {State} s
 * @param {number} column
 * @param {number} row
 * @param {any} palette
 */
function lit(ctx, s, column, row, palette) {
  const { layer, position } = place()
  const x = position * column
  ctx.strokeStyle = palette.ink
  ctx.lineWidth = 1
  ctx.strokeRect(x - 1, -1.5, column + 1, s.header.n_layers * row + 2)
  laser(ctx, palette, x - 1.5, (s.header.n_layers - 1 - layer) * row - 1.5, Math.max(5, column + 2), row + 2)
}

/**
 * The numbers of the layers at the left side.
 * @param {CanvasRenderingContext2D} ctx
 * @param {State} s
 * @param {number} row
 * @param {any} palette
 */
function rows(ctx, s, row, palette) {
  const chosen = place().layer
  ctx.textAlign = "right"
  ctx.textBaseline = "middle"
  for (let layer = 0; layer < s.header.n_layers; layer++) {
    const near = Math.abs(layer - chosen) === 1
    if (layer !== chosen && (layer % 5 || near)) continue
    ctx.font = `${layer === chosen ? 700 : 400} 12px Inter, system-ui, sans-serif`
    ctx.fillStyle = layer === chosen ? palette.accent : palette.muted
    ctx.fillText(String(layer), LEFT - 8, TOP + (s.header.n_layers - 1 - layer + 0.5) * row)
  }
}

/**
 * Scroll so that the chosen column is seen, when the choice has moved since the last time.
 * @param {HTMLElement} frame
 * @param {State} s
 * @param {number} column
 */
function keepInSight(frame, s, column) {
  const { position } = place()
  const sign = `${position}/${column}`
  if (s.scrolled === sign) return
  s.scrolled = sign
  const x = position * column
  const room = frame.clientWidth - LEFT
  if (x < frame.scrollLeft || x + column > frame.scrollLeft + room) frame.scrollLeft = Math.max(0, x - room * 0.6)
}

/**
 * @param {HTMLElement} frame
 * @param {State} s
 * @param {PointerEvent} event
 */
function under(frame, s, event) {
  const box = frame.getBoundingClientRect()
  const { column, row } = measures(s, frame.clientWidth)
  const position = Math.floor((event.clientX - box.left + frame.scrollLeft - LEFT) / column)
  const layer = s.header.n_layers - 1 - Math.floor((event.clientY - box.top - TOP) / row)
  const inside = position >= 0 && position < s.routing.total && layer >= 0 && layer < s.header.n_layers
  return inside && event.clientX - box.left > LEFT - 4 ? { layer, position } : null
}

/**
 * @param {State} s
 * @param {{layer: number, position: number} | null} at
 */
function words(s, at) {
  if (!at) return null
  const chosen = chosenAt(s.routing, at.layer, at.position)
  const values = { token: token(s.header.tokens[at.position]), position: at.position, layer: at.layer }
  if (!chosen) return fill(s.labels.tip_dense, values)
  const experts = chosen.map(({ expert, weight }) => `${expert} (${percent(weight)})`).join(", ")
  return fill(s.labels.tip_cell, { ...values, experts })
}

/**
 * @param {KeyboardEvent} event
 * @param {State} s
 */
function keys(event, s) {
  const { layer, position } = place()
  /** @type {Record<string, {layer: number, position: number}>} */
  const to = {
    ArrowLeft: { layer, position: position - 1 }, ArrowRight: { layer, position: position + 1 },
    ArrowUp: { layer: layer + 1, position }, ArrowDown: { layer: layer - 1, position },
    Home: { layer, position: 0 }, End: { layer, position: s.routing.total - 1 },
  }
  if (!(event.key in to) || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  event.stopPropagation() // the page's own arrow keys step the run
  const goal = to[event.key]
  s.choose({
    layer: Math.max(0, Math.min(s.header.n_layers - 1, goal.layer)),
    position: Math.max(0, Math.min(s.routing.total - 1, goal.position)),
  })
}
