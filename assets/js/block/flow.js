// @ts-check
/** The block from left to right: strips of captured vectors, joined by lines; a box opens its tensor below. */
import { context, onWidth } from "../lib/canvas.js"
import { h, memory, part, set, svg, visible } from "../lib/dom.js"
import { number } from "../lib/numbers.js"
import { renderStripeList } from "../lib/stripe-list.js"
import { scaleOf, shade, strongest } from "../lib/stripes.js"
import { colours, lookup } from "../lib/theme.js"
import { fill } from "../generate/format.js"
import { layout, size, TITLE } from "./layout.js"

const STRIP = 26
const UNSIGNED = new Set(["weights", "router"])

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header see core/components/block.py
 * @param {any} arrays `values`: the rows of all boxes, one after the other
 * @param {import("../lib/loader.js").Emit} emit `head` with {head}
 */
export function renderFlow(root, element, header, arrays, emit) {
  const state = memory(root, () => ({ open: "resid_in" }))
  if (!header.boxes.some((/** @type {any} */ box) => box.name === state.open)) state.open = header.boxes[0].name
  const scroll = part(root, "scroll", () => h("div", { class: "ntb-scroll", tabindex: "0", role: "group" }))
  set(scroll, { "aria-label": header.labels.title_flow })
  const stage = part(scroll, "stage", () => h("div", { class: "ntb-stage" }))
  const panel = part(root, "panel", () => h("div", { class: "nt-panel ntb-panel", "aria-live": "polite" }))
  const show = () => {
    stageOf(stage, element, header, arrays, state, scroll.clientWidth, (name) => { state.open = name; show() })
    open(panel, element, header, arrays, state, emit)
  }
  onWidth(scroll, show)
}

/**
 * @param {HTMLElement} stage
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays
 * @param {any} state
 * @param {number} available
 * @param {(name: string) => void} choose
 */
function stageOf(stage, element, header, arrays, state, available, choose) {
  const made = layout(header.boxes, header.columns, available)
  const colour = colours(element)
  set(stage, { style: { width: `${made.width}px`, height: `${made.height}px` } })
  lines(stage, header, made, colour)
  const names = new Set(header.boxes.map((/** @type {any} */ box) => `box-${box.name}`))
  for (const child of [...stage.querySelectorAll("button")]) if (!names.has(child.dataset.part ?? "")) child.remove()
  for (const box of header.boxes) {
    const place = made.places[box.name]
    const button = part(stage, `box-${box.name}`, () => h("button", { type: "button", class: "ntb-box" }, h("span", {}), h("canvas", {})))
    const [title, canvas] = /** @type {any[]} */ ([...button.children])
    title.textContent = header.labels[`short_${box.name}`] ?? header.labels[`box_${box.name}`]
    set(button, {
      "aria-pressed": String(box.name === state.open),
      "aria-label": `${header.labels[`box_${box.name}`]}, ${fill(header.labels.numbers, { count: size(box).toLocaleString("en-US") })}`,
      onclick: () => choose(box.name),
      style: {
        left: `${place.x + 2}px`, top: `${place.y - TITLE}px`, width: `${place.width - 4}px`,
      },
    })
    button.style.setProperty("--ntb-colour", `var(--nt-${box.colour})`)
    strip(canvas, box, arrays.values, place.height, header, colour)
  }
}

/**
 * A vector from top to bottom; the chosen head's part stays bright.
 * @param {HTMLCanvasElement} canvas
 * @param {any} box
 * @param {Float32Array} values
 * @param {number} height
 * @param {any} header
 * @param {any} colour
 */
function strip(canvas, box, values, height, header, colour) {
  const rows = box.rows
  const own = values.subarray(rows[0].start, rows[0].start + size(box))
  const unsigned = UNSIGNED.has(rows[0].kind)
  const table = lookup(unsigned ? colour.ramp : colour.diverging)
  const ctx = context(canvas, STRIP, height)
  const scale = unsigned ? Math.max(1e-9, ...own) : scaleOf(own)
  const pixels = canvas.height
  const image = ctx.createImageData(canvas.width, pixels)
  for (let y = 0; y < pixels; y++) {
    const value = strongest(own, y, pixels)
    const [r, g, b] = table[unsigned ? Math.round((255 * Math.max(0, value)) / scale) : shade(value, scale)]
    for (let x = 0; x < canvas.width; x++) image.data.set([r, g, b, 255], 4 * (y * canvas.width + x))
  }
  ctx.putImageData(image, 0, 0)
  const lit = rows.findIndex((/** @type {any} */ row) => row.number === chosen(row.kind, header))
  if (rows.length < 2 || lit < 0) return
  ctx.strokeStyle = colour.ink
  ctx.lineWidth = 1.5
  ctx.strokeRect(0.75, (lit / rows.length) * height + 0.75, STRIP - 1.5, height / rows.length - 1.5)
}

/**
 * @param {string} kind
 * @param {any} header
 */
function chosen(kind, header) {
  return kind === "head" ? header.head : kind === "kv_head" ? header.group : -1
}

/**
 * @param {HTMLElement} stage
 * @param {any} header
 * @param {ReturnType<typeof layout>} made
 * @param {any} colour
 */
function lines(stage, header, made, colour) {
  const drawing = part(stage, "lines", () => svg("svg", { "aria-hidden": "true" }))
  set(drawing, { width: made.width, height: made.height })
  drawing.replaceChildren()
  const lane = Object.fromEntries(header.boxes.map((/** @type {any} */ box) => [box.name, box.lane]))
  const adders = new Set()
  for (const [from, to] of header.links) {
    const [a, b] = [made.places[from], made.places[to]]
    const stream = lane[from] === "stream" && lane[to] === "stream"
    const joins = lane[to] === "stream"
    const start = { x: a.x + a.width / 2 + STRIP / 2 + 2, y: middle(a) }
    const plus = { x: b.x + b.width / 2 - STRIP / 2 - 14, y: middle(b) }
    const end = joins ? plus : { x: b.x + b.width / 2 - STRIP / 2 - 3, y: middle(b) }
    if (joins) adders.add(to)
    const bend = Math.max(14, Math.abs(end.x - start.x) / 2)
    const path = stream
      ? `M${start.x} ${start.y} H${plus.x}`
      : `M${start.x} ${start.y} C${start.x + bend} ${start.y} ${end.x - bend} ${end.y} ${end.x} ${end.y}`
    drawing.append(svg("path", {
      d: path, fill: "none", stroke: stream ? colour.residual : colour.muted,
      "stroke-width": stream ? 5 : 1.25, "stroke-opacity": stream ? 0.75 : 0.6,
    }))
  }
  for (const name of adders) {
    const place = made.places[name]
    const [x, y] = [place.x + place.width / 2 - STRIP / 2 - 14, middle(place)]
    drawing.append(svg("circle", { cx: x, cy: y, r: 8, fill: colour.surface, stroke: colour.residual, "stroke-width": 2 }))
    drawing.append(svg("path", { d: `M${x - 4} ${y}h8M${x} ${y - 4}v8`, stroke: colour.residual, "stroke-width": 2 }))
  }
}

/** @param {import("./layout.js").Place} place */
function middle(place) {
  return place.y + place.height / 2
}

/**
 * @param {HTMLElement} panel
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays
 * @param {any} state
 * @param {import("../lib/loader.js").Emit} emit
 */
function open(panel, element, header, arrays, state, emit) {
  const { labels } = header
  const box = header.boxes.find((/** @type {any} */ one) => one.name === state.open)
  const all = arrays.values.subarray(box.rows[0].start, box.rows[0].start + size(box))
  part(panel, "title", () => h("h3")).textContent = labels[`box_${box.name}`]
  part(panel, "say", () => h("p")).textContent = labels[`say_${box.name}`]
  part(panel, "facts", () => h("p", { class: "nt-muted ntb-facts" })).textContent = fill(labels.box_facts, {
    shape: box.rows.length > 1 ? `${box.rows.length} × ${box.rows[0].length}` : String(box.rows[0].length),
    dtype: header.dtype, length: number(Math.hypot(...all)), largest: number(Math.max(...all)), smallest: number(Math.min(...all)),
  })
  const weights = part(panel, "weights", () => h("p", { class: "nt-muted ntb-facts" }))
  weights.textContent = box.weights.length
    ? fill(labels.made_with, { names: box.weights.map((/** @type {any} */ [name, shape]) => `${name} (${shape.join(" × ")})`).join(", ") })
    : ""
  const heads = box.rows[0].kind === "head"
  const lit = box.rows.findIndex((/** @type {any} */ row) => row.number === chosen(row.kind, header))
  renderStripeList(panel, {
    rows: box.rows.map((/** @type {any} */ row, /** @type {number} */ i) => ({
      position: i, text: fill(labels[`row_${row.kind}`], { number: row.number }),
      note: row.share === null ? "" : fill(labels.row_share, { share: number(row.share) }),
      values: arrays.values.subarray(row.start, row.start + row.length),
    })),
    chosen: Math.max(0, lit),
    ramp: UNSIGNED.has(box.rows[0].kind) ? upwards(colours(element).ramp) : colours(element).diverging,
    name: labels[`box_${box.name}`],
    stripeName: (row) => fill(labels.stripe, { name: `${labels[`box_${box.name}`]}, ${row.text}` }),
    say: (row, index, value) => box.name === "weights"
      ? fill(labels.weight_value, { token: visible(header.tokens[index] ?? ""), index, value: number(value) })
      : fill(labels.value, { name: row.text, index, value: number(value) }),
    choose: (i) => { if (heads) emit("head", { head: box.rows[i].number }) },
  })
}

/** A ramp for numbers that are never negative, for a stripe whose scale runs from −s to s. @param {string[]} ramp */
function upwards(ramp) {
  return [...ramp.map(() => ramp[0]), ...ramp.slice(1)]
}
