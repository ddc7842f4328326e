// @ts-check
/** The prompt cut into words, and the merges of the chosen word played one by one. */
import { h, memory, part, set } from "../lib/dom.js"
import { fill, shown } from "./bytes.js"
import { pairOf, symbolsAfter } from "./merge.js"

const STEP_MS = 900

/** @typedef {{ header: any, emit: any, word: number, done: number, timer: any, key: string }} Memory */

/**
 * @param {HTMLElement} element
 * @param {any} header words, position, table_rows, labels
 * @param {import("../lib/loader.js").Emit} emit
 */
export function renderWords(element, header, emit) {
  const m = memory(element, () => /** @type {Memory} */ ({ header, emit, word: 0, done: 0, timer: null, key: "" }))
  const key = JSON.stringify([header.words, header.position])
  Object.assign(m, { header, emit })
  if (key !== m.key) open(element, m, wordAt(header), key)
  draw(element, m)
}

/** @param {HTMLElement} element */
export function pauseWords(element) {
  const m = memory(element, () => /** @type {any} */ ({ timer: null }))
  clearInterval(m.timer)
  m.timer = null
}

/**
 * The word that the chosen position is in; without one worth opening, the word with the most merges.
 * @param {any} header
 */
function wordAt({ words, position }) {
  const found = words.findIndex((/** @type {any} */ w) => position >= w.start && position < w.start + w.ids.length)
  if (found >= 0 && words[found].merges.length) return found
  const most = Math.max(0, ...words.map((/** @type {any} */ w) => w.merges.length))
  return Math.max(0, words.findIndex((/** @type {any} */ w) => w.merges.length === most))
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {number} word
 * @param {string} key
 */
function open(element, m, word, key) {
  pauseWords(element)
  Object.assign(m, { key, word, done: 0 })
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 */
function draw(element, m) {
  const { words, labels } = m.header
  const strip = part(element, "words", () => h("div", { class: "nt-words", role: "group" }))
  set(strip, { "aria-label": labels.words })
  strip.replaceChildren(...words.map((/** @type {any} */ word, /** @type {number} */ index) => chip(element, m, word, index)))
  reveal(strip, m.word)
  const panel = part(element, "player", () => h("div", { class: "nt-panel nt-player" }))
  const word = words[m.word]
  if (!word) return panel.replaceChildren()
  const head = part(panel, "head", () => h("div", { class: "nt-player-head" }))
  part(panel, "symbols", () => h("div", { class: "nt-symbols", "aria-live": "polite" }))
  part(panel, "next", () => h("p", { class: "nt-next" }))
  const controls = part(panel, "controls", () => h("div", { class: "nt-controls" }))
  part(panel, "history", () => h("ol", { class: "nt-history" }))
  head.replaceChildren(shown(word.letters.flat()), h("span", { class: "nt-muted" }, summary(word, labels)))
  buttons(element, m, controls)
  step(element, m)
}

/**
 * Scroll the strip, and nothing else, so that the opened word can be seen.
 * @param {HTMLElement} strip
 * @param {number} index
 */
function reveal(strip, index) {
  const [box, word] = [strip.getBoundingClientRect(), strip.children[index]?.getBoundingClientRect()]
  if (!word) return
  if (word.top < box.top) strip.scrollTop -= box.top - word.top + 4
  else if (word.bottom > box.bottom) strip.scrollTop += word.bottom - box.bottom + 4
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {any} word
 * @param {number} index
 */
function chip(element, m, word, index) {
  const { labels } = m.header
  return h("button", {
    class: "nt-word" + (word.added ? " added" : ""),
    type: "button",
    "aria-pressed": String(index === m.word),
    title: summary(word, labels),
    onclick: () => {
      open(element, m, index, JSON.stringify([m.header.words, word.start]))
      m.header = { ...m.header, position: word.start }
      draw(element, m)
      m.emit("choose", { position: word.start })
    },
  }, shown(word.letters.flat()), h("small", {}, String(word.ids.length)))
}

/**
 * @param {any} word
 * @param {any} labels
 */
function summary(word, labels) {
  if (word.added) return labels.added
  if (word.whole) return labels.whole
  const values = { letters: word.letters.length, merges: word.merges.length, tokens: word.ids.length }
  return fill(labels.summary, values)
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {HTMLElement} controls
 */
function buttons(element, m, controls) {
  const { labels, words } = m.header
  const count = words[m.word].merges.length
  const go = (/** @type {number} */ done) => {
    m.done = Math.max(0, Math.min(count, done))
    step(element, m)
  }
  const button = (/** @type {string} */ name, /** @type {() => void} */ act, /** @type {string} */ style = "") => {
    const made = part(controls, name, () => h("button", { class: `nt-button ${style}`, type: "button" }, labels[name]))
    set(made, { onclick: act })
  }
  const manual = (/** @type {number} */ to) => {
    pauseWords(element)
    go(to)
  }
  button("next", () => manual(m.done + 1), "primary")
  button("back", () => manual(m.done - 1))
  button("play", () => play(element, m, go))
  button("end", () => manual(count))
  button("reset", () => manual(0))
  const slider = part(controls, "slider", () => h("input", { type: "range", min: "0", "aria-label": labels.slider }))
  set(slider, { max: String(count), oninput: (/** @type {any} */ event) => manual(Number(event.target.value)) })
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {(done: number) => void} go
 */
function play(element, m, go) {
  const running = m.timer !== null
  pauseWords(element)
  if (running) return step(element, m)
  const count = m.header.words[m.word].merges.length
  if (m.done >= count) m.done = 0
  m.timer = setInterval(() => {
    go(m.done + 1)
    if (m.done < count) return
    pauseWords(element)
    step(element, m)
  }, STEP_MS)
  go(m.done + 1)
}

/**
 * Draw the symbols, the next pair and the merges so far.
 * @param {HTMLElement} element
 * @param {Memory} m
 */
function step(element, m) {
  const { words, labels, table_rows: rows } = m.header
  const word = words[m.word]
  const panel = /** @type {HTMLElement} */ (element.querySelector(".nt-player"))
  const find = (/** @type {string} */ name) => /** @type {any} */ (panel.querySelector(`[data-part="${name}"]`))
  const symbols = symbolsAfter(word.letters, word.merges, m.done)
  const next = word.merges[m.done]
  const at = next ? symbols.findIndex((symbol) => symbol.place === next[1]) : -1
  const finished = !next
  find("symbols").replaceChildren(...symbols.map((symbol, index) => h("span", {
    class: "nt-symbol" + (symbol.fresh ? " fresh" : "") + (at >= 0 && (index === at || index === at + 1) ? " pair" : "")
      + (finished ? " done" : ""),
  }, shown(symbol.bytes), finished ? h("small", {}, String(word.ids[index])) : null)))
  const pair = pairOf(word.letters, word.merges, m.done)
  find("next").replaceChildren(...(pair ? sentence(labels.next_pair, pair, rows) : [ending(word, labels)]))
  find("slider").value = String(m.done)
  find("next").dataset.done = String(finished)
  const controls = find("controls")
  const set_ = (/** @type {string} */ name, /** @type {boolean} */ off) => {
    controls.querySelector(`[data-part="${name}"]`).disabled = off
  }
  set_("next", finished)
  set_("end", finished)
  set_("back", m.done === 0)
  set_("reset", m.done === 0)
  set_("play", word.merges.length === 0)
  controls.querySelector('[data-part="play"]').textContent = m.timer === null ? labels.play : labels.pause
  controls.hidden = word.merges.length === 0
  find("history").replaceChildren(...Array.from({ length: m.done }, (_, index) => row(word, index)))
}

/**
 * @param {any} word
 * @param {any} labels
 */
function ending(word, labels) {
  if (word.added) return labels.added
  if (word.whole) return labels.whole
  return fill(word.ids.length === 1 ? labels.finished_one : labels.finished, { count: word.ids.length })
}

/**
 * A sentence around a pair: its places `{left}` and `{right}` are elements, `{rank}` a number.
 * @param {string} template
 * @param {import("./merge.js").Pair} pair
 * @param {string} rows
 */
function sentence(template, pair, rows) {
  return template.split(/(\{\w+\})/).map((piece) => {
    if (piece === "{left}") return shown(pair.left)
    if (piece === "{right}") return shown(pair.right)
    if (piece === "{rank}") return h("strong", {}, pair.rank.toLocaleString("en"))
    return document.createTextNode(piece === "{rows}" ? rows : piece)
  })
}

/**
 * @param {any} word
 * @param {number} index
 */
function row(word, index) {
  const pair = /** @type {import("./merge.js").Pair} */ (pairOf(word.letters, word.merges, index))
  const made = [...pair.left, ...pair.right]
  return h("li", {},
    h("span", { class: "rank" }, pair.rank.toLocaleString("en")),
    shown(pair.left), h("span", { class: "nt-muted" }, "+"), shown(pair.right),
    h("span", { class: "nt-muted" }, "→"), shown(made))
}
