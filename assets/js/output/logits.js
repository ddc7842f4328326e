// @ts-check
/** All logits of one position: histogram, highest and lowest, softmax of one token, and a constant to add. */
import { context, onWidth } from "../lib/canvas.js"
import { renderBarList } from "../lib/bar-list.js"
import { h, memory, part, set, visible } from "../lib/dom.js"
import { number } from "../lib/numbers.js"
import { colours } from "../lib/theme.js"
import { fill, percent, whole } from "../generate/format.js"
import { histogram, largestDifference, range, softmax } from "./numbers.js"

const BINS = 90
const REACH = 10 // the constant goes from −REACH to REACH
const SHOWN = 10
const HEIGHT = 170
const FOOT = 22

/** @typedef {{constant: number, logits: Float32Array | null, base: ReturnType<typeof softmax> | null}} Memory */

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays `logits` (V)
 * @param {import("../lib/loader.js").Emit} emit
 */
export function renderLogits(root, element, header, arrays, emit) {
  const m = memory(root, () => /** @type {Memory} */ ({ constant: 0, logits: null, base: null }))
  const { labels } = header
  const logits = /** @type {Float32Array} */ (arrays.logits)
  if (m.logits !== logits) Object.assign(m, { logits, base: softmax(logits, 0) })
  const again = () => renderLogits(root, element, header, arrays, emit)
  const base = /** @type {ReturnType<typeof softmax>} */ (m.base)
  const now = m.constant ? softmax(logits, m.constant) : base
  slider(root, labels, m, again)
  const frame = part(root, "histogram", () => h("div", { class: "nt-out-frame" }, h("canvas", { role: "img" })))
  onWidth(frame, (width) => paintHistogram(frame, element, header, logits, m.constant, width))
  const two = part(root, "two", () => h("div", { class: "nt-two" }))
  scores(part(two, "scores", () => h("div", {})), header, logits, m.constant, emit)
  chances(part(two, "chances", () => h("div", {})), header, now, emit)
  worked(root, header, logits, m.constant, now, base)
}

/**
 * @param {HTMLElement} root
 * @param {Record<string, string>} labels
 * @param {Memory} m
 * @param {() => void} again
 */
function slider(root, labels, m, again) {
  const box = part(root, "slider", () => h("label", { class: "nt-out-slider" },
    h("span"), h("input", { type: "range", min: -REACH, max: REACH, step: 0.5, value: 0 }), h("output")))
  const [name, input, output] = /** @type {any[]} */ ([...box.children])
  name.textContent = labels.logits_constant
  input.value = String(m.constant)
  output.textContent = `${m.constant > 0 ? "+" : ""}${number(m.constant)}`
  set(input, { oninput: () => {
    m.constant = Number(input.value)
    again()
  } })
  const badge = part(root, "badge", () => h("p", { class: "nt-out-badge" }))
  badge.hidden = m.constant === 0
  badge.textContent = fill(labels.logits_badge, { constant: number(m.constant) })
}

/**
 * @param {HTMLElement} frame
 * @param {HTMLElement} element
 * @param {any} header
 * @param {Float32Array} logits
 * @param {number} constant
 * @param {number} width
 */
function paintHistogram(frame, element, header, logits, constant, width) {
  if (!width) return
  const { labels, texts, token } = header
  const canvas = /** @type {HTMLCanvasElement} */ (frame.firstElementChild)
  const ctx = context(canvas, width, HEIGHT + FOOT)
  const palette = colours(element)
  const { low, high } = range(logits)
  const counts = histogram(logits, low, high, BINS)
  const tallest = Math.log1p(Math.max(...counts))
  const from = low - REACH, span = high - low + 2 * REACH || 1
  const at = (/** @type {number} */ value) => ((value - from) / span) * width
  const bin = (high - low) / BINS
  ctx.fillStyle = palette.logits
  counts.forEach((count, i) => {
    const tall = (Math.log1p(count) / tallest) * (HEIGHT - 26)
    ctx.fillRect(at(low + i * bin + constant), HEIGHT - tall, Math.max(1, at(low + bin) - at(low) - 0.5), tall)
  })
  ctx.fillStyle = palette.line
  ctx.fillRect(0, HEIGHT, width, 1)
  ctx.font = '12px "Inter", system-ui, sans-serif'
  ctx.textBaseline = "top"
  ctx.textAlign = "center"
  ctx.fillStyle = palette.muted
  for (let tick = Math.ceil(from / 10) * 10; tick <= from + span; tick += 10) {
    const x = at(tick)
    if (x > 12 && x < width - 12) ctx.fillText(number(tick), x, HEIGHT + 5)
    ctx.fillRect(x, HEIGHT, 1, 4)
  }
  const x = at(logits[token] + constant)
  ctx.fillStyle = palette.accent
  ctx.fillRect(x - 1, 20, 2, HEIGHT - 20)
  ctx.textAlign = x > width / 2 ? "right" : "left"
  ctx.font = '600 13px "JetBrains Mono", ui-monospace, monospace'
  ctx.fillText(visible(texts[token] ?? ""), x, 2)
  set(canvas, { "aria-label": fill(labels.logits_alt, { count: whole(logits.length), low: number(low + constant), high: number(high + constant) }) })
}

/**
 * @param {HTMLElement} box
 * @param {any} header
 * @param {Float32Array} logits
 * @param {number} constant
 * @param {import("../lib/loader.js").Emit} emit
 */
function scores(box, header, logits, constant, emit) {
  const { labels, texts, highest, lowest, token } = header
  const shown = [...highest.slice(0, SHOWN), ...lowest.slice(0, 5)]
  const { low, high } = range(logits)
  const ends = [Math.min(0, low - REACH), Math.max(0, high + REACH)]
  const share = (/** @type {number} */ value) => (value - ends[0]) / (ends[1] - ends[0] || 1)
  const bar = (/** @type {number} */ id) => ({
    id, text: texts[id] ?? "", value: (logits[id] + constant).toFixed(2).replace("-", "−"),
    from: share(0), to: share(logits[id] + constant), lit: id === token,
  })
  const options = (/** @type {string} */ title) => ({ title, colour: "var(--nt-logits)", choose: (/** @type {number} */ id) => void emit("look", { id }) })
  part(box, "title", () => h("h3")).textContent = labels.logits_highest
  renderBarList(box, "highest", shown.slice(0, highest.slice(0, SHOWN).length).map(bar), options(labels.logits_highest))
  part(box, "title-low", () => h("h3")).textContent = labels.logits_lowest
  renderBarList(box, "lowest", lowest.slice(0, 5).map(bar), options(labels.logits_lowest))
}

/**
 * @param {HTMLElement} box
 * @param {any} header
 * @param {ReturnType<typeof softmax>} now
 * @param {import("../lib/loader.js").Emit} emit
 */
function chances(box, header, now, emit) {
  const { labels, texts, highest, lowest, token } = header
  const p = now.probabilities
  const bar = (/** @type {number} */ id) => ({
    id, text: texts[id] ?? "", value: percent(p[id]), from: 0, to: p[id] / (p[highest[0]] || 1), lit: id === token,
  })
  const options = (/** @type {string} */ title) => ({ title, colour: "var(--nt-residual)", choose: (/** @type {number} */ id) => void emit("look", { id }) })
  part(box, "title", () => h("h3")).textContent = labels.logits_chances
  renderBarList(box, "highest", highest.slice(0, SHOWN).map(bar), options(labels.logits_chances))
  part(box, "title-low", () => h("h3")).textContent = labels.logits_chances_low
  renderBarList(box, "lowest", lowest.slice(0, 5).map(bar), options(labels.logits_chances_low))
}

/**
 * Softmax of one token with its numbers, the sum of all, and what the constant changed.
 * @param {HTMLElement} root
 * @param {any} header
 * @param {Float32Array} logits
 * @param {number} constant
 * @param {ReturnType<typeof softmax>} now
 * @param {ReturnType<typeof softmax>} base
 */
function worked(root, header, logits, constant, now, base) {
  const { labels, texts, token } = header
  const z = logits[token] + constant
  const above = Math.exp(z - now.largest)
  const rows = part(root, "worked", () => h("div", { class: "nt-out-worked" }))
  part(rows, "title", () => h("h3")).textContent = fill(labels.softmax_title, { token: visible(texts[token] ?? "") })
  const values = {
    z: number(z, 5), max: number(now.largest, 5), above: number(above, 4), total: number(now.total, 5),
    p: number(now.probabilities[token], 4), percent: percent(now.probabilities[token]), count: whole(logits.length),
    sum: now.probabilities.reduce((all, value) => all + value, 0).toFixed(9),
    change: number(largestDifference(now.probabilities, base.probabilities), 2),
  }
  for (const name of ["softmax_minus", "softmax_exp", "softmax_sum", "softmax_divide", "softmax_all"]) {
    part(rows, name, () => h("p")).textContent = fill(labels[name], values)
  }
  const moved = part(rows, "moved", () => h("p", { class: "nt-out-moved", "aria-live": "polite" }))
  moved.textContent = constant ? fill(labels.softmax_moved, { ...values, constant: number(constant) }) : labels.softmax_still
}
