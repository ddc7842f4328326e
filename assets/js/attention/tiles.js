// @ts-check
/** Where the small pictures of all heads stand, and their pixels. Pure, apart from the sheet's own canvas. */

const GAP = 3
const GROUP_GAP = 8
const NAMES = 24
const MOST = 46
const LEAST_WIDE = 16 // narrower pictures with layers side by side: the layers go below each other instead

/** @typedef {{layer: number, head: number, x: number, y: number}} Slot */
/** @typedef {{slots: Slot[], tile: number, columns: number, height: number,
 *   names: {text: string, x: number, y: number, align: "left" | "center" | "right"}[],
 *   brackets: {x: number, y: number, width: number, height: number}[]}} Arrangement */

/**
 * @param {any} header layers, heads, groups
 * @param {number} width
 * @param {{layer: number, head: number}[]} sorted empty: the model's own order
 * @returns {Arrangement}
 */
export function arrange(header, width, sorted) {
  if (sorted.length) return inReadingOrder(width, sorted)
  const across = Math.floor((width - NAMES) / header.layers) - GAP
  return across >= LEAST_WIDE ? sideways(header, Math.min(MOST, across)) : stacked(header, width)
}

/**
 * @param {number} width
 * @param {{layer: number, head: number}[]} sorted
 * @returns {Arrangement}
 */
function inReadingOrder(width, sorted) {
  const tile = width > 700 ? 34 : 28
  const columns = Math.max(1, Math.floor((width + GAP) / (tile + GAP)))
  const slots = sorted.map(({ layer, head }, i) => ({
    layer, head, x: 2 + (i % columns) * (tile + GAP), y: 2 + Math.floor(i / columns) * (tile + GAP),
  }))
  return { slots, tile, columns, height: Math.ceil(sorted.length / columns) * (tile + GAP) + 4, names: [], brackets: [] }
}

/**
 * Layers from left to right, heads below each other.
 * @param {any} header
 * @param {number} tile
 * @returns {Arrangement}
 */
function sideways(header, tile) {
  const { layers, heads, groups } = header
  const tops = offsets(groups, tile)
  const slots = []
  for (let head = 0; head < heads; head++) {
    for (let layer = 0; layer < layers; layer++) slots.push({ layer, head, x: NAMES + layer * (tile + GAP), y: tops[head] + 2 })
  }
  const height = tops[heads - 1] + tile + 20
  const names = Array.from({ length: layers }, (_, layer) => ({
    text: String(layer), x: NAMES + layer * (tile + GAP) + tile / 2, y: height - 7, align: /** @type {const} */ ("center"),
  }))
  const heads_ = tops.map((y, head) => ({ text: String(head), x: NAMES - 10, y: y + 2 + tile / 2, align: /** @type {const} */ ("right") }))
  const brackets = spans(groups, tops, tile).map(([from, to]) => ({ x: NAMES - 7, y: from + 2, width: 2, height: to - from }))
  return { slots, tile, columns: layers, height, names: [...names, ...heads_], brackets: shared(groups) ? brackets : [] }
}

/**
 * Heads side by side, layer 0 at the bottom as in the small grid.
 * @param {any} header
 * @param {number} width
 * @returns {Arrangement}
 */
function stacked(header, width) {
  const { layers, heads, groups } = header
  const spare = (new Set(groups).size - 1) * (GROUP_GAP - GAP)
  const tile = Math.max(8, Math.min(MOST, Math.floor((width - NAMES - spare) / heads) - GAP))
  const lefts = offsets(groups, tile)
  const slots = []
  for (let line = 0; line < layers; line++) {
    for (let head = 0; head < heads; head++) slots.push({ layer: layers - 1 - line, head, x: NAMES + lefts[head], y: 2 + line * (tile + GAP) })
  }
  const bottom = layers * (tile + GAP) + 4
  const names = Array.from({ length: layers }, (_, line) => ({
    text: String(layers - 1 - line), x: NAMES - 6, y: 2 + line * (tile + GAP) + tile / 2, align: /** @type {const} */ ("right"),
  }))
  const heads_ = lefts.map((x, head) => ({ text: String(head), x: NAMES + x + tile / 2, y: bottom + 10, align: /** @type {const} */ ("center") }))
  const brackets = spans(groups, lefts, tile).map(([from, to]) => ({ x: NAMES + from, y: bottom, width: to - from, height: 2 }))
  return { slots, tile, columns: heads, height: bottom + 18, names: [...names, ...heads_], brackets: shared(groups) ? brackets : [] }
}

/**
 * @param {number[]} groups
 * @param {number} tile
 */
function offsets(groups, tile) {
  let at = 0
  return groups.map((group, i) => {
    if (i > 0) at += tile + (shared(groups) && groups[i - 1] !== group ? GROUP_GAP : GAP)
    return at
  })
}

/**
 * @param {number[]} groups
 * @param {number[]} places
 * @param {number} tile
 * @returns {[number, number][]}
 */
function spans(groups, places, tile) {
  return [...new Set(groups)].map((group) => [places[groups.indexOf(group)], places[groups.lastIndexOf(group)] + tile])
}

/** @param {number[]} groups */
function shared(groups) {
  return new Set(groups).size < groups.length
}

/**
 * @param {Arrangement} layout
 * @param {number} x
 * @param {number} y
 */
export function slotAt(layout, x, y) {
  const inside = (/** @type {Slot} */ slot) => x >= slot.x - 1 && x < slot.x + layout.tile + 2 && y >= slot.y - 1 && y < slot.y + layout.tile + 2
  return layout.slots.find(inside) ?? null
}

/**
 * Heads by one measure, the strongest first; `ascending` for measures where little is much.
 * @param {Float32Array} measures (done, H, M)
 * @param {any} header
 * @param {number} measure
 * @param {boolean} ascending
 */
export function ranked(measures, header, measure, ascending) {
  const all = []
  for (let layer = 0; layer < header.done; layer++) {
    for (let head = 0; head < header.heads; head++) {
      all.push({ layer, head, value: measures[(layer * header.heads + head) * header.measures.length + measure] })
    }
  }
  const sign = ascending ? 1 : -1
  return all.sort((a, b) => sign * (a.value - b.value) || a.layer - b.layer || a.head - b.head)
}

/**
 * All pictures on one sheet, layers below each other, heads side by side; what is masked has the ground's colour.
 * @param {Uint8Array} cells (done, H, triangle)
 * @param {any} header
 * @param {[number, number, number][]} table
 * @param {[number, number, number]} ground
 */
export function pixels(cells, header, table, ground) {
  const { heads, done, size } = header
  const sheet = document.createElement("canvas")
  Object.assign(sheet, { width: Math.max(1, heads * size), height: Math.max(1, done * size) })
  const ctx = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"))
  const image = ctx.createImageData(sheet.width, sheet.height)
  const words = new Uint32Array(image.data.buffer)
  const packed = Uint32Array.from(table, ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0)
  const [r, g, b] = ground
  words.fill(((255 << 24) | (b << 16) | (g << 8) | r) >>> 0)
  let from = 0
  for (let layer = 0; layer < done; layer++) {
    for (let head = 0; head < heads; head++) {
      for (let row = 0; row < size; row++) {
        let to = (layer * size + row) * sheet.width + head * size
        for (let column = 0; column <= row; column++) words[to++] = packed[cells[from++]]
      }
    }
  }
  ctx.putImageData(image, 0, 0)
  return sheet
}
