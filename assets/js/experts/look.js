// @ts-check
/** How an expert looks: one of eight colours that colour-blind eyes tell apart, then a mark, and its number. */
import { luminance } from "../lib/theme.js"

export const COLOURS = 8

/** @type {WeakMap<Element, {theme: string | undefined, fills: string[], inks: string[]}>} */
const read = new WeakMap()

/**
 * The colours of the theme that is on, with the ink that reads on each.
 * @param {HTMLElement} element the component's own element
 */
export function looks(element) {
  const theme = element.dataset.ntTheme
  const known = read.get(element)
  if (known && known.theme === theme && known.fills[0]) return known
  const style = getComputedStyle(element.querySelector(".ntx") ?? element)
  const fills = Array.from({ length: COLOURS }, (_, i) => style.getPropertyValue(`--ntx-${i}`).trim())
  const made = { theme, fills, inks: fills.map((fill) => (luminance(fill || "#000") > 0.22 ? "#161c27" : "#ffffff")) }
  read.set(element, made)
  return made
}

/**
 * The mark that tells apart experts with the same colour: none for the first eight.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} expert
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {string} ink
 */
export function mark(ctx, expert, x, y, width, height, ink) {
  const kind = Math.floor(expert / COLOURS) % 8
  if (!kind || width < 5) return
  ctx.strokeStyle = ink
  ctx.lineWidth = 1
  ctx.beginPath()
  const [right, bottom, cx, cy] = [x + width - 1, y + height - 1, x + width / 2, y + height / 2]
  if (kind === 1 || kind === 3) line(ctx, x + 1, bottom, right, y + 1)
  if (kind === 2 || kind === 3) line(ctx, x + 1, y + 1, right, bottom)
  if (kind === 4 || kind === 6) line(ctx, x + 1, cy, right, cy)
  if (kind === 5 || kind === 6) line(ctx, cx, y + 1, cx, bottom)
  if (kind === 7) ctx.arc(cx, cy, Math.min(width, height) / 4, 0, 7)
  ctx.stroke()
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x
 * @param {number} y
 * @param {number} toX
 * @param {number} toY
 */
function line(ctx, x, y, toX, toY) {
  ctx.moveTo(x, y)
  ctx.lineTo(toX, toY)
}
