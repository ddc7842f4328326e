// @ts-check
/** Two grids, keys and values: columns are tokens, rows are layers from bottom to top, darker is a longer vector. */
import { bitmap, context, laser, monospaced, onWidth } from "../lib/canvas.js"
import { h, memory, part, set } from "../lib/dom.js"
import { number } from "../lib/numbers.js"
import { colours, lookup } from "../lib/theme.js"
import { fill, marked } from "../generate/format.js"
import { bins, range, shades } from "./pool.js"

const LEFT = 30
const FOOT = 22
const LETTER = 7.3
const TALLEST = 300

/** @typedef {{layer: number, position: number}} Place */
/** @typedef {{choose: (layer: number, position: number) => void, look: (layer: number, position: number) => void}} Hands */

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays
 * @param {Place} place
 * @param {Hands} hands
 */
export function renderGrids(root, element, header, arrays, place, hands) {
  const pair = part(root, "pair", () => h("div", { class: "nt-kv-pair" }))
  const said = part(root, "said", () => h("p", { class: "nt-readout", "aria-live": "polite" }))
  const tell = (/** @type {Place} */ at) => (said.textContent = words(header, arrays, at))
  for (const kind of ["keys", "values"]) one(pair, kind, element, header, arrays, place, hands, tell)
  tell(place)
}

/**
 * @param {HTMLElement} pair
 * @param {string} kind
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays
 * @param {Place} place
 * @param {Hands} hands
 * @param {(at: Place) => void} tell
 */
function one(pair, kind, element, header, arrays, place, hands, tell) {
  const { labels } = header
  const box = part(pair, kind, () => h("div", {}, h("h3", { class: kind }), h("div", { class: "nt-kv-frame" }, h("canvas", { role: "application", tabindex: kind === "keys" ? "0" : "-1" })), h("small", { class: "nt-muted" })))
  const [title, frame, note] = /** @type {HTMLElement[]} */ ([...box.children])
  const canvas = /** @type {HTMLCanvasElement} */ (frame.firstElementChild)
  title.textContent = labels[`${kind}_title`]
  const m = memory(frame, () => ({ layout: bins(1, 1), row: 10 }))
  onWidth(frame, (width) => {
    if (width <= 0) return
    const columns = header.tokens.length
    m.layout = bins(columns, width - LEFT)
    m.row = Math.max(5, Math.min(14, TALLEST / header.layers))
    paint(canvas, kind, element, header, arrays[kind], place, m.layout, m.row, width)
    note.textContent = m.layout.together > 1 ? fill(labels.pooled, { count: m.layout.together, tokens: columns }) : ""
  })
  const under = (/** @type {MouseEvent} */ event) => {
    const area = canvas.getBoundingClientRect()
    const column = Math.floor((event.clientX - area.left - LEFT) / m.layout.cell)
    const layer = header.layers - 1 - Math.floor((event.clientY - area.top) / m.row)
    const position = Math.min(header.tokens.length - 1, column * m.layout.together)
    return column >= 0 && column < m.layout.count && layer >= 0 && layer < header.layers ? { layer, position } : null
  }
  set(canvas, {
    "aria-label": fill(labels.grid_alt, { what: labels[`${kind}_title`] }),
    onclick: (/** @type {MouseEvent} */ event) => {
      const at = under(event)
      if (at) hands.choose(at.layer, at.position)
    },
    onpointermove: (/** @type {PointerEvent} */ event) => {
      const at = event.pointerType === "touch" ? null : under(event)
      tell(at ?? place)
      if (at) hands.look(at.layer, at.position)
    },
    onpointerleave: () => {
      tell(place)
      hands.look(place.layer, place.position)
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => keys(event, header, place, m.layout.together, hands.choose),
  })
}

/**
 * @param {KeyboardEvent} event
 * @param {any} header
 * @param {Place} place
 * @param {number} step
 * @param {(layer: number, position: number) => void} choose
 */
function keys(event, header, place, step, choose) {
  const columns = header.tokens.length
  /** @type {Record<string, [number, number]>} */
  const moves = {
    ArrowLeft: [0, -step], ArrowRight: [0, step], ArrowUp: [1, 0], ArrowDown: [-1, 0],
    Home: [0, -columns], End: [0, columns], PageUp: [header.layers, 0], PageDown: [-header.layers, 0],
  }
  const move = moves[event.key]
  if (!move || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  event.stopPropagation() // the page's own arrow keys step the run
  const inside = (/** @type {number} */ value, /** @type {number} */ count) => Math.max(0, Math.min(count - 1, value))
  choose(inside(place.layer + move[0], header.layers), inside(place.position + move[1], columns))
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {string} kind
 * @param {HTMLElement} element
 * @param {any} header
 * @param {Float32Array} lengths
 * @param {Place} place
 * @param {ReturnType<typeof bins>} layout
 * @param {number} row
 * @param {number} width
 */
function paint(canvas, kind, element, header, lengths, place, layout, row, width) {
  const { layers, tokens } = header
  const palette = colours(element)
  const colour = kind === "keys" ? palette.key : palette.value
  const ctx = context(canvas, width, layers * row + FOOT)
  const cells = shades(lengths, layers, tokens.length, layout, range(lengths))
  const table = lookup([palette.surface, colour])
  ctx.imageSmoothingEnabled = false
  ctx.drawImage(bitmap(cells, layout.count, layers, table), LEFT, 0, layout.cell * layout.count, layers * row)
  dropped(ctx, cells, layout, row, layers, palette)
  lines(ctx, layout, row, layers, palette)
  prefilled(ctx, header, layout, row, palette)
  names(ctx, header, place, layout, row, palette)
  const column = Math.floor(place.position / layout.together)
  laser(ctx, palette, LEFT + column * layout.cell - 1, (layers - 1 - place.layer) * row - 1, layout.cell + 2, row + 2)
}

/**
 * Cells whose columns a sliding window has dropped: paper with a stroke through it.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Int16Array} cells
 * @param {ReturnType<typeof bins>} layout
 * @param {number} row
 * @param {number} layers
 * @param {any} palette
 */
function dropped(ctx, cells, layout, row, layers, palette) {
  ctx.strokeStyle = palette.muted
  ctx.lineWidth = 1
  for (let y = 0; y < layers; y++) for (let x = 0; x < layout.count; x++) {
    if (cells[y * layout.count + x] >= 0) continue
    ctx.fillStyle = palette.paper
    ctx.fillRect(LEFT + x * layout.cell, y * row, layout.cell, row)
    ctx.beginPath()
    ctx.moveTo(LEFT + x * layout.cell + 1, (y + 1) * row - 1)
    ctx.lineTo(LEFT + (x + 1) * layout.cell - 1, y * row + 1)
    ctx.stroke()
  }
}

/**
 * Seams between wide cells, so that columns can be counted.
 * @param {CanvasRenderingContext2D} ctx
 * @param {ReturnType<typeof bins>} layout
 * @param {number} row
 * @param {number} layers
 * @param {any} palette
 */
function lines(ctx, layout, row, layers, palette) {
  ctx.fillStyle = palette.paper
  if (layout.cell >= 6) for (let x = 1; x < layout.count; x++) ctx.fillRect(LEFT + x * layout.cell - 1, 0, 1, layers * row)
  if (row >= 7) for (let y = 1; y < layers; y++) ctx.fillRect(LEFT, y * row - 1, layout.cell * layout.count, 1)
}

/**
 * Where the prompt ends, and a frame around the columns that the last pass added.
 * @param {CanvasRenderingContext2D} ctx
 * @param {any} header
 * @param {ReturnType<typeof bins>} layout
 * @param {number} row
 * @param {any} palette
 */
function prefilled(ctx, header, layout, row, palette) {
  const tall = header.layers * row
  const at = (/** @type {number} */ position) => LEFT + (position / layout.together) * layout.cell
  ctx.fillStyle = palette.ink
  if (header.prompt < header.tokens.length) ctx.fillRect(at(header.prompt) - 1, 0, 1.5, tall + 5)
  ctx.fillRect(at(header.new_from), tall + 2, Math.max(2, at(header.tokens.length) - at(header.new_from) - 1), 2.5)
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {any} header
 * @param {Place} place
 * @param {ReturnType<typeof bins>} layout
 * @param {number} row
 * @param {any} palette
 */
function names(ctx, header, place, layout, row, palette) {
  const { layers, tokens } = header
  ctx.font = '11px "Inter", system-ui, sans-serif'
  ctx.textBaseline = "middle"
  ctx.textAlign = "right"
  const every = Math.ceil(layers / Math.max(2, Math.floor((layers * row) / 40)))
  for (let layer = 0; layer < layers; layer++) {
    if (layer !== place.layer && (layer % every || Math.abs(layer - place.layer) * row < 11)) continue
    ctx.fillStyle = layer === place.layer ? palette.accent : palette.muted
    ctx.fillText(String(layer), LEFT - 6, (layers - 0.5 - layer) * row)
  }
  monospaced(ctx, 12)
  ctx.textAlign = "left"
  const y = layers * row + FOOT / 2 + 3
  const width = layout.cell * layout.count
  const fit = Math.max(4, Math.floor(width / LETTER))
  const text = `${marked(tokens[place.position])} (${place.position})`
  const shown = [...text].slice(0, fit).join("")
  const x = LEFT + Math.floor(place.position / layout.together) * layout.cell
  const wide = ctx.measureText(shown).width
  ctx.fillStyle = palette.accent
  ctx.fillText(shown, Math.max(LEFT, Math.min(x, LEFT + Math.max(width, wide) - wide)), y)
}

/**
 * @param {any} header
 * @param {any} arrays
 * @param {Place} at
 */
function words(header, arrays, at) {
  const { labels, tokens, windows } = header
  const index = at.layer * tokens.length + at.position
  const values = { token: marked(tokens[at.position] ?? ""), position: at.position, layer: at.layer, k: number(arrays.keys[index]), v: number(arrays.values[index]) }
  const text = arrays.keys[index] < 0
    ? fill(labels.said_dropped, { ...values, window: windows[at.layer] })
    : fill(labels.said_cell, values)
  return windows[at.layer] === null ? text : `${text} ${fill(labels.said_window, { window: windows[at.layer] })}`
}
