// @ts-check
/** Every head's attention on one sentence as a small triangle, and the chosen head large. Row = query, column = key. */
import { fill, percent, token } from "../attention/words.js"
import { context, monospaced, onWidth } from "../lib/canvas.js"
import { h, part, set } from "../lib/dom.js"
import { lookup } from "../lib/theme.js"

/** @typedef {{place: import("../from_zero.js").Place, at: number, colours: any, again: () => void}} Shown */

const TILE = 112
const LEFT = 84
const TOP = 70
const WIDEST_CELL = 30

/**
 * Where a head's (T, T) weights begin in the array (checkpoints, L, H, T, T).
 * @param {number[]} shape
 * @param {number} at
 * @param {number} layer
 * @param {number} head
 */
export function offset([, layers, heads, rows, columns], at, layer, head) {
  return ((at * layers + layer) * heads + head) * rows * columns
}

/**
 * @param {HTMLElement} rest
 * @param {import("../from_zero.js").Header} header
 * @param {any} arrays
 * @param {Shown} shown
 */
export function renderHeads(rest, header, arrays, shown) {
  const { labels } = header
  const [, layers, heads, size] = arrays.attention.shape
  part(rest, "heads-title", () => h("h2")).textContent = labels.heads_title
  part(rest, "heads-note", () => h("p", { class: "nt-muted" })).textContent = labels.heads_note
  const both = part(rest, "heads", () => h("div", { class: "ntz-heads" }))
  const tiles = part(both, "tiles", () => h("div", { class: "ntz-tiles" }))
  tiles.style.gridTemplateColumns = `repeat(${heads}, minmax(0, ${TILE}px))`
  const ramp = lookup(shown.colours.ramp)
  const { place } = shown
  if (place.query < 0) Object.assign(place, { query: size - 1, key: size - 1, layer: layers - 1 })
  for (let layer = 0; layer < layers; layer++) {
    for (let head = 0; head < heads; head++) {
      const name = fill(labels.head, { layer, head })
      const button = part(tiles, `${layer}-${head}`, () =>
        h("button", { type: "button", class: "ntz-tile" }, h("canvas", { "aria-hidden": "true" }), h("span")))
      const chosen = place.layer === layer && place.head === head
      set(button, { "aria-pressed": chosen ? "true" : "false", onclick: () => {
        Object.assign(place, { layer, head })
        shown.again()
      } })
      const [canvas, text] = [...button.children]
      text.textContent = name
      const start = offset(arrays.attention.shape, shown.at, layer, head)
      triangle(context(/** @type {any} */ (canvas), TILE, TILE), arrays.attention, start, size, TILE / size, ramp)
    }
  }
  large(both, header, arrays, shown, ramp)
}

/**
 * Allowed cells alone are painted: what is masked stays empty.
 * @param {CanvasRenderingContext2D} ctx
 * @param {ArrayLike<number>} cells bytes, 255 = weight 1
 * @param {number} start
 * @param {number} size
 * @param {number} cell
 * @param {[number, number, number][]} ramp
 */
function triangle(ctx, cells, start, size, cell, ramp) {
  for (let query = 0; query < size; query++) {
    for (let key = 0; key <= query; key++) {
      const [r, g, b] = ramp[Math.round(255 * Math.sqrt(cells[start + query * size + key] / 255))]
      ctx.fillStyle = `rgb(${r} ${g} ${b})`
      ctx.fillRect(key * cell, query * cell, cell, cell)
    }
  }
}

/**
 * @param {HTMLElement} both
 * @param {import("../from_zero.js").Header} header
 * @param {any} arrays
 * @param {Shown} shown
 * @param {[number, number, number][]} ramp
 */
function large(both, header, arrays, shown, ramp) {
  const { labels } = header
  const { place, again } = shown
  const size = arrays.attention.shape[3]
  const start = offset(arrays.attention.shape, shown.at, place.layer, place.head)
  const figure = part(both, "large", () => h("figure", { class: "ntz-large" }))
  const frame = part(figure, "frame", () => h("div", { class: "ntz-frame", tabindex: "0", role: "application" }))
  const canvas = part(frame, "canvas", () => /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" })))
  const said = fill(labels.cell, {
    layer: place.layer, head: place.head, query: token(header.tokens[place.query]), key: token(header.tokens[place.key]),
    weight: percent(arrays.attention[start + place.query * size + place.key] / 255),
  })
  part(figure, "said", () => h("figcaption", { "aria-live": "polite" })).textContent = said
  const choose = (/** @type {number} */ query, /** @type {number} */ key) => {
    place.query = Math.max(0, Math.min(size - 1, query))
    place.key = Math.max(0, Math.min(place.query, key))
    again()
  }
  let cell = 0
  onWidth(frame, (width) => {
    if (width <= 0) return
    cell = Math.min(WIDEST_CELL, Math.floor((width - LEFT - 34) / size))
    const ctx = context(canvas, LEFT + size * cell + 34, TOP + size * cell + 4)
    names(ctx, header.tokens, cell, place, shown.colours)
    ctx.translate(LEFT, TOP)
    triangle(ctx, arrays.attention, start, size, cell, ramp)
    ctx.strokeStyle = shown.colours.query
    ctx.lineWidth = 2
    ctx.strokeRect(place.key * cell, place.query * cell, cell, cell)
  })
  set(frame, {
    "aria-label": `${labels.large_alt} ${said}`,
    onclick: (/** @type {MouseEvent} */ event) => {
      const box = canvas.getBoundingClientRect()
      choose(Math.floor((event.clientY - box.top - TOP) / cell), Math.floor((event.clientX - box.left - LEFT) / cell))
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const by = /** @type {any} */ ({ ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] })[event.key]
      if (!by || event.altKey || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      event.stopPropagation()
      choose(place.query + by[0], place.key + by[1])
    },
  })
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {string[]} tokens
 * @param {number} cell
 * @param {import("../from_zero.js").Place} place
 * @param {any} colours
 */
function names(ctx, tokens, cell, place, colours) {
  monospaced(ctx, Math.min(13, Math.max(10, cell - 3)))
  ctx.textBaseline = "middle"
  tokens.forEach((text, i) => {
    ctx.fillStyle = i === place.query ? colours.query : colours.muted
    ctx.textAlign = "right"
    ctx.fillText(token(text, 9), LEFT - 6, TOP + (i + 0.5) * cell)
    ctx.save()
    ctx.translate(LEFT + (i + 0.5) * cell, TOP - 6)
    ctx.rotate(-Math.PI / 3)
    ctx.textAlign = "left"
    ctx.fillStyle = i === place.key ? colours.key : colours.muted
    ctx.fillText(token(text, 8), 0, 0)
    ctx.restore()
  })
}
