// @ts-check
/** The logit lens: a grid of layers × positions, each cell with that layer's best guess for the next token. */
import { context, laser, monospaced, onWidth } from "../lib/canvas.js"
import { h, memory, part, set, visible } from "../lib/dom.js"
import { colours, lookup, luminance } from "../lib/theme.js"
import { fill, percent } from "../generate/format.js"

const ROW = 20
const FOOT = 24
const NARROW = 66
const WIDE = 120
const LETTER = 7.3 // width of a character in the cells' face
const EMIT_AFTER_MS = 160

/** @typedef {{header: any, arrays: any, emit: import("../lib/loader.js").Emit, row: number, column: number,
 *   timer: any, more: any, width: number, scrolled: string}} Memory */

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header see core/components/output.py
 * @param {any} arrays `ids`, `probabilities` (rows, positions, k)
 * @param {import("../lib/loader.js").Emit} emit `choose`, `more`
 */
export function renderLens(root, element, header, arrays, emit) {
  const m = memory(element, () => /** @type {Memory} */ ({
    header, arrays, emit, row: 0, column: 0, timer: null, more: null, width: NARROW, scrolled: "",
  }))
  Object.assign(m, { header, arrays, emit })
  if (m.timer === null) {
    m.column = Math.max(0, header.positions.indexOf(header.position))
    if (m.row >= header.rows.length || Math.max(0, header.rows[m.row] - 1) !== header.layer) m.row = nearest(header.rows, header.layer + 1)
  }
  progress(root, header)
  const frame = part(root, "lens", () => h("div", { class: "nt-out-lens" },
    h("canvas", { "aria-hidden": "true" }),
    h("div", { class: "nt-out-scroll", role: "application", tabindex: "0" }, h("canvas", { "aria-hidden": "true" }))))
  const scroll = /** @type {HTMLElement} */ (frame.lastElementChild)
  const canvas = /** @type {HTMLCanvasElement} */ (scroll.firstElementChild)
  part(root, "said", () => h("p", { class: "nt-readout", "aria-live": "polite" }))
  const tip = part(root, "tip", () => h("div", { class: "nt-tip nt-out-tip", hidden: true }))
  set(scroll, {
    "aria-label": header.labels.lens_title,
    onclick: (/** @type {MouseEvent} */ event) => under(m, canvas, event, (row, column) => choose(root, element, m, row, column, 0)),
    onpointermove: (/** @type {PointerEvent} */ event) => point(root, m, canvas, tip, event),
    onpointerleave: () => (tip.hidden = true),
    onkeydown: (/** @type {KeyboardEvent} */ event) => keys(root, element, m, event),
  })
  onWidth(frame, () => paint(root, element, m))
  clearTimeout(m.more)
  if (!header.complete) m.more = setTimeout(() => m.emit("more", { done: header.done }), 30)
}

/** @param {HTMLElement} element */
export function stopLens(element) {
  const m = memory(element, () => /** @type {any} */ ({}))
  clearTimeout(m.more)
  clearTimeout(m.timer)
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 */
function progress(root, header) {
  const box = part(root, "progress", () => h("label", { class: "nt-out-progress" }, h("span"), h("progress")))
  const [text, bar] = /** @type {any[]} */ ([...box.children])
  box.hidden = header.complete
  text.textContent = fill(header.labels.lens_working, { done: header.done, count: header.rows.length })
  set(bar, { max: header.rows.length, value: header.done })
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {Memory} m
 */
function paint(root, element, m) {
  const frame = /** @type {HTMLElement} */ (root.querySelector(".nt-out-lens"))
  const [left, scroll] = /** @type {HTMLElement[]} */ ([...frame.children])
  const { rows, positions } = m.header
  const room = frame.clientWidth - 64
  if (room <= 0) return
  m.width = Math.max(NARROW, Math.min(WIDE, Math.floor(room / positions.length)))
  const palette = colours(element)
  names(/** @type {HTMLCanvasElement} */ (left), m, palette)
  const ctx = context(/** @type {HTMLCanvasElement} */ (scroll.firstElementChild), m.width * positions.length, rows.length * ROW + FOOT)
  const table = lookup(palette.ramp)
  for (let row = 0; row < rows.length; row++) for (let column = 0; column < positions.length; column++) {
    cell(ctx, m, row, column, table, palette)
  }
  monospaced(ctx, 12)
  ctx.textBaseline = "middle"
  positions.forEach((/** @type {number} */ position, /** @type {number} */ column) => {
    ctx.fillStyle = column === m.column ? palette.accent : palette.ink
    write(ctx, visible(m.header.texts[column]), column * m.width + 4, rows.length * ROW + FOOT / 2, m.width - 8)
  })
  laser(ctx, palette, m.column * m.width + 1, top(m, m.row) + 1, m.width - 2, ROW - 2)
  const place = `${positions.length}:${m.column}`
  if (m.scrolled !== place) { // bring the chosen column into sight once, then leave scrolling to the learner
    m.scrolled = place
    const x = m.column * m.width
    if (x < scroll.scrollLeft || x + m.width > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = x - scroll.clientWidth / 2
  }
  const said = /** @type {HTMLElement} */ (root.querySelector('[data-part="said"]'))
  said.textContent = words(m, m.row, m.column)
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Memory} m
 * @param {number} row
 * @param {number} column
 * @param {[number, number, number][]} table
 * @param {any} palette
 */
function cell(ctx, m, row, column, table, palette) {
  const [x, y] = [column * m.width, top(m, row)]
  const guess = guesses(m, row, column)[0]
  if (!guess) {
    ctx.fillStyle = palette.line
    ctx.fillRect(x + m.width / 2 - 3, y + ROW / 2, 6, 1)
    return
  }
  const shade = table[Math.round(255 * Math.sqrt(guess.probability))]
  const colour = `rgb(${shade.join(",")})`
  ctx.fillStyle = colour
  ctx.fillRect(x, y, m.width - 1, ROW - 1)
  const final = guesses(m, m.header.rows.length - 1, column)[0]
  monospaced(ctx, 12, final && final.id === guess.id ? 700 : 400)
  ctx.textBaseline = "middle"
  ctx.fillStyle = luminance(colour) < 0.35 ? "#ffffff" : "#10161e"
  write(ctx, visible(guess.text), x + 4, y + ROW / 2, m.width - 9)
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Memory} m
 * @param {any} palette
 */
function names(canvas, m, palette) {
  const { rows, layers, labels } = m.header
  const ctx = context(canvas, 60, rows.length * ROW + FOOT)
  ctx.font = '12px "Inter", system-ui, sans-serif'
  ctx.textAlign = "right"
  ctx.textBaseline = "middle"
  rows.forEach((/** @type {number} */ row, /** @type {number} */ i) => {
    ctx.fillStyle = i === m.row ? palette.accent : palette.muted
    ctx.fillText(row === 0 ? labels.lens_start : row === layers ? labels.lens_end : String(row - 1), 54, top(m, i) + ROW / 2)
  })
}

/**
 * Text that fits: cut by letters, and squeezed when its signs are wide.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {number} room
 */
function write(ctx, text, x, y, room) {
  const signs = [...text]
  const fit = Math.max(1, Math.floor(room / LETTER))
  ctx.fillText(signs.length > fit ? `${signs.slice(0, fit - 1).join("")}…` : text, x, y, room)
}

/**
 * The first layer is the lowest row.
 * @param {Memory} m
 * @param {number} row
 */
function top(m, row) {
  return (m.header.rows.length - 1 - row) * ROW
}

/**
 * What is known of a cell: its likeliest tokens, none while it is not computed.
 * @param {Memory} m
 * @param {number} row
 * @param {number} column
 */
function guesses(m, row, column) {
  const [, columns, k] = m.arrays.ids.shape
  const from = (row * columns + column) * k
  return Array.from({ length: k }, (_, i) => {
    const id = m.arrays.ids[from + i]
    return { id, text: m.header.names[id] ?? "", probability: m.arrays.probabilities[from + i] }
  }).filter((guess) => guess.id >= 0)
}

/**
 * @param {Memory} m
 * @param {number} row
 * @param {number} column
 */
function words(m, row, column) {
  const { labels, rows, layers, positions, texts } = m.header
  const where = rows[row] === 0 ? labels.lens_at_start : rows[row] === layers ? labels.lens_at_end : fill(labels.lens_at_layer, { layer: rows[row] - 1 })
  const found = guesses(m, row, column)
  const list = found.map((guess) => `“${visible(guess.text)}” ${percent(guess.probability)}`).join(", ")
  return fill(labels.lens_said, { where, token: visible(texts[column]), position: positions[column], list: list || labels.lens_unknown })
}

/**
 * @param {Memory} m
 * @param {HTMLCanvasElement} canvas
 * @param {MouseEvent} event
 * @param {(row: number, column: number) => void} then
 */
function under(m, canvas, event, then) {
  const box = canvas.getBoundingClientRect()
  const column = Math.floor((event.clientX - box.left) / m.width)
  const row = m.header.rows.length - 1 - Math.floor((event.clientY - box.top) / ROW)
  if (column >= 0 && column < m.header.positions.length && row >= 0 && row < m.header.rows.length) then(row, column)
}

/**
 * @param {HTMLElement} root
 * @param {Memory} m
 * @param {HTMLCanvasElement} canvas
 * @param {HTMLElement} tip
 * @param {PointerEvent} event
 */
function point(root, m, canvas, tip, event) {
  tip.hidden = true
  if (event.pointerType === "touch") return
  under(m, canvas, event, (row, column) => {
    tip.hidden = false
    tip.textContent = words(m, row, column).replaceAll(", “", "\n“")
    const box = root.getBoundingClientRect()
    const left = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4)
    set(tip, { style: { left: `${Math.max(0, left)}px`, top: `${event.clientY - box.top + 16}px` } })
  })
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {KeyboardEvent} event
 */
function keys(root, element, m, event) {
  const [rows, columns] = [m.header.rows.length, m.header.positions.length]
  /** @type {Record<string, [number, number]>} */
  const moves = {
    ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0],
    Home: [0, -columns], End: [0, columns], PageUp: [rows, 0], PageDown: [-rows, 0],
  }
  const move = moves[event.key]
  if (!move || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  event.stopPropagation() // the page's own arrow keys step the run
  const clamp = (/** @type {number} */ value, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, value))
  choose(root, element, m, clamp(m.row + move[0], rows), clamp(m.column + move[1], columns), EMIT_AFTER_MS)
}

/**
 * Light the cell at once; tell the page when the learner has come to rest.
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {number} row
 * @param {number} column
 * @param {number} wait in milliseconds
 */
function choose(root, element, m, row, column, wait) {
  Object.assign(m, { row, column })
  paint(root, element, m)
  clearTimeout(m.timer)
  m.timer = setTimeout(() => {
    m.timer = null
    clearTimeout(m.more) // the answer to this choice asks for more again
    m.emit("choose", { layer: Math.max(0, m.header.rows[row] - 1), position: m.header.positions[column] })
  }, wait)
}

/**
 * @param {number[]} rows
 * @param {number} wanted
 */
function nearest(rows, wanted) {
  let best = 0
  rows.forEach((row, i) => {
    if (Math.abs(row - wanted) < Math.abs(rows[best] - wanted)) best = i
  })
  return best
}
