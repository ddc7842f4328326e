// @ts-check
/** Every head of every layer as a small picture on one canvas; in the model's order or sorted by a measure. */
import { context, forgetWidth, monospaced, onWidth } from "../lib/canvas.js"
import { h, memory, part, set } from "../lib/dom.js"
import { colours, lookup } from "../lib/theme.js"
import { listen, open, place } from "./place.js"
import { arrange, pixels, ranked, slotAt } from "./tiles.js"
import { fill, percent } from "./words.js"

const TELL_AFTER_MS = 180
const BEST = 6

/** @typedef {{header: any, arrays: any, emit: any, order: string, layout: any, timer: any, layer: number, head: number,
 *   sorted: {layer: number, head: number, value: number}[], forget: (() => void) | null}} Memory */

/**
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays `cells` (done, H, triangle) bytes, `measures` (done, H, M)
 * @param {(event: string, payload?: any) => void} emit
 */
export function renderOverview(element, header, arrays, emit) {
  const m = remembered(element)
  Object.assign(m, { header, arrays, emit })
  if (m.order !== "model" && header.done < header.layers) m.order = "model"
  const { labels } = header
  const root = part(element, "all", () => h("section", { class: "nta nta-all" }))
  set(root, { "aria-label": labels.all_title, "data-done": header.done, "data-layers": header.layers })
  renderOrders(part(root, "orders", () => h("div", { class: "nta-choices", role: "group" })), element, m)
  part(root, "meaning", () => h("p", { class: "nt-muted", "aria-live": "polite" }))
  const frame = part(root, "frame", () => h("div", { class: "nta-frame", tabindex: "0", role: "application" }))
  part(frame, "canvas", () => /** @type {HTMLCanvasElement} */ (h("canvas", { "aria-hidden": "true" })))
  part(root, "where", () => h("p", { class: "nta-where", "aria-live": "polite" }))
  part(root, "best", () => h("div", { class: "nta-choices" }))
  part(root, "note", () => h("p", { class: "nt-muted nta-note" })).textContent = notes(header)
  part(element, "tip", () => h("div", { class: "nt-tip", hidden: true }))
  set(frame, {
    "aria-label": labels.all_alt, "aria-roledescription": labels.triangle_role,
    onclick: (/** @type {MouseEvent} */ event) => choose(element, m, under(element, m, event), 0),
    onpointermove: (/** @type {PointerEvent} */ event) => hover(element, m, event),
    onpointerleave: () => set(tipOf(element), { hidden: true }),
    onkeydown: (/** @type {KeyboardEvent} */ event) => keys(element, m, event),
  })
  m.forget ??= listen((at) => {
    Object.assign(m, at)
    if (!m.timer) paint(element, m)
  })
  if (!m.timer) Object.assign(m, place())
  onWidth(frame, () => paint(element, m))
  if (header.done < header.layers) requestAnimationFrame(() => emit("more", header.done + 1))
}

/** @param {HTMLElement} element */
export function forgetOverview(element) {
  const frame = element.querySelector(".nta-all .nta-frame")
  if (!frame) return
  forgetWidth(/** @type {HTMLElement} */ (frame))
  remembered(element).forget?.()
}

/**
 * @param {HTMLElement} element
 * @returns {Memory}
 */
function remembered(element) {
  return memory(element, () => /** @type {Memory} */ ({
    header: null, arrays: null, emit: null, order: "model", layout: null, timer: 0, layer: 0, head: 0, sorted: [], forget: null,
  }))
}

/**
 * @param {HTMLElement} box
 * @param {HTMLElement} element
 * @param {Memory} m
 */
function renderOrders(box, element, m) {
  const { labels, measures, rows, done, layers } = m.header
  set(box, { "aria-label": labels.order })
  part(box, "name", () => h("span", { class: "nt-muted" })).textContent = labels.order
  for (const name of ["model", ...measures]) {
    const chip = part(box, name, () => h("button", { type: "button", class: "nt-chip" }))
    const none = name !== "model" && rows[measures.indexOf(name)] === 0
    chip.textContent = labels[`order_${name}`]
    set(chip, {
      "aria-pressed": String(m.order === name), "data-order": name,
      disabled: name !== "model" && (done < layers || none), title: none ? labels.order_none : labels[`meaning_${name}`],
      onclick: () => {
        m.order = name
        renderOrders(box, element, m)
        paint(element, m)
      },
    })
  }
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 */
function paint(element, m) {
  const frame = /** @type {HTMLElement} */ (element.querySelector(".nta-frame"))
  const canvas = /** @type {HTMLCanvasElement} */ (frame.querySelector("canvas"))
  const width = frame.clientWidth
  if (!width) return
  const began = performance.now()
  const { header, arrays } = m
  const measure = header.measures.indexOf(m.order)
  m.sorted = measure < 0 ? [] : ranked(arrays.measures, header, measure, m.order === "spread")
  m.layout = arrange(header, width, m.sorted)
  const { slots, tile, height } = m.layout
  const palette = colours(element)
  const ctx = context(canvas, width, height)
  const sheet = pixels(arrays.cells, header, lookup(palette.ramp), lookup([palette.surface, palette.surface])[0])
  ctx.imageSmoothingEnabled = tile < header.size
  for (const { layer, head, x, y } of slots) {
    ctx.fillStyle = palette.line
    ctx.fillRect(x, y, tile, tile)
    if (layer >= header.done) continue
    ctx.drawImage(sheet, head * header.size, layer * header.size, header.size, header.size, x + 0.5, y + 0.5, tile - 1, tile - 1)
  }
  marks(ctx, m, palette)
  // Reading a pixel back makes the browser finish the drawing before the clock is read.
  ctx.getImageData(0, 0, 1, 1)
  set(frame, { "data-paint-ms": (performance.now() - began).toFixed(2) })
  words(element, m)
}

/**
 * Names of layers and heads, brackets of shared K/V heads, and the frame of the open head.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Memory} m
 * @param {any} palette
 */
function marks(ctx, m, palette) {
  const { names, brackets, slots, tile } = m.layout
  monospaced(ctx, 10)
  ctx.textBaseline = "middle"
  ctx.fillStyle = palette.muted
  for (const { text, x, y, align } of names) {
    ctx.textAlign = align
    ctx.fillText(text, x, y)
  }
  ctx.fillStyle = palette.key
  for (const { x, y, width, height } of brackets) ctx.fillRect(x, y, width, height)
  const lit = slots.find((/** @type {any} */ slot) => slot.layer === m.layer && slot.head === m.head)
  if (!lit) return
  ctx.strokeStyle = palette.accent
  ctx.lineWidth = 2.5
  ctx.strokeRect(lit.x - 1, lit.y - 1, tile + 2, tile + 2)
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 */
function words(element, m) {
  const { labels } = m.header
  const find = (/** @type {string} */ name) => /** @type {HTMLElement} */ (element.querySelector(`[data-part="${name}"]`))
  find("meaning").textContent = m.header.done < m.header.layers
    ? fill(labels.all_loading, { done: m.header.done, layers: m.header.layers })
    : labels[`meaning_${m.order}`]
  find("where").textContent = describe(m, m.layer, m.head)
  const best = find("best")
  best.replaceChildren(...m.sorted.slice(0, BEST).map(({ layer, head, value }) => h("button", {
    type: "button", class: "nt-chip", onclick: () => choose(element, m, { layer, head }, 0),
  }, fill(labels.best, { layer, head, value: percent(value) }))))
  best.hidden = m.order === "model"
}

/**
 * @param {Memory} m
 * @param {number} layer
 * @param {number} head
 */
function describe(m, layer, head) {
  const { labels, measures, heads, groups, done } = m.header
  const start = (layer * heads + head) * measures.length
  const parts = layer < done
    ? measures
      .map((/** @type {string} */ name, /** @type {number} */ i) => ({ name, value: m.arrays.measures[start + i] }))
      .filter((/** @type {any} */ one) => Number.isFinite(one.value))
      .map((/** @type {any} */ one) => `${labels[`measure_${one.name}`]} ${percent(one.value)}`)
    : []
  return [fill(labels.head_where, { layer, head, group: groups[head] ?? 0 }), ...parts].join(" · ")
}

/** @param {any} header */
function notes(header) {
  const { labels, block, stride, positions } = header
  const parts = [labels.all_scale]
  if (block > 1) parts.push(fill(labels.all_pooled, { block, positions }))
  if (stride > 1) parts.push(fill(labels.all_sampled, { stride }))
  return parts.join(" ")
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {MouseEvent} event
 */
function under(element, m, event) {
  const canvas = /** @type {HTMLCanvasElement} */ (element.querySelector(".nta-frame canvas"))
  const box = canvas.getBoundingClientRect()
  return slotAt(m.layout, event.clientX - box.left, event.clientY - box.top)
}

/** @param {HTMLElement} element */
function tipOf(element) {
  return /** @type {HTMLElement} */ (element.querySelector(".nt-tip"))
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {PointerEvent} event
 */
function hover(element, m, event) {
  const tip = tipOf(element)
  const slot = event.pointerType === "touch" ? null : under(element, m, event)
  tip.hidden = slot === null
  if (!slot) return
  tip.textContent = describe(m, slot.layer, slot.head)
  const box = element.getBoundingClientRect()
  const left = Math.min(event.clientX - box.left + 12, box.width - tip.offsetWidth - 4)
  set(tip, { style: { left: `${Math.max(0, left)}px`, top: `${event.clientY - box.top + 16}px` } })
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {KeyboardEvent} event
 */
function keys(element, m, event) {
  const { slots, columns } = m.layout
  const at = slots.findIndex((/** @type {any} */ slot) => slot.layer === m.layer && slot.head === m.head)
  /** @type {Record<string, number>} */
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -at, End: slots.length - 1 - at }
  if (!(event.key in moves) || event.altKey || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  event.stopPropagation() // the page's own arrow keys step the run
  choose(element, m, slots[at + moves[event.key]] ?? null, TELL_AFTER_MS)
}

/**
 * Light the head at once; tell the page when the learner has come to rest.
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {{layer: number, head: number} | null} slot
 * @param {number} wait in milliseconds
 */
function choose(element, m, slot, wait) {
  if (!slot) return
  Object.assign(m, { layer: slot.layer, head: slot.head })
  paint(element, m)
  clearTimeout(m.timer)
  m.timer = setTimeout(() => {
    m.timer = 0
    open(m.layer, m.head)
    m.emit("place", { layer: m.layer, head: m.head })
  }, wait)
}
