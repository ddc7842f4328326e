// @ts-check
/**
 * The Experts page. One module for its components: the routing of a text (`view: "routing"`), what the experts of the
 * chosen cell added (`"added"`), the tokens that one expert took (`"taken"`), one word in two contexts (`"pair"`).
 */
import { forgetWidth, onWidth } from "./lib/canvas.js"
import { h, memory, part, set } from "./lib/dom.js"
import { fill, percent, token } from "./attention/words.js"
import { renderAdded } from "./experts/added.js"
import { renderDetail } from "./experts/detail.js"
import { renderGrid, roomOf } from "./experts/grid.js"
import { chosenAt, inCommon, routingOf } from "./experts/numbers.js"
import { renderPath, swatch } from "./experts/path.js"
import { hold, listen, move, place } from "./experts/place.js"
import { renderTaken } from "./experts/taken.js"

export const styles = ["experts.css"]

const TELL_AFTER_MS = 120

/** The routing view: what was sent, and what is chosen in the browser. */
export class State {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element
    /** @type {any} */ this.header = null
    /** @type {any} */ this.labels = {}
    /** @type {import("./experts/numbers.js").Routing} */ this.routing = /** @type {any} */ (null)
    this.spread = false
    this.scrolled = ""
    this.timer = 0
    this.emit = (/** @type {string} */ _event, /** @type {any} */ _payload) => {}
    this.forget = listen(() => this.paint())
    this.tip = (/** @type {PointerEvent} */ event, /** @type {string | null} */ text) => this.showTip(event, text)
  }

  /**
   * @param {any} header
   * @param {any} arrays
   */
  receive(header, arrays) {
    if (this.header?.tokens.length !== header.tokens.length) this.scrolled = ""
    Object.assign(this, { header, labels: header.labels, routing: routingOf(header, arrays) })
    onWidth(this.element, () => this.paint())
  }

  /**
   * Light a cell at once; tell the page when the learner has come to rest.
   * @param {{layer?: number, position?: number}} at
   * @param {number} [wait] in milliseconds
   */
  choose(at, wait = TELL_AFTER_MS) {
    clearTimeout(this.timer)
    hold(true)
    this.timer = window.setTimeout(() => {
      this.timer = 0
      hold(false)
      const { layer, position } = place()
      this.emit("choose", { layer, position })
    }, wait)
    move(at)
  }

  /**
   * Look for one expert in the whole grid, or for none again.
   * @param {number} expert
   */
  seek(expert) {
    const sought = place().expert === expert ? null : expert
    move({ expert: sought })
    if (sought !== null) this.emit("expert", { expert: sought })
  }

  paint() {
    if (!this.header || !this.element.clientWidth) return
    const began = performance.now()
    const { layer, position } = place()
    const at = { layer: Math.min(layer, this.header.n_layers - 1), position: Math.min(position, this.routing.total - 1) }
    if (at.layer !== layer || at.position !== position) return move(at)
    const root = part(this.element, "page", () => h("section", { class: "ntx" }))
    set(root, { "aria-label": this.labels.title, "data-layer": at.layer, "data-position": at.position })
    const main = part(root, "main", () => h("div", { class: "nt-panel" }))
    part(main, "title", () => h("h3", { "aria-live": "polite" })).textContent = this.sentence()
    const sub = part(main, "sub", () => h("p", { class: "nt-muted" }))
    const bar = part(main, "bar", () => h("div", { class: "ntx-choices" }))
    const room = roomOf(renderGrid(main, this), this)
    sub.textContent = `${this.labels.grid_sub} ${room.narrow ? this.labels.grid_narrow : this.labels.grid_whole}`
    renderBar(bar, this, room.spreads)
    const two = part(root, "two", () => h("div", { class: "ntx-two" }))
    const detail = part(two, "detail", () => h("div", { class: "nt-panel" }))
    part(detail, "title", () => h("h3")).textContent = this.labels.bars_title
    renderDetail(detail, this)
    const path = part(two, "path", () => h("div", { class: "nt-panel" }))
    const shown = token(this.header.tokens[at.position])
    part(path, "title", () => h("h3")).textContent = fill(this.labels.path_title, { token: shown })
    part(path, "sub", () => h("p", { class: "nt-muted" })).textContent = this.labels.path_sub
    renderPath(path, "steps", this.steps(at.position), {
      title: fill(this.labels.path_title, { token: shown }), labels: this.labels, lit: at.layer, choose: (to) => this.choose({ layer: to }, 0),
    })
    part(this.element, "tip", () => h("div", { class: "nt-tip", hidden: true }))
    set(root, { "data-paint-ms": (performance.now() - began).toFixed(2) })
  }

  /** @param {number} position */
  steps(position) {
    return Array.from({ length: this.header.n_layers }, (_, layer) => ({ layer, chosen: chosenAt(this.routing, layer, position) }))
  }

  sentence() {
    const { layer, position } = place()
    const chosen = chosenAt(this.routing, layer, position)
    const values = { token: token(this.header.tokens[position]), layer }
    if (!chosen) return fill(this.labels.sentence_dense, values)
    const experts = chosen.map(({ expert, weight }) => `${expert} (${percent(weight)})`).join(", ")
    return fill(this.labels.sentence, { ...values, experts })
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
 * Zoom, and one chip per expert that is also the legend.
 * @param {HTMLElement} bar
 * @param {State} s
 * @param {boolean} spreads whether there is anything to spread out
 */
function renderBar(bar, s, spreads) {
  const zoom = part(bar, "zoom", () => h("button", { type: "button", class: "nt-chip" }))
  set(zoom, { hidden: !spreads, "aria-pressed": String(s.spread), onclick: () => {
    s.spread = !s.spread
    s.paint()
  } })
  zoom.textContent = s.labels.zoom
  const legend = part(bar, "legend", () => h("div", { class: "ntx-legend", role: "group" }))
  set(legend, { "aria-label": s.labels.legend })
  part(legend, "name", () => h("span", { class: "nt-muted" })).textContent = s.labels.legend
  for (let expert = 0; expert < s.routing.experts; expert++) {
    const chip = part(legend, `e-${expert}`, () => h("button", { type: "button", class: "ntx-key" }, h("span")))
    swatch(/** @type {HTMLElement} */ (chip.firstElementChild), expert, true)
    set(chip, {
      "aria-pressed": String(place().expert === expert), "aria-label": fill(s.labels.seek, { expert }),
      title: fill(s.labels.seek, { expert }), onclick: () => s.seek(expert),
    })
  }
  for (const chip of [...legend.querySelectorAll(".ntx-key")].slice(s.routing.experts)) chip.remove()
}

/**
 * One word in two texts: both ways through the layers, the experts in common framed.
 * @param {HTMLElement} panel
 * @param {any} header `routers`, `n_layers`, `rows`: {title, indices, weights}
 */
function renderPair(panel, header) {
  const ways = header.rows.map((/** @type {any} */ row) => Array.from({ length: header.n_layers }, (_, layer) => {
    const at = header.routers.indexOf(layer)
    const chosen = at < 0 ? null : row.indices[at].map((/** @type {number} */ expert, /** @type {number} */ i) => ({ expert, weight: row.weights[at][i] }))
    chosen?.sort((/** @type {any} */ a, /** @type {any} */ b) => b.weight - a.weight)
    return { layer, chosen }
  }))
  header.rows.forEach((/** @type {any} */ row, /** @type {number} */ i) => {
    const box = part(panel, `row-${i}`, () => h("div", { class: "ntx-text" }))
    part(box, "title", () => h("h4")).textContent = row.title
    const steps = ways[i].map((/** @type {any} */ step, /** @type {number} */ layer) => {
      const other = ways[1 - i][layer].chosen
      const common = new Set(step.chosen && other && inCommon(step.chosen, other)
        ? other.map((/** @type {any} */ c) => c.expert) : [])
      return { ...step, common }
    })
    renderPath(box, "steps", steps, { title: row.title, labels: header.labels, lit: -1, choose: null })
  })
}

/**
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays
 * @param {(event: string, payload?: any) => void} emit
 */
export function render(element, header, arrays, emit) {
  if (header.view === "routing") {
    const state = memory(element, () => new State(element))
    state.emit = emit
    return state.receive(header, arrays)
  }
  const root = part(element, "page", () => h("section", { class: "ntx" }))
  const panel = part(root, "main", () => h("div", { class: "nt-panel" }))
  if (header.view === "place") {
    root.hidden = header.parts.length === 0
    element.toggleAttribute("data-nt-empty", root.hidden) // and nothing to keep
    if (!hold()) move({ layer: header.layer, position: header.position })
    renderAdded(panel, header)
  } else if (header.view === "taken") renderTaken(panel, header)
  else renderPair(panel, header)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  const frame = element.querySelector(".ntx-frame")
  if (!frame) return
  forgetWidth(/** @type {HTMLElement} */ (frame))
  forgetWidth(element)
  const state = memory(element, () => new State(element))
  clearTimeout(state.timer)
  state.forget()
}
