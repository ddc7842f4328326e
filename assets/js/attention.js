// @ts-check
/**
 * The Attention page. One module for its two components: one head at work (`view: "head"`), worked out here from
 * the head's own q, k and v, and all heads at once (`view: "overview"`).
 */
import { forgetWidth, onWidth } from "./lib/canvas.js"
import { h, memory, part, set } from "./lib/dom.js"
import { colours, lookup } from "./lib/theme.js"
import { renderArcs } from "./attention/arcs.js"
import { renderControls } from "./attention/controls.js"
import { renderKeep } from "./attention/keep.js"
import { headOf, row, tables } from "./attention/numbers.js"
import { forgetOverview, renderOverview } from "./attention/overview.js"
import { open } from "./attention/place.js"
import { renderShares } from "./attention/shares.js"
import { renderSteps } from "./attention/steps.js"
import { renderTriangles } from "./attention/triangles.js"
import { fill, number, percent, token } from "./attention/words.js"

export const styles = ["attention.css", "attention-pictures.css"]

const TELL_AFTER_MS = 120

/** What is on the screen; the parts of the page read it and call its methods. */
export class State {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element
    /** @type {any} */ this.header = null
    /** @type {any} */ this.arrays = null
    /** @type {any} */ this.labels = {}
    /** @type {import("./attention/numbers.js").Head} */ this.head = /** @type {any} */ (null)
    /** @type {any} */ this.tables = null
    /** @type {ArrayLike<number>[]} */ this.values = []
    /** @type {any} */ this.row = null
    /** @type {any} */ this.colours = null
    /** @type {[number, number, number][]} */ this.ramp = []
    /** @type {[number, number, number][]} */ this.diverging = []
    this.layer = 0
    this.headIndex = 0
    this.query = 0
    this.key = 0
    this.keyChosen = false
    this.asked = 0 // which of the likeliest tokens the direct effects are shown for
    this.top = 1
    this.scrolled = -1
    this.timer = 0
    /** @type {Record<string, number>} */ this.untold = {}
    this.emit = (/** @type {string} */ _event, /** @type {any} */ _payload) => {}
    this.tip = (/** @type {PointerEvent} */ event, /** @type {string | null} */ text) => this.showTip(event, text)
  }

  /**
   * A message of the server, or the same one again. What the learner chose meanwhile and the server has not
   * been told yet stays.
   * @param {any} header
   * @param {any} arrays
   */
  receive(header, arrays) {
    const sameText = this.header && this.header.tokens.join("\0") === header.tokens.join("\0")
    Object.assign(this, { header, arrays, labels: header.labels })
    this.head = headOf(header, arrays)
    const values = [arrays.q, arrays.k, arrays.first]
    if (!this.tables || !values.every((array, i) => same(array, this.values[i]))) this.tables = tables(this.head)
    this.values = values
    const place = { layer: header.layer, head: header.head, position: header.position, ...this.untold }
    if (!sameText) Object.assign(this, { scrolled: -1, keyChosen: false, asked: 0 })
    this.asked = Math.min(this.asked, header.names.length - 1)
    this.layer = place.layer
    this.headIndex = place.head
    this.query = Math.min(place.position, this.head.total - 1)
    open(this.layer, this.headIndex)
    onWidth(this.element, () => this.paint())
  }

  /**
   * Go somewhere: at once where the numbers are here (another query), through the server otherwise.
   * @param {{layer?: number, head?: number, position?: number}} place
   * @param {number} [key]
   */
  choose(place, key) {
    if (place.layer !== undefined) this.layer = place.layer
    if (place.head !== undefined) this.headIndex = place.head
    if (place.position !== undefined) {
      if (place.position !== this.query) this.keyChosen = false
      this.query = place.position
    }
    if (key !== undefined) Object.assign(this, { key, keyChosen: true })
    Object.assign(this.untold, place)
    open(this.layer, this.headIndex)
    this.paint()
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => {
      const told = { layer: this.layer, head: this.headIndex, position: this.query }
      this.untold = {}
      const { layer, head, position } = this.header
      if (told.layer !== layer || told.head !== head || told.position !== position) this.emit("place", told)
    }, TELL_AFTER_MS)
  }

  /** @param {number} key */
  pick(key) {
    Object.assign(this, { key, keyChosen: true })
    this.paint()
  }

  /** @param {number} token_ */
  ask(token_) {
    this.asked = token_
    this.paint()
  }

  paint() {
    if (!this.header || !this.element.clientWidth) return
    const began = performance.now()
    this.row = row(this.head, this.query)
    if (!this.keyChosen || this.key >= this.head.total) this.key = heaviest(this.row.weights)
    this.colours = colours(this.element)
    this.ramp = lookup(this.colours.ramp)
    this.diverging = lookup(this.colours.diverging)
    const root = part(this.element, "page", () => h("section", { class: "nta" }))
    const waiting = this.layer !== this.header.layer || this.headIndex !== this.header.head
    root.classList.toggle("waiting", waiting)
    set(root, { "aria-label": this.labels.title, "data-layer": this.header.layer, "data-head": this.header.head, "data-query": this.query })
    renderControls(part(root, "controls", () => h("div", { class: "nta-controls" })), this)
    const looks = part(root, "looks", () => h("div", { class: "nt-panel" }))
    part(looks, "title", () => h("h3")).textContent = this.sentence()
    part(looks, "sub", () => h("p", { class: "nt-muted" })).textContent = this.labels.looks_sub
    renderArcs(looks, this)
    const steps = part(root, "steps", () => h("div", { class: "nt-panel" }))
    part(steps, "title", () => h("h3")).textContent = fill(this.labels.steps_title, { query: token(this.header.tokens[this.query]) })
    renderSteps(steps, this)
    part(steps, "written", () => h("p", { class: "nta-written", "aria-live": "polite" })).textContent = this.written()
    const pictures = part(root, "triangles", () => h("div", { class: "nt-panel" }))
    part(pictures, "title", () => h("h3")).textContent = this.labels.triangles_title
    renderTriangles(pictures, this)
    renderKeep(pictures, this)
    renderShares(part(root, "shares", () => h("div", { class: "nt-panel nta-shares-panel" })), this)
    part(this.element, "tip", () => h("div", { class: "nt-tip", hidden: true }))
    set(root, { "data-paint-ms": (performance.now() - began).toFixed(2) })
  }

  sentence() {
    const at = heaviest(this.row.weights)
    return fill(this.labels.looks_title, {
      query: token(this.header.tokens[this.query]), key: token(this.header.tokens[at]), weight: percent(this.row.weights[at]),
      layer: this.header.layer, head: this.header.head,
    })
  }

  /** The chosen cell with its operands filled in. */
  written() {
    const { row: r, key, query, head, labels, header } = this
    const values = {
      query: token(header.tokens[query]), key: token(header.tokens[key]), size: head.size, raw: number(r.raw[key]),
      scale: number(head.scale), score: number(r.scores[key]), weight: percent(r.weights[key]),
    }
    return fill(key > query || key < head.first[query] ? labels.written_masked : labels.written, values)
  }

  /**
   * @param {PointerEvent} event
   * @param {string | null} text
   */
  showTip(event, text) {
    const tip = /** @type {HTMLElement | null} */ (this.element.querySelector(".nt-tip"))
    if (!tip) return
    tip.hidden = text === null || event.pointerType === "touch"
    if (tip.hidden) return
    tip.textContent = text
    const box = this.element.getBoundingClientRect()
    const left = Math.min(event.clientX - box.left + 14, box.width - tip.offsetWidth - 4)
    set(tip, { style: { left: `${Math.max(0, left)}px`, top: `${event.clientY - box.top + 18}px` } })
  }
}

/**
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
function same(a, b) {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** @param {Float64Array} weights */
function heaviest(weights) {
  return weights.reduce((best, weight, at) => (weight > weights[best] ? at : best), 0)
}

/**
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays
 * @param {(event: string, payload?: any) => void} emit
 */
export function render(element, header, arrays, emit) {
  if (header.view === "overview") return renderOverview(element, header, arrays, emit)
  const state = memory(element, () => new State(element))
  state.emit = emit
  state.receive(header, arrays)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  forgetOverview(element)
  forgetWidth(element)
}
