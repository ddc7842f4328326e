// @ts-check
/** A query and a key to move along the positions: dials, score, and the score at every distance. */
import { onWidth } from "../lib/canvas.js"
import { h, memory, part, set, visible } from "../lib/dom.js"
import { number } from "../lib/numbers.js"
import { colours } from "../lib/theme.js"
import { fill } from "../generate/format.js"
import { dialAt, drawDials, gridOf } from "./dials.js"
import { distanceAt, drawCurve } from "./curve.js"
import { curve, score, turned } from "./turn.js"

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header see core/components/position.py
 * @param {any} arrays `q` (hd), `keys` (n, hd), `pairs` (P, 2), `freq` (P)
 */
export function renderRotor(root, element, header, arrays) {
  const state = memory(root, () => ({ of: "", key: 0, query: 0, at: 0, both: 0, lit: 0, reach: header.reaches[0] }))
  if (state.of !== header.of) {
    const first = header.keys.findIndex((/** @type {any} */ key) => key.position === header.key)
    Object.assign(state, { of: header.of, key: first, both: 0, query: header.query, at: header.key })
  }
  state.lit = Math.min(state.lit, arrays.freq.length - 1)
  if (!header.reaches.includes(state.reach)) state.reach = header.reaches[0]
  const show = () => paint(root, element, header, arrays, state, show)
  onWidth(root, show)
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays
 * @param {any} state
 * @param {() => void} show
 */
function paint(root, element, header, arrays, state, show) {
  const { labels } = header
  const size = arrays.q.length
  const key = header.keys[state.key]
  const head = {
    q: arrays.q, k: arrays.keys.subarray(state.key * size, (state.key + 1) * size),
    pairs: arrays.pairs, freq: arrays.freq, factor: header.factor, scale: header.scale,
  }
  const [atQuery, atKey] = [state.query + state.both, state.at + state.both]
  const now = score(head, atQuery, atKey)
  const own = score(head, header.query, key.position)
  pickKey(root, header, state, show)
  sliders(root, header, state, key, show)
  const out = part(root, "score", () => h("p", { class: "ntp-score", "aria-live": "polite" }))
  part(out, "now", () => h("b")).textContent = number(now.score, 5)
  part(out, "say", () => h("span")).textContent = fill(labels.score, {
    query: visible(header.query_text), key: visible(key.text), m: atQuery, n: atKey, distance: atQuery - atKey,
  })
  part(out, "own", () => h("small", { class: "nt-muted" })).textContent = state.both && Math.abs(now.score - score(head, state.query, state.at).score) < 1e-6 * Math.max(1, Math.abs(now.score))
    ? fill(labels.score_stays, { n: state.both, difference: number(Math.abs(now.score - score(head, state.query, state.at).score), 2) })
    : fill(labels.score_run, { score: number(own.score, 5), m: header.query, n: key.position })
  distances(root, element, header, state, head, atQuery - atKey, header.query - key.position, show)
  dials(root, element, header, state, head, now, atQuery, atKey, show)
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 * @param {any} state
 * @param {() => void} show
 */
function pickKey(root, header, state, show) {
  const row = part(root, "keys", () => h("div", { class: "nt-chips", role: "group" }))
  set(row, { "aria-label": header.labels.keys })
  part(row, "name", () => h("span", { class: "ntp-name" })).textContent = header.labels.keys
  header.keys.forEach((/** @type {any} */ key, /** @type {number} */ i) => {
    const chip = part(row, `key-${i}`, () => h("button", { type: "button", class: "nt-chip" }, h("span", { class: "nt-mono" }), h("small", {})))
    const [text, place] = /** @type {HTMLElement[]} */ ([...chip.children])
    text.textContent = visible(key.text)
    place.textContent = ` ${key.position}`
    set(chip, {
      "aria-pressed": String(i === state.key),
      onclick: () => { Object.assign(state, { key: i, at: key.position, query: header.query, both: 0 }); show() },
    })
  })
  while (row.children.length > header.keys.length + 1) row.lastElementChild?.remove()
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 * @param {any} state
 * @param {any} key
 * @param {() => void} show
 */
function sliders(root, header, state, key, show) {
  const box = part(root, "sliders", () => h("div", { class: "ntp-sliders" }))
  const top = Math.max(header.top, state.query)
  const all = [
    { name: "query", text: header.labels.slide_query, value: state.query, max: top },
    { name: "at", text: header.labels.slide_key, value: state.at, max: top },
    { name: "both", text: header.labels.slide_both, value: state.both, max: header.top },
  ]
  for (const { name, text, value, max } of all) {
    const label = part(box, name, () => h("label", {}, h("span", {}), h("input", { type: "range", min: 0, step: 1 }), h("output", {})))
    const [say, input, out] = /** @type {any[]} */ ([...label.children])
    say.textContent = text
    set(input, { max, class: name, onkeydown: keepArrows, oninput: () => { state[name] = Number(input.value); show() } })
    if (Number(input.value) !== value) input.value = String(value)
    out.textContent = name === "both" ? `+${value}` : String(value)
  }
  const back = part(box, "back", () => h("button", { type: "button", class: "nt-button" }))
  back.textContent = header.labels.back
  const moved = state.both !== 0 || state.query !== header.query || state.at !== key.position
  set(back, { disabled: !moved, onclick: () => { Object.assign(state, { query: header.query, at: key.position, both: 0 }); show() } })
}

/** The page's own arrow keys step the run: they must not while a slider has the focus. @param {KeyboardEvent} event */
function keepArrows(event) {
  event.stopPropagation()
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} state
 * @param {any} head
 * @param {number} distance
 * @param {number} own
 * @param {() => void} show
 */
function distances(root, element, header, state, head, distance, own, show) {
  const box = part(root, "distances", () => h("div", { class: "ntp-distances" }))
  const bar = part(box, "reach", () => h("div", { class: "nt-chips", role: "group" }))
  set(bar, { "aria-label": header.labels.reach })
  part(bar, "name", () => h("span", { class: "ntp-name" })).textContent = header.labels.reach
  header.reaches.forEach((/** @type {number} */ reach) => {
    const chip = part(bar, `reach-${reach}`, () => h("button", { type: "button", class: "nt-chip" }))
    chip.textContent = reach.toLocaleString("en-US")
    set(chip, { "aria-pressed": String(reach === state.reach), onclick: () => { state.reach = reach; show() } })
  })
  const values = curve(head, state.reach)
  const canvas = part(box, "curve", () => h("canvas", { class: "ntp-curve", role: "slider", tabindex: "0" }))
  const go = (/** @type {number} */ d) => { state.query = state.at + Math.max(0, Math.min(values.length - 1, d)); show() }
  set(canvas, {
    "aria-label": header.labels.curve, "aria-valuemin": 0, "aria-valuemax": values.length - 1, "aria-valuenow": distance,
    "aria-valuetext": fill(header.labels.curve_value, { distance, score: number(values[distance] ?? NaN, 4) }),
    onpointerdown: (/** @type {PointerEvent} */ e) => { canvas.setPointerCapture(e.pointerId); go(pick(canvas, e, values.length)) },
    onpointermove: (/** @type {PointerEvent} */ e) => { if (e.buttons) go(pick(canvas, e, values.length)) },
    onkeydown: (/** @type {KeyboardEvent} */ e) => {
      /** @type {Record<string, number>} */
      const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -16, PageUp: 16 }
      if (!(e.key in steps) || e.altKey || e.ctrlKey || e.metaKey) return
      e.preventDefault()
      e.stopPropagation()
      go(distance + steps[e.key])
    },
  })
  if (box.clientWidth) drawCurve(/** @type {HTMLCanvasElement} */ (canvas), box.clientWidth, { values, at: distance, own, axis: header.labels.axis }, colours(element))
}

/**
 * @param {HTMLElement} canvas
 * @param {PointerEvent} event
 * @param {number} count
 */
function pick(canvas, event, count) {
  const box = canvas.getBoundingClientRect()
  return distanceAt(event.clientX - box.left, box.width, count)
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} state
 * @param {any} head
 * @param {ReturnType<typeof score>} now
 * @param {number} atQuery
 * @param {number} atKey
 * @param {() => void} show
 */
function dials(root, element, header, state, head, now, atQuery, atKey, show) {
  const count = head.freq.length
  const after = { q: turned(head.q, atQuery, head), k: turned(head.k, atKey, head) }
  const arrows = (/** @type {"q"|"k"} */ name) => Array.from({ length: count }, (_, j) => ({
    before: /** @type {[number, number]} */ ([head[name][head.pairs[2 * j]], head[name][head.pairs[2 * j + 1]]]),
    after: /** @type {[number, number]} */ ([after[name][2 * j], after[name][2 * j + 1]]),
  }))
  const [q, k] = [arrows("q"), arrows("k")]
  part(root, "legend", () => h("p", { class: "ntp-legend" },
    h("i", { class: "query" }), h("span", {}), h("i", { class: "key" }), h("span", {}), h("small", { class: "nt-muted" })))
  const [, queryName, , keyName, note] = /** @type {HTMLElement[]} */ ([...part(root, "legend", () => h("p")).children])
  queryName.textContent = header.labels.legend_query
  keyName.textContent = header.labels.legend_key
  note.textContent = header.labels.legend_note
  const canvas = part(root, "dials", () => h("canvas", { class: "ntp-dials", role: "img", tabindex: "0" }))
  const periods = head.freq.map((/** @type {number} */ f) => (2 * Math.PI) / f)
  set(canvas, {
    "aria-label": fill(header.labels.dials, { count }),
    onpointermove: (/** @type {PointerEvent} */ e) => {
      const box = canvas.getBoundingClientRect()
      const hit = dialAt(gridOf(box.width, count), count, e.clientX - box.left, e.clientY - box.top)
      if (hit !== null && hit !== state.lit) { state.lit = hit; show() }
    },
    onkeydown: (/** @type {KeyboardEvent} */ e) => {
      const { columns } = gridOf(canvas.clientWidth, count)
      /** @type {Record<string, number>} */
      const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }
      if (!(e.key in steps) || e.altKey || e.ctrlKey || e.metaKey) return
      e.preventDefault()
      e.stopPropagation()
      state.lit = Math.max(0, Math.min(count - 1, state.lit + steps[e.key]))
      show()
    },
  })
  if (root.clientWidth) drawDials(/** @type {HTMLCanvasElement} */ (canvas), root.clientWidth, { q, k, terms: now.terms, periods, lit: state.lit, unit: header.labels.unit }, colours(element))
  const two = (/** @type {[number, number]} */ [x, y]) => `(${number(x)}, ${number(y)})`
  const j = state.lit
  part(root, "readout", () => h("p", { class: "nt-readout", "aria-live": "polite" })).textContent = fill(header.labels.pair, {
    pair: j, a: head.pairs[2 * j], b: head.pairs[2 * j + 1], freq: number(head.freq[j]), period: number(periods[j]),
    q0: two(q[j].before), q1: two(q[j].after), k0: two(k[j].before), k1: two(k[j].after), term: number(now.terms[j]),
    mq: number(degrees(atQuery * head.freq[j])), nk: number(degrees(atKey * head.freq[j])),
  }) + (now.rest ? ` ${fill(header.labels.rest, { rest: number(now.rest), still: head.q.length - 2 * count })}` : "")
}

/** @param {number} radians */
function degrees(radians) {
  return (radians * 180) / Math.PI
}
