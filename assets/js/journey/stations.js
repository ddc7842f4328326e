// @ts-check
/** The stations of one turn in order, from the text to the next turn: each a live miniature that opens its page. */
import { put } from "../generate/bars.js"
import { bytes, duration, fill, marked, percent, whole } from "../generate/format.js"
import { candidateName } from "../generate/sentence.js"
import { textAt } from "../generate/view-model.js"
import { h, part, set, svg } from "../lib/dom.js"
import { number } from "../lib/numbers.js"
import { draw, scaleOf, stripe } from "../lib/stripes.js"

const LAST = 3
const BARS = 4
const STRIP = 40

/** @typedef {{header: any, arrays: any, shown: import("../generate/view-model.js").Distribution, palette: any,
 *   vocabulary: number, layer: number, position: number}} Now */
/** @typedef {{name: string, page: (now: Now) => string, paint: (box: HTMLElement, now: Now) => string}} Station
 *   `paint` fills the miniature and returns the sentence below it */

/** @type {Station[]} */
const STATIONS = [
  { name: "text", page: () => "tokens", paint: text },
  { name: "tokens", page: () => "tokens", paint: tokens },
  { name: "ids", page: () => "tokens", paint: ids },
  { name: "embedding", page: () => "embeddings", paint: embedding },
  { name: "position", page: () => "position", paint: place },
  { name: "attention", page: () => "attention", paint: blocks },
  { name: "ffn", page: ({ header }) => (header.journey.blocks === "moe" ? "experts" : "block"), paint: sizes },
  { name: "final", page: () => "output", paint: final },
  { name: "logits", page: () => "output", paint: logits },
  { name: "chances", page: () => "sampling", paint: chances },
  { name: "choice", page: () => "sampling", paint: choice },
  { name: "append", page: () => "generate", paint: append },
  { name: "cache", page: () => "kv-cache", paint: cache },
  { name: "again", page: () => "timeline", paint: again },
]

/**
 * @param {HTMLElement} root
 * @param {Now} now
 * @param {(page: string) => void} open
 */
export function renderStations(root, now, open) {
  const { labels, journey } = now.header
  part(root, "stations-title", () => h("h2", {}, labels.stations_title))
  part(root, "stations-sub", () => h("p", { class: "nt-muted" }, labels.stations_sub))
  const list = part(root, "stations", () => h("ol", { class: "ntj-stations" }))
  STATIONS.forEach((station, i) => {
    const item = part(list, station.name, () => h("li", {}))
    const page = station.page(now)
    const there = journey.pages.includes(page)
    const link = part(item, "link", () => h("a", { class: "ntj-station" }))
    set(link, {
      href: there ? new URL(page + location.search, document.baseURI).href : null,
      onclick: (/** @type {MouseEvent} */ event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return
        event.preventDefault()
        if (there) open(page)
      },
    })
    const name = station.name === "ffn" && journey.blocks === "moe" ? "moe" : station.name
    const head = part(link, "head", () => h("span", { class: "ntj-station-head" }, h("b", {}), h("span", {})))
    put(/** @type {HTMLElement} */ (head.children[0]), String(i + 1))
    put(/** @type {HTMLElement} */ (head.children[1]), labels[`station_${name}`])
    const mini = part(link, "mini", () => h("span", { class: `ntj-mini ${station.name}` }))
    const said = station.paint(mini, now)
    put(part(link, "said", () => h("span", { class: "ntj-said" })), said)
  })
}

/**
 * @param {Now} now
 */
function count({ header }) {
  return header.prompt + header.state.step
}

/** @param {any} header @param {number} position */
function word(header, position) {
  return marked(textAt(header, position) ?? "")
}

/** @type {Station["paint"]} */
function text(box, now) {
  const { header } = now
  const all = header.tokens.slice(0, count(now)).map((/** @type {any} */ token) => token[1]).join("")
  put(part(box, "text", () => h("span", { class: "ntj-text" })), all.length > 70 ? `…${[...all].slice(-69).join("")}` : all)
  return fill(header.labels.mini_text, { count: whole([...all].length) })
}

/**
 * A few chips, kept across steps.
 * @param {HTMLElement} box
 * @param {string[]} words
 */
function chips(box, words) {
  while (box.children.length > words.length) box.lastElementChild?.remove()
  while (box.children.length < words.length) box.append(h("span", { class: "ntj-chip nt-mono" }))
  words.forEach((one, i) => put(/** @type {HTMLElement} */ (box.children[i]), one))
}

/** @param {Now} now */
function lastPlaces(now) {
  const end = count(now)
  return Array.from({ length: Math.min(LAST, end) }, (_, i) => end - Math.min(LAST, end) + i)
}

/** @type {Station["paint"]} */
function tokens(box, now) {
  chips(box, lastPlaces(now).map((position) => word(now.header, position)))
  return fill(now.header.labels.mini_tokens, { count: whole(count(now)) })
}

/** @type {Station["paint"]} */
function ids(box, now) {
  chips(box, lastPlaces(now).map((position) => String(now.header.tokens[position][0])))
  return fill(now.header.labels.mini_ids, { vocabulary: whole(now.vocabulary) })
}

/**
 * @param {HTMLElement} box
 * @param {ArrayLike<number>} values
 * @param {Now} now
 * @param {string} name
 */
function vector(box, values, now, name) {
  const canvas = stripe(box, "stripe", name)
  canvas.tabIndex = -1
  draw(canvas, values, { ramp: now.palette.diverging, scale: scaleOf(values), width: 150, height: 26 })
}

/** @type {Station["paint"]} */
function embedding(box, now) {
  const { embeddings } = now.arrays
  const bins = embeddings.shape[1]
  const at = now.position
  vector(box, embeddings.subarray(at * bins, (at + 1) * bins), now, now.header.labels.station_embedding)
  return fill(now.header.labels.mini_embedding, { token: `“${word(now.header, at)}”` })
}

/** @type {Station["paint"]} */
function place(box, now) {
  const { angles } = now.header.journey
  while (box.children.length > angles.length) box.lastElementChild?.remove()
  while (box.children.length < angles.length) {
    box.append(svg("svg", { viewBox: "-13 -13 26 26", class: "ntj-dial", "aria-hidden": "true" },
      svg("circle", { r: 11 }), svg("line", { x1: 0, y1: 0, x2: 10, y2: 0 })))
  }
  angles.forEach((/** @type {number} */ angle, /** @type {number} */ i) => {
    const degrees = (-angle * 180) / Math.PI
    box.children[i].children[1].setAttribute("transform", `rotate(${degrees.toFixed(2)})`)
  })
  const labels = now.header.labels
  return fill(angles.length ? labels.mini_position : labels.mini_position_none, { position: now.position })
}

/** @type {Station["paint"]} */
function blocks(box, now) {
  const { journey, labels } = now.header
  const weights = now.arrays.weights.subarray(0, journey.position + 1)
  const many = Math.min(weights.length, STRIP)
  const of = (/** @type {number} */ i) =>
    Math.max(...weights.subarray(Math.floor((i * weights.length) / many), Math.floor(((i + 1) * weights.length) / many)))
  strip(box, many, of)
  return fill(labels.mini_attention, { layer: journey.layer, head: journey.head, position: journey.position })
}

/** @type {Station["paint"]} */
function sizes(box, now) {
  const { sizes: all } = now.arrays
  const columns = all.shape[1]
  const own = Array.from({ length: now.header.layers }, (_, layer) => all[layer * columns + now.position])
  const most = Math.max(...own.filter(Number.isFinite), 1e-9)
  strip(box, own.length, (layer) => own[layer] / most)
  const { labels, journey } = now.header
  return fill(journey.blocks === "moe" ? labels.mini_moe : labels.mini_ffn, { first: number(own[0]), last: number(own[own.length - 1]) })
}

/**
 * One thin bar per layer.
 * @param {HTMLElement} box
 * @param {number} many
 * @param {(index: number) => number} height from 0 to 1
 */
function strip(box, many, height) {
  while (box.children.length > many) box.lastElementChild?.remove()
  while (box.children.length < many) box.append(h("i", {}))
  for (let i = 0; i < many; i++) {
    /** @type {HTMLElement} */ (box.children[i]).style.height = `${Math.max(6, 100 * Math.min(1, height(i)))}%`
  }
}

/** @type {Station["paint"]} */
function final(box, now) {
  vector(box, now.arrays.final, now, now.header.labels.station_final)
  return now.header.labels.mini_final
}

/** @type {Station["paint"]} */
function logits(box, now) {
  const { ids: named, texts } = now.header.names
  chips(box, named.slice(0, 2).map((/** @type {number} */ id, /** @type {number} */ i) =>
    `${marked(texts[i])} ${number(now.arrays.logits[id])}`))
  return fill(now.header.labels.mini_logits, { vocabulary: whole(now.vocabulary) })
}

/** @type {Station["paint"]} */
function chances(box, now) {
  const bars = now.shown.bars.slice(0, BARS)
  while (box.children.length > bars.length) box.lastElementChild?.remove()
  while (box.children.length < bars.length) box.append(h("i", {}))
  bars.forEach((bar, i) => {
    /** @type {HTMLElement} */ (box.children[i]).style.width = `${100 * Math.min(1, bar.probability / now.shown.scale)}%`
  })
  const first = now.shown.bars[0]
  const name = candidateName(now.header.labels, first.id, first.text)
  return fill(now.header.labels.mini_chances, { token: `“${name}”`, chance: percent(first.probability) })
}

/** @type {Station["paint"]} */
function choice(box, now) {
  const { shown, header } = now
  const { recordedId, recordedText, drawnId, drawnText } = shown
  chips(box, [candidateName(header.labels, recordedId ?? drawnId, recordedId === null ? drawnText : recordedText)])
  if (shown.recordedForced) return header.labels.mini_choice_taken
  return shown.greedy ? header.labels.mini_choice_greedy : fill(header.labels.mini_choice, { u: shown.u.toFixed(4) })
}

/** @type {Station["paint"]} */
function append(box, now) {
  const { header } = now
  const made = header.state.step
  chips(box, made ? [word(header, count(now) - 1)] : [])
  return made ? fill(header.labels.mini_append, { count: whole(made) }) : header.labels.mini_append_none
}

/** @type {Station["paint"]} */
function cache(box, now) {
  const { state, labels } = now.header
  strip(box, 2, () => 1)
  return fill(labels.mini_cache, { all: bytes(state.kv_bytes), step: bytes(state.kv_step_bytes) })
}

/** @type {Station["paint"]} */
function again(box, now) {
  const { journey, labels } = now.header
  const passes = journey.times.slice(-12)
  const most = Math.max(...passes.map((/** @type {any} */ pass) => pass[3]))
  strip(box, passes.length, (i) => passes[i][3] / most)
  return fill(labels.mini_again, { passes: journey.times.length, time: duration(passes[passes.length - 1][3]) })
}
