// @ts-check
/** Two texts under each other, place by place, and curves of what they do: chance, undecidedness, distance. */
import { fill, marked, percent } from "../generate/format.js"
import { renderCurves } from "../lib/curves.js"
import { h, part, set } from "../lib/dom.js"
import { line } from "../tree/panels.js"

/** @typedef {[number, string, number, number, number]} Token id, text, probability, entropy in bits, 1 when given */
/** @typedef {{a: Token[], b: Token[], places: [number | null, boolean | null][], meeting: {a: number, b: number, length: number} | null,
 *   surprise: [number | null, number | null]}} Found */

/**
 * How many tokens of each lane were put there.
 * @param {Token[]} lane
 */
export const openingOf = (lane) => lane.filter((token) => token[4] === 1).length

/**
 * The columns of both lanes: openings end in the same column, so that what the model chose stands place under place.
 * @param {Found} found
 * @returns {{a: Token | null, b: Token | null, own: number, kl: number | null, same: boolean | null}[]} `own`: place
 *   after the openings, from 0; below 0 inside them
 */
export function columns(found) {
  const [openA, openB] = [openingOf(found.a), openingOf(found.b)]
  const before = Math.max(openA, openB)
  const after = Math.max(found.a.length - openA, found.b.length - openB)
  return Array.from({ length: before + after }, (_, i) => {
    const own = i - before
    const place = own >= 0 ? found.places[own] : undefined
    return {
      a: found.a[openA + own] ?? null, b: found.b[openB + own] ?? null, own,
      kl: place ? place[0] : null, same: place ? place[1] : null,
    }
  })
}

/**
 * The first place, counted from 1, at which the two differ in what the model chose; null when it never does.
 * @param {Found} found
 */
export function partsAt(found) {
  const at = found.places.findIndex(([, same]) => same === false)
  return at < 0 ? null : at + 1
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 */
export function renderLanes(root, header) {
  const { labels } = header
  /** @type {Found} */
  const found = header.found
  const scroll = part(root, "scroll", () => h("div", { class: "ntw-scroll", tabindex: "0", role: "region" }))
  set(scroll, { "aria-label": labels.lanes_name })
  const table = part(scroll, "table", () => h("table", { class: "ntw-lanes" }, h("tbody")))
  const body = /** @type {HTMLElement} */ (table.firstElementChild)
  const shown = columns(found)
  const strongest = Math.max(...shown.map((column) => column.kl ?? 0), 1e-9)
  const rows = [
    h("tr", {}, h("th", { scope: "row" }, labels.lane_a), ...shown.map((c) => cell(c.a, c, labels))),
    h("tr", {}, h("th", { scope: "row" }, labels.lane_b), ...shown.map((c) => cell(c.b, c, labels))),
    h("tr", { class: "kl" }, h("th", { scope: "row" }, labels.lane_kl), ...shown.map((c) => h("td", {},
      c.kl === null ? null : h("i", { style: { height: `${Math.max(1, (c.kl / strongest) * 26)}px` }, "aria-hidden": "true" }),
      c.kl === null ? "" : h("small", {}, c.kl.toFixed(c.kl < 9.95 ? 2 : 1))))),
  ]
  const left = scroll.scrollLeft
  body.replaceChildren(...rows)
  scroll.scrollLeft = left
}

/**
 * @param {Token | null} token
 * @param {{same: boolean | null}} column
 * @param {any} labels
 */
function cell(token, column, labels) {
  if (!token) return h("td")
  const shown = marked(token[1])
  const look = ["ntw-token nt-mono", token[4] ? "given" : column.same === true ? "same" : ""].join(" ").trim()
  const tip = fill(token[4] ? labels.token_given : labels.token_made, { token: shown, probability: percent(token[2]), bits: token[3].toFixed(2) })
  return h("td", {}, h("span", { class: look, title: tip }, shown), h("small", {}, percent(token[2])))
}

/**
 * What the comparison says, in sentences.
 * @param {HTMLElement} root
 * @param {any} header
 */
export function renderSummary(root, header) {
  const { labels } = header
  /** @type {Found} */
  const found = header.found
  const parted = partsAt(found)
  const both = found.places.filter(([, same]) => same !== null)
  const same = both.filter(([, equal]) => equal).length
  line(root, "p", "parts", both.length === 0 ? "" : parted === null
    ? fill(labels.never_part, { count: both.length })
    : fill(labels.part_at, { place: parted, same, count: both.length }))
  const { meeting } = found
  const openA = openingOf(found.a)
  const words = meeting ? found.a.slice(openA + meeting.a, openA + meeting.a + meeting.length).map((t) => t[1]).join("") : ""
  line(root, "p", "meet", parted === null ? "" : meeting
    ? fill(labels.meet, { text: marked(words), length: meeting.length, a: meeting.a + 1, b: meeting.b + 1 })
    : labels.no_meeting)
  const [a, b] = found.surprise
  line(root, "p", "sure", a === null || b === null ? "" : fill(labels.sure, {
    a: a.toFixed(2), b: b.toFixed(2), more: Math.abs(a - b) < 0.15 ? labels.sure_same : b < a ? labels.sure_b : labels.sure_a,
  }))
  const ends = ["a", "b"].map((lane, i) => header.stops[i] === "end-of-text" ? fill(labels.ended, { lane: labels[`lane_${lane}`] }) : "")
  line(root, "p", "ends", ends.filter(Boolean).join(" "), "nt-muted")
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 */
export function renderMeasures(root, header) {
  const { labels } = header
  /** @type {Found} */
  const found = header.found
  const shown = columns(found).filter((column) => column.own >= 0)
  const last = Math.max(2, shown.length)
  const x = {
    min: 1, max: last, title: labels.axis_place,
    ticks: [...new Set([1, Math.round(last / 4), Math.round(last / 2), Math.round((3 * last) / 4), last])].filter((n) => n > 0)
      .map((at) => ({ at, text: String(at) })),
  }
  const lanes = (/** @type {(token: Token) => number} */ value) => [["a", labels.lane_a], ["b", labels.lane_b]].map(([lane, name]) => ({
    name, points: /** @type {[number, number][]} */ (shown.flatMap((column) => {
      const token = column[/** @type {"a"|"b"} */ (lane)]
      return token ? [[column.own + 1, value(token)]] : []
    })),
  }))
  const say = (/** @type {number} */ at) => fill(labels.reading, { place: at })
  const measure = (/** @type {string} */ name, /** @type {any[]} */ series, /** @type {number} */ max,
    /** @type {(value: number) => string} */ value) => {
    const box = part(root, name, () => h("section", { class: "nt-panel" }))
    line(box, "h3", "title", labels[`${name}_title`])
    line(box, "p", "sub", labels[`${name}_sub`], "nt-muted")
    renderCurves(box, "curves", {
      series, x, y: { min: 0, max, title: labels[`${name}_axis`], ticks: [0, max / 2, max].map((at) => ({ at, text: value(at) })) },
      alt: fill(labels[`${name}_alt`], { count: shown.length }), height: 200, say, value,
    })
  }
  const bits = (/** @type {number} */ value) => value.toFixed(value < 10 ? 1 : 0)
  const highest = (/** @type {any[]} */ series) => Math.max(1, Math.ceil(Math.max(...series.flatMap((s) => s.points.map((/** @type {any} */ p) => p[1])), 0)))
  const entropy = lanes((token) => token[3])
  const distance = [{ name: labels.lane_kl, points: shown.flatMap((c) => c.kl === null ? [] : [/** @type {[number, number]} */ ([c.own + 1, c.kl])]) }]
  measure("chance", lanes((token) => token[2]), 1, (value) => percent(value))
  measure("entropy", entropy, highest(entropy), bits)
  measure("kl", distance, highest(distance), bits)
}
