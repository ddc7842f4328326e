// @ts-check
/** The causal mask as a small triangle: row = position, column = what it may look at; the chosen row is lit. */
import { line } from "../tree/panels.js"
import { fill, marked, percent, whole } from "../generate/format.js"
import { context as ready, onWidth } from "../lib/canvas.js"
import { h, part, set } from "../lib/dom.js"
import { colours } from "../lib/theme.js"
import { context, nats } from "./list.js"

const WIDEST = 232
const SEEN = 60 // characters of the text that are named

/**
 * Where row `at` of `count` stands in a picture `size` high, in pixels.
 * @param {number} at
 * @param {number} count
 * @param {number} size
 */
export function band(at, count, size) {
  const cell = size / count
  return { from: at * cell, size: Math.max(1, cell) }
}

/**
 * @param {HTMLElement} root
 * @param {any} shown the header with `chosen` and its `row`
 * @param {(position: number) => void} choose
 */
export function renderMask(root, shown, choose) {
  const { labels, texts, chosen, row } = shown
  const count = texts.length
  line(root, "h3", "title", labels.mask_title)
  const frame = part(root, "frame", () => h("div", { class: "nt-tg-frame" }))
  const canvas = part(frame, "canvas", () => /** @type {HTMLCanvasElement} */ (h("canvas", { role: "img" })))
  set(canvas, {
    "aria-label": fill(labels.mask_alt, { count, position: chosen, seen: chosen + 1 }),
    onclick: (/** @type {MouseEvent} */ event) =>
      choose(Math.max(0, Math.min(count - 1, Math.floor((event.offsetY / canvas.clientHeight) * count)))),
  })
  onWidth(frame, (width) => {
    if (width > 0) draw(canvas, Math.min(width, WIDEST), count, chosen, row !== null)
  })
  const { before, last } = context(texts, chosen, SEEN)
  const values = { position: chosen, last: chosen, target: row ? marked(row.target) : "", next: chosen + 1 }
  line(root, "p", "sees", fill(chosen ? labels.mask_sees : labels.mask_sees_one, values))
  line(root, "p", "seen", marked(before + last), "nt-tg-seen nt-mono")
  line(root, "p", "hidden", row ? fill(row.kind === "end" ? labels.mask_end : labels.mask_hidden, values) : labels.mask_last)
  line(root, "p", "cost", row
    ? fill(row.rank === 1 ? labels.cost_hit : labels.cost_miss, {
      p: percent(row.p), rank: whole(row.rank), loss: nats(row.loss), favourite: marked(row.favourite), favourite_p: percent(row.favouriteP),
    })
    : "")
  line(root, "p", "out", row && !row.scored ? labels[`why_${row.kind}`] : "", "nt-muted")
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} size
 * @param {number} count
 * @param {number} chosen
 * @param {boolean} target
 */
function draw(canvas, size, count, chosen, target) {
  const ctx = ready(canvas, size, size)
  const look = colours(canvas)
  const cell = size / count
  const gap = cell >= 6 ? 1 : 0
  ctx.fillStyle = look.ramp[1]
  for (let row = 0; row < count; row++) {
    const { from, size: tall } = band(row, count, size)
    if (gap) for (let column = 0; column <= row; column++) ctx.fillRect(column * cell, from, cell - gap, tall - gap)
    else ctx.fillRect(0, from, (row + 1) * cell, tall)
  }
  const { from, size: tall } = band(chosen, count, size)
  const height = Math.max(2, tall - gap)
  ctx.fillStyle = look.residual
  for (let column = 0; column <= chosen; column++) ctx.fillRect(column * cell, from, Math.max(gap ? cell - gap : cell, 1), height)
  if (target && chosen + 1 < count) {
    ctx.strokeStyle = look.logits
    ctx.lineWidth = 2
    ctx.strokeRect((chosen + 1) * cell + 1, from + 1, Math.max(2, cell - gap - 2), Math.max(2, height - 2))
  }
  ctx.strokeStyle = look.line
  ctx.lineWidth = 1
  ctx.strokeRect(0.5, 0.5, size - 1, size - 1)
}
