// @ts-check
/** The run to scale: time runs to the right, tokens run down. Prefill is one tall block, a decode step one thin one. */
import { context, monospaced, onWidth } from "../lib/canvas.js"
import { h, memory, part, set } from "../lib/dom.js"
import { colours } from "../lib/theme.js"
import { fill, marked } from "../generate/format.js"
import { passAt, rowHeights, rowOf, span, ticks } from "./layout.js"

const TOP = 34 // the time axis, and the marks that are read off it
const FOOT = 6
const LETTER = 7.3
const GAP_FOR_NAME = 12 // rows lower than this get no name

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {number} chosen
 * @param {(index: number) => void} choose
 */
export function renderChart(root, element, header, chosen, choose) {
  const frame = part(root, "frame", () => h("div", { class: "nt-time-frame" },
    h("canvas", { role: "img", tabindex: "0" })))
  const canvas = /** @type {HTMLCanvasElement} */ (frame.firstElementChild)
  part(root, "said", () => h("p", { class: "nt-readout", "aria-live": "polite" }))
  const m = memory(frame, () => ({ pointed: /** @type {number | null} */ (null) }))
  const draw = () => paint(root, element, canvas, header, chosen, m.pointed)
  const under = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect()
    const place = places(header, box.width)
    return passAt(header.passes, (event.clientX - box.left - place.left) / place.scale)
  }
  set(canvas, {
    "aria-label": header.labels.chart_alt,
    onclick: (/** @type {MouseEvent} */ event) => choose(under(event)),
    onpointermove: (/** @type {PointerEvent} */ event) => {
      const at = under(event)
      if (at !== m.pointed && event.pointerType !== "touch") {
        m.pointed = at
        draw()
      }
    },
    onpointerleave: () => {
      m.pointed = null
      draw()
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const last = header.passes.length - 1
      /** @type {Record<string, number>} */
      const goals = { ArrowLeft: chosen - 1, ArrowUp: chosen - 1, ArrowRight: chosen + 1, ArrowDown: chosen + 1, Home: 0, End: last }
      if (!(event.key in goals) || event.altKey || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      event.stopPropagation() // the page's own arrow keys step the run
      choose(Math.max(0, Math.min(last, goals[event.key])))
    },
  })
  onWidth(frame, (width) => width > 0 && draw())
}

/**
 * @param {any} header
 * @param {number} width
 */
function places(header, width) {
  const left = width < 520 ? 84 : 128
  return { left, scale: (width - left - 12) / header.total }
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {HTMLCanvasElement} canvas
 * @param {any} header
 * @param {number} chosen
 * @param {number | null} pointed
 */
function paint(root, element, canvas, header, chosen, pointed) {
  const width = /** @type {HTMLElement} */ (canvas.parentElement).clientWidth
  const { passes, prompt, tokens } = header
  const heights = rowHeights(prompt, tokens.length - prompt)
  const last = rowOf(tokens.length - 1, prompt, heights)
  const height = TOP + last.y + last.height + FOOT
  const ctx = context(canvas, width, height)
  const palette = colours(element)
  const { left, scale } = places(header, width)
  axis(ctx, header, palette, left, scale, height)
  names(ctx, header, palette, left, heights, chosen)
  passes.forEach((/** @type {any} */ pass, /** @type {number} */ index) => {
    const first = rowOf(pass.start, prompt, heights)
    const end = rowOf(pass.end - 1, prompt, heights)
    const [x, y] = [left + pass.from * scale, TOP + first.y]
    const [w, tall] = [Math.max(1, pass.seconds * scale), end.y + end.height - first.y - 1]
    ctx.fillStyle = index ? palette.key : palette.residual
    ctx.fillRect(x, y, w, tall)
    if (!index && heights.prompt >= SEAM) seams(ctx, x, y, w, prompt, heights.prompt, palette)
    if (pass.choose !== null) {
      ctx.fillStyle = palette.accent
      ctx.fillRect(x + w, y, Math.max(1.5, pass.choose * scale), tall)
    }
    if (index === chosen || index === pointed) {
      ctx.strokeStyle = index === chosen ? palette.accent : palette.ink
      ctx.lineWidth = 2
      ctx.strokeRect(x - 1.5, y - 1.5, w + 3, tall + 3)
    }
  })
  if (header.tokenise > 0) {
    ctx.fillStyle = palette.muted
    ctx.fillRect(left, TOP, Math.max(1, header.tokenise * scale), prompt * heights.prompt - 1)
  }
  marks(ctx, header, palette, left, scale, width)
  const said = /** @type {HTMLElement} */ (root.querySelector('[data-part="said"]'))
  said.textContent = words(header, pointed ?? chosen)
}

const SEAM = 5

/**
 * Lines between the rows of the prefill: as many tokens as rows, all in the same stretch of time.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} count
 * @param {number} row
 * @param {any} palette
 */
function seams(ctx, x, y, w, count, row, palette) {
  ctx.fillStyle = palette.paper
  for (let i = 1; i < count; i++) ctx.fillRect(x, y + i * row - 1, w, 1)
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {any} header
 * @param {any} palette
 * @param {number} left
 * @param {number} scale
 * @param {number} height
 */
function axis(ctx, header, palette, left, scale, height) {
  ctx.font = '12px "Inter", system-ui, sans-serif'
  ctx.textBaseline = "alphabetic"
  const room = header.total * scale
  for (const at of ticks(header.total, room / 90)) {
    const x = left + at * scale
    ctx.fillStyle = palette.line
    ctx.fillRect(x, TOP - 5, 1, height - TOP)
    ctx.fillStyle = palette.muted
    ctx.textAlign = at === 0 ? "left" : x > left + room - 24 ? "right" : "center"
    ctx.fillText(at === 0 ? "0" : span(at), x, TOP - 20)
  }
}

/**
 * The tokens' names beside their rows. Where rows are too low for each to have one, a name says its position.
 * @param {CanvasRenderingContext2D} ctx
 * @param {any} header
 * @param {any} palette
 * @param {number} left
 * @param {{prompt: number, answer: number}} heights
 * @param {number} chosen
 */
function names(ctx, header, palette, left, heights, chosen) {
  ctx.textBaseline = "middle"
  ctx.textAlign = "right"
  let [free, named] = [-Infinity, -1]
  const { tokens, prompt, passes } = header
  const fit = Math.floor((left - 14) / LETTER)
  for (let position = 0; position < tokens.length; position++) {
    const row = rowOf(position, prompt, heights)
    const y = TOP + row.y + row.height / 2
    if (y < free) continue
    free = y + GAP_FOR_NAME
    const lit = position >= passes[chosen].start && position < passes[chosen].end
    monospaced(ctx, 12, lit ? 600 : 400)
    ctx.fillStyle = lit ? palette.ink : palette.muted
    const signs = [...marked(tokens[position])]
    const place = position === named + 1 ? "" : ` (${position})`
    const room = fit - place.length
    const name = signs.length > room ? `${signs.slice(0, room - 1).join("")}…` : signs.join("")
    ctx.fillText(name + place, left - 8, y, left - 12)
    named = position
  }
}

/**
 * Time to first token and the time to the second one, as spans over the axis.
 * @param {CanvasRenderingContext2D} ctx
 * @param {any} header
 * @param {any} palette
 * @param {number} left
 * @param {number} scale
 * @param {number} width
 */
function marks(ctx, header, palette, left, scale, width) {
  if (header.ttft === null) return
  const { labels, passes } = header
  const end = left + header.ttft * scale
  const free = mark(ctx, palette, palette.accent, left, end, fill(labels.ttft_mark, { time: span(header.ttft) }), width)
  const next = passes[1]
  if (!next || next.choose === null || free > end + 4) return
  const [from, to] = [left + next.from * scale, left + (next.from + next.seconds + next.choose) * scale]
  mark(ctx, palette, palette.key, from, to, fill(labels.gap_mark, { time: span(next.seconds + next.choose) }), width)
}

/**
 * A span with its words, on it where they fit, else behind it. Returns where the words end.
 * @param {CanvasRenderingContext2D} ctx
 * @param {any} palette
 * @param {string} colour
 * @param {number} from
 * @param {number} to
 * @param {string} text
 * @param {number} width
 */
function mark(ctx, palette, colour, from, to, text, width) {
  bracket(ctx, colour, from, to)
  ctx.font = '600 12px "Inter", system-ui, sans-serif'
  ctx.textBaseline = "middle"
  const wide = ctx.measureText(text).width
  const x = wide < to - from - 12 ? from + 6 : Math.min(to + 6, width - wide - 4)
  ctx.textAlign = "left"
  ctx.fillStyle = palette.paper
  ctx.fillRect(x - 2, TOP - 16, wide + 4, 11)
  ctx.fillStyle = colour
  ctx.fillText(text, x, TOP - 10)
  return x + wide
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} colour
 * @param {number} from
 * @param {number} to
 */
function bracket(ctx, colour, from, to) {
  ctx.fillStyle = colour
  ctx.fillRect(from, TOP - 10, Math.max(1, to - from), 2)
  ctx.fillRect(from, TOP - 14, 2, 10)
  ctx.fillRect(to - 1, TOP - 14, 2, 10)
}

/**
 * @param {any} header
 * @param {number} index
 */
function words(header, index) {
  const { labels, passes, tokens } = header
  const pass = passes[index]
  const choice = pass.choose === null ? labels.said_no_choice : fill(labels.said_choice, { time: span(pass.choose) })
  const values = { time: span(pass.seconds), count: pass.end - pass.start, token: marked(tokens[pass.start]), position: pass.start, index, choice }
  return fill(index ? labels.said_decode : pass.end === 1 ? labels.said_prefill_one : labels.said_prefill, values)
}
