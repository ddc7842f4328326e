// @ts-check
/** A vector as a stripe: one pixel a number, stretched by CSS; its values are read by pointing at it. */
import { h, part, set } from "../lib/dom.js"

/**
 * @param {Element} parent
 * @param {string} name
 * @param {{values: ArrayLike<number>, from: number, size: number, top: number, table: [number, number, number][],
 *   label: string, tell: (dimension: number) => string, tip: (event: PointerEvent, text: string | null) => void}} what
 */
export function stripe(parent, name, what) {
  const canvas = part(parent, name, () => /** @type {HTMLCanvasElement} */ (h("canvas", { class: "nta-stripe" })))
  const { values, from, size, top, table } = what
  if (canvas.width !== size) Object.assign(canvas, { width: size, height: 1 })
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"))
  const image = ctx.createImageData(size, 1)
  for (let i = 0; i < size; i++) {
    const shade = Math.max(0, Math.min(255, Math.round(127.5 + (127.5 * values[from + i]) / top)))
    image.data.set([...table[shade], 255], 4 * i)
  }
  ctx.putImageData(image, 0, 0)
  set(canvas, {
    role: "img",
    "aria-label": what.label,
    onpointermove: (/** @type {PointerEvent} */ event) => {
      const box = canvas.getBoundingClientRect()
      const at = Math.max(0, Math.min(size - 1, Math.floor(((event.clientX - box.left) / box.width) * size)))
      what.tip(event, what.tell(at))
    },
    onpointerleave: (/** @type {PointerEvent} */ event) => what.tip(event, null),
  })
  return canvas
}
