// @ts-check
/**
 * A stripe: one vector as a row of coloured cells, the first number at the left.
 *
 *     const canvas = stripe(parent, "h", labels.stripe)       // once; keeps its place on every further call
 *     draw(canvas, values, { scale, ramp: colours(element).diverging })
 *     hover(canvas, values, (at) => (tip.textContent = at ? `${at.index}: ${at.value}` : ""))
 */
import { context } from "./canvas.js"
import { h, part, set } from "./dom.js"
import { lookup } from "./theme.js"

/** @typedef {{index: number, value: number, x: number}} At `x` in CSS pixels from the canvas's left edge */

const HEIGHT = 22
const SHARE = 0.99

/**
 * The canvas called `name` in `parent`, focusable and with a name for screen readers.
 * @param {HTMLElement} parent
 * @param {string} name
 * @param {string} label
 * @returns {HTMLCanvasElement}
 */
export function stripe(parent, name, label) {
  const build = () => h("canvas", { class: "nt-stripe", role: "img", tabindex: "0" })
  return set(/** @type {HTMLCanvasElement} */ (part(parent, name, build)), { "aria-label": label })
}

/**
 * The size of number that gets the full colour: the 99th percentile of the sizes, so that one huge number does not
 * turn all others pale.
 * @param {...ArrayLike<number>} vectors that shall share a scale
 */
export function scaleOf(...vectors) {
  const sizes = Float32Array.from(vectors.flatMap((vector) => Array.from(vector, Math.abs))).sort()
  return sizes.length ? sizes[Math.min(sizes.length - 1, Math.floor(SHARE * sizes.length))] || 1 : 1
}

/**
 * Paint `values`. With more numbers than pixels each pixel shows the largest in size of its numbers.
 * @param {HTMLCanvasElement} canvas
 * @param {ArrayLike<number>} values
 * @param {{scale?: number, ramp: string[], width?: number, height?: number, lit?: number | null}} options
 *   `scale`: this size and more gets the ramp's last colour (its negative the first); `ramp`: `#rrggbb` stops from
 *   −scale to scale; `width`: in CSS pixels, the parent's when left out; `lit`: index of a cell to frame
 */
export function draw(canvas, values, { scale = scaleOf(values), ramp, width, height = HEIGHT, lit = null }) {
  const wide = width ?? /** @type {HTMLElement} */ (canvas.parentElement).clientWidth
  if (!wide || !values.length) return
  const ctx = context(canvas, wide, height)
  const table = lookup(ramp)
  const pixels = canvas.width
  const image = ctx.createImageData(pixels, 1)
  for (let x = 0; x < pixels; x++) {
    const [r, g, b] = table[shade(strongest(values, x, pixels), scale)]
    image.data.set([r, g, b, 255], 4 * x)
  }
  for (let y = 0; y < canvas.height; y++) ctx.putImageData(image, 0, y)
  if (lit !== null) frame(ctx, lit, values.length, wide, height)
}

/**
 * 0 to 255 for −scale to scale, 127 or 128 for nothing. Numbers that are not finite count as nothing.
 * @param {number} value
 * @param {number} scale
 */
export function shade(value, scale) {
  if (!Number.isFinite(value)) return 127
  return Math.max(0, Math.min(255, Math.round(127.5 + (127.5 * value) / scale)))
}

/**
 * The number that pixel `x` of `pixels` shows.
 * @param {ArrayLike<number>} values
 * @param {number} x
 * @param {number} pixels
 */
export function strongest(values, x, pixels) {
  const from = Math.floor((x * values.length) / pixels)
  const to = Math.max(from + 1, Math.floor(((x + 1) * values.length) / pixels))
  let best = values[from]
  for (let i = from + 1; i < to; i++) if (Math.abs(values[i]) > Math.abs(best)) best = values[i]
  return best
}

/**
 * Which number is at `x`, null beside the stripe.
 * @param {number} x in the same unit as `width`
 * @param {number} width
 * @param {number} count
 */
export function indexAt(x, width, count) {
  const index = Math.floor((x / width) * count)
  return index >= 0 && index < count ? index : null
}

/**
 * Call `show` with the number under the pointer, or that the arrow keys reach, and with null when there is none any
 * more. Calling it again replaces the values.
 * @param {HTMLCanvasElement} canvas
 * @param {ArrayLike<number>} values
 * @param {(at: At | null) => void} show
 */
export function hover(canvas, values, show) {
  let at = 0
  const tell = (/** @type {number} */ index) => {
    at = index
    show({ index, value: values[index], x: ((index + 0.5) / values.length) * canvas.clientWidth })
  }
  set(canvas, {
    onpointermove: (/** @type {PointerEvent} */ event) => {
      const box = canvas.getBoundingClientRect()
      const index = indexAt(event.clientX - box.left, box.width, values.length)
      if (index === null) show(null)
      else tell(index)
    },
    onpointerleave: () => show(null),
    onblur: () => show(null),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const last = values.length - 1
      /** @type {Record<string, number>} */
      const goal = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last, PageUp: at - 16, PageDown: at + 16 }
      if (!(event.key in goal) || event.altKey || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      event.stopPropagation() // the page's own arrow keys step the run
      tell(Math.max(0, Math.min(last, goal[event.key])))
    },
  })
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} index
 * @param {number} count
 * @param {number} width
 * @param {number} height
 */
function frame(ctx, index, count, width, height) {
  const cell = width / count
  const wide = Math.max(4, cell)
  ctx.strokeStyle = getComputedStyle(ctx.canvas).getPropertyValue("--nt-ink").trim() || "#000"
  ctx.lineWidth = 1.5
  ctx.strokeRect((index + 0.5) * cell - wide / 2, 0.75, wide, height - 1.5)
}
