// @ts-check
/**
 * A line chart that is redrawn in place: series over one axis, a mark at a chosen value, and a reading of all series
 * under the pointer or the arrow keys. Text goes in as text nodes only.
 */
import { onWidth } from "./canvas.js"
import { h, memory, part, set, svg } from "./dom.js"

/** @typedef {{name: string, points: [number, number][], lit?: boolean, faint?: boolean}} Series */
/** @typedef {{at: number, text: string}} Tick */
/** @typedef {{min: number, max: number, ticks: Tick[], title: string, log?: boolean}} Axis */
/** @typedef {{series: Series[], x: Axis, y: Axis, alt: string, height?: number, mark?: {at: number, text: string} | null,
 *   say: (x: number) => string, value: (y: number) => string, tokens?: boolean,
 *   choose?: (index: number) => void}} Chart `tokens`: the names are token text */

const ROOM = { left: 50, right: 26, top: 32, bottom: 40 }
const HEIGHT = 240
const DOTTED = 16 // more points than this stand without dots
export const STYLES = 6 // different colours and dashes; further series begin again

/**
 * @param {HTMLElement} root
 * @param {string} name
 * @param {Chart} chart
 */
export function renderCurves(root, name, chart) {
  const box = part(root, name, () => h("div", { class: "nt-curves" }))
  const state = memory(box, () => ({ chart, reading: /** @type {number | null} */ (null), width: 0 }))
  const same = state.width > 0 && state.chart.series === chart.series && state.chart !== chart
  state.chart = chart
  const plot = part(box, "plot", () => h("div", { class: "nt-curves-plot" }))
  if (same) return moveMark(plot, chart, state.width)
  onWidth(plot, (width) => {
    state.width = width
    if (width > 0) draw(box, plot, state)
  })
}

/**
 * The same series again: only the mark moves.
 * @param {HTMLElement} plot
 * @param {Chart} chart
 * @param {number} width
 */
function moveMark(plot, chart, width) {
  const height = chart.height ?? HEIGHT
  const old = plot.querySelector("g.marks")
  old?.replaceChildren(...(chart.mark ? mark(chart.mark, places(chart, width, height), width, height) : []))
}

/**
 * @param {HTMLElement} box
 * @param {HTMLElement} plot
 * @param {{chart: Chart, reading: number | null, width: number}} state
 */
function draw(box, plot, state) {
  const { chart, width } = state
  const height = chart.height ?? HEIGHT
  const place = places(chart, width, height)
  const picture = part(plot, "svg", () => svg("svg", { role: "img", tabindex: "0" }))
  set(picture, { viewBox: `0 0 ${width} ${height}`, width, height, "aria-label": chart.alt })
  picture.replaceChildren(
    ...axes(chart, place, width, height),
    ...chart.series.map((series, i) => line(series, i, place)),
    svg("g", { class: "marks" }, ...(chart.mark ? mark(chart.mark, place, width, height) : [])),
    ...(state.reading === null ? [] : [guide(place.x(state.reading), height)]),
  )
  legend(box, state)
  const move = (/** @type {number | null} */ reading) => {
    state.reading = reading
    draw(box, plot, state)
  }
  set(picture, {
    onpointermove: (/** @type {any} */ event) => move(nearest(chart, place, event.offsetX)),
    onpointerleave: () => move(null),
    onkeydown: (/** @type {any} */ event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[/** @type {string} */ (event.key)]
      if (!step) return
      event.preventDefault()
      event.stopPropagation()
      move(neighbour(chart, state.reading, step))
    },
    onblur: () => move(null),
  })
}

/**
 * @param {Chart} chart
 * @param {number} width
 * @param {number} height
 */
function places(chart, width, height) {
  const { x, y } = chart
  const scaled = (/** @type {number} */ value) => (x.log ? Math.log(value) : value)
  const [low, high] = [scaled(x.min), scaled(x.max)]
  const [w, tall] = [width - ROOM.left - ROOM.right, height - ROOM.top - ROOM.bottom]
  return {
    x: (/** @type {number} */ v) => ROOM.left + ((Math.max(low, Math.min(high, scaled(v))) - low) / (high - low || 1)) * w,
    y: (/** @type {number} */ v) => ROOM.top + (1 - (v - y.min) / (y.max - y.min || 1)) * tall,
  }
}

/** @typedef {ReturnType<typeof places>} Place */

/**
 * @param {Chart} chart
 * @param {Place} place
 * @param {number} width
 * @param {number} height
 */
function axes(chart, place, width, height) {
  const foot = height - ROOM.bottom
  const rows = chart.y.ticks.flatMap(({ at, text }) => [
    svg("line", { class: "grid", x1: ROOM.left, x2: width - ROOM.right, y1: place.y(at), y2: place.y(at) }),
    svg("text", { class: "tick", x: ROOM.left - 6, y: place.y(at) + 4, "text-anchor": "end" }, text),
  ])
  const marks = chart.x.ticks.map(({ at, text }) =>
    svg("text", { class: "tick", x: place.x(at), y: foot + 16, "text-anchor": "middle" }, text))
  return [
    ...rows, ...marks,
    svg("text", { class: "title", x: width - ROOM.right, y: height - 6, "text-anchor": "end" }, chart.x.title),
    svg("text", { class: "title", x: 2, y: 12 }, chart.y.title),
  ]
}

/**
 * @param {Series} series
 * @param {number} index
 * @param {Place} place
 */
function line(series, index, place) {
  const points = series.points.map(([x, y]) => `${place.x(x).toFixed(1)},${place.y(y).toFixed(1)}`)
  const look = ["series", `c${index % STYLES}`, series.lit && "lit", series.faint && "faint"].filter(Boolean).join(" ")
  const dots = series.points.length <= DOTTED
    ? series.points.map(([x, y]) => svg("circle", { cx: place.x(x), cy: place.y(y), r: 2.5 }))
    : []
  return svg("g", { class: look }, svg("polyline", { points: points.join(" ") }), ...dots)
}

/**
 * @param {{at: number, text: string}} at
 * @param {Place} place
 * @param {number} width
 * @param {number} height
 */
function mark({ at, text }, place, width, height) {
  const x = place.x(at)
  const late = x > width * 0.7
  return [
    svg("line", { class: "mark", x1: x, x2: x, y1: ROOM.top - 6, y2: height - ROOM.bottom }),
    svg("text", { class: "mark-text", x: x + (late ? -5 : 5), y: ROOM.top + 2, "text-anchor": late ? "end" : "start" }, text),
  ]
}

/**
 * @param {number} x
 * @param {number} height
 */
function guide(x, height) {
  return svg("line", { class: "guide", x1: x, x2: x, y1: ROOM.top, y2: height - ROOM.bottom })
}

/**
 * All values of the horizontal axis at which a series has a point, in order.
 * @param {Chart} chart
 */
export function stops(chart) {
  return [...new Set(chart.series.flatMap((series) => series.points.map(([x]) => x)))].sort((a, b) => a - b)
}

/**
 * @param {Chart} chart
 * @param {Place} place
 * @param {number} pixel
 */
function nearest(chart, place, pixel) {
  let best = /** @type {number | null} */ (null)
  for (const x of stops(chart)) {
    if (best === null || Math.abs(place.x(x) - pixel) < Math.abs(place.x(best) - pixel)) best = x
  }
  return best
}

/**
 * The stop before or after `reading`; the first one when nothing is read yet.
 * @param {Chart} chart
 * @param {number | null} reading
 * @param {number} step
 */
export function neighbour(chart, reading, step) {
  const all = stops(chart)
  const at = reading === null ? -1 : all.indexOf(reading)
  return at < 0 ? all[step > 0 ? 0 : all.length - 1] ?? null : all[Math.max(0, Math.min(all.length - 1, at + step))]
}

/**
 * Names of the series with their dash, and their values where one reads.
 * @param {HTMLElement} box
 * @param {{chart: Chart, reading: number | null}} state
 */
function legend(box, { chart, reading }) {
  const list = part(box, "legend", () => h("ul", { class: "nt-curves-legend" }))
  while (list.children.length > chart.series.length) list.lastElementChild?.remove()
  while (list.children.length < chart.series.length) list.append(entry())
  chart.series.forEach((series, i) => {
    const item = /** @type {HTMLElement} */ (list.children[i])
    const [swatch, label, value] = [...item.children]
    swatch.setAttribute("class", `series c${i % STYLES}`)
    item.className = series.lit ? "lit" : ""
    label.className = chart.tokens ? "nt-mono" : ""
    if (label.textContent !== series.name) label.textContent = series.name
    const found = reading === null ? undefined : series.points.find(([x]) => x === reading)
    value.textContent = found ? chart.value(found[1]) : ""
    set(item, { onclick: chart.choose ? () => chart.choose?.(i) : null })
  })
  const said = part(box, "reading", () => h("p", { class: "nt-muted nt-curves-reading", "aria-live": "polite" }))
  said.textContent = reading === null ? "" : chart.say(reading)
}

function entry() {
  const swatch = svg("svg", { width: 26, height: 10, "aria-hidden": "true" }, svg("polyline", { points: "0,5 26,5" }))
  return h("li", {}, swatch, h("span"), h("b", {}))
}
