// @ts-check
/** Canvas helpers: sharp pixels on dense screens, and fast cell maps. */

/**
 * Size a canvas for the screen's pixel density and hand back a context in CSS pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width in CSS pixels
 * @param {number} height in CSS pixels
 * @returns {CanvasRenderingContext2D}
 */
export function context(canvas, width, height) {
  const ratio = globalThis.devicePixelRatio || 1
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h })
  canvas.style.width = `${width}px`
  canvas.style.height = `${height}px`
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"))
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
  ctx.clearRect(0, 0, width, height)
  return ctx
}

/**
 * The monospaced face for token text, without ligatures: `<|` stays two characters.
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} size in pixels
 * @param {number} [weight]
 */
export function monospaced(ctx, size, weight = 400) {
  ctx.font = `${weight} ${size}px "JetBrains Mono", ui-monospace, monospace`
  ctx.textRendering = "optimizeSpeed"
}

/**
 * The ring around the chosen token or cell, the same in every view; wider, with a glow, while presenting.
 * @param {CanvasRenderingContext2D} ctx
 * @param {{laser: string, laserWidth: number, paper: string}} palette
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {number} [radius]
 */
export function laser(ctx, palette, x, y, width, height, radius = 0) {
  ctx.save()
  ctx.beginPath()
  ctx.roundRect(x, y, width, height, radius)
  ctx.strokeStyle = palette.paper // a rim, so that the ring is seen on cells of any colour
  ctx.lineWidth = palette.laserWidth + 2
  ctx.stroke()
  if (palette.laserWidth > 2) Object.assign(ctx, { shadowColor: palette.laser, shadowBlur: 3 * palette.laserWidth })
  ctx.strokeStyle = palette.laser
  ctx.lineWidth = palette.laserWidth
  ctx.stroke()
  ctx.restore()
}

/**
 * Paint one pixel per cell through a table of 256 colours. Put the bitmap where it belongs with `drawImage` and
 * `imageSmoothingEnabled = false`.
 * @param {ArrayLike<number>} cells values from 0 to 255, row by row, the first row at the top
 * @param {number} columns
 * @param {number} rows
 * @param {[number, number, number][]} table
 * @returns {HTMLCanvasElement}
 */
export function bitmap(cells, columns, rows, table) {
  const canvas = document.createElement("canvas")
  canvas.width = columns
  canvas.height = rows
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"))
  const image = ctx.createImageData(columns, rows)
  for (let i = 0; i < columns * rows; i++) {
    const [r, g, b] = table[Math.max(0, Math.min(255, cells[i])) | 0]
    image.data[4 * i] = r
    image.data[4 * i + 1] = g
    image.data[4 * i + 2] = b
    image.data[4 * i + 3] = 255
  }
  ctx.putImageData(image, 0, 0)
  return canvas
}

/**
 * Call `paint` at once and again when the element's width changes. Assigning anew replaces the last `paint`.
 * @param {HTMLElement} element
 * @param {(width: number) => void} paint
 */
export function onWidth(element, paint) {
  const known = watched.get(element)
  if (known) known.paint = paint
  else {
    const record = { paint, width: element.clientWidth, observer: /** @type {any} */ (null) }
    record.observer = new ResizeObserver(() => {
      if (element.clientWidth === record.width) return
      record.width = element.clientWidth
      record.paint(record.width)
    })
    record.observer.observe(element)
    watched.set(element, record)
  }
  paint(element.clientWidth)
}

/**
 * Stop watching the width.
 * @param {HTMLElement} element
 */
export function forgetWidth(element) {
  watched.get(element)?.observer.disconnect()
  watched.delete(element)
}

/** @type {WeakMap<HTMLElement, {paint: (width: number) => void, width: number, observer: ResizeObserver}>} */
const watched = new WeakMap()
