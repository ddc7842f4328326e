// @ts-check
/**
 * The Generate page as one component. The server sends a step's logits once; everything that sliders change is
 * computed here. `render` keeps the elements across steps, so nothing flickers and the focus stays where it is.
 */
import { h, memory, part, set } from "./lib/dom.js"
import * as grid from "./small_grid.js"
import { BAR_COUNTS, renderBars, text } from "./generate/bars.js"
import { renderDraw } from "./generate/draw-line.js"
import { renderFacts } from "./generate/facts.js"
import { fill } from "./generate/format.js"
import { renderGuess, start, waits } from "./generate/guess.js"
import { renderRibbon } from "./generate/ribbon.js"
import { sentence } from "./generate/sentence.js"
import { renderSettings } from "./generate/settings.js"
import { SPEEDS, onKey, renderStepper } from "./generate/stepper.js"
import { distribution } from "./generate/view-model.js"

export const styles = ["generate.css", "generate-numbers.css", "question.css", "small_grid.css"]

const LOST_AFTER_MS = 60_000
const FALL_MS = 260

/** @typedef {import("./generate/view-model.js").Header} Header */
/** @typedef {import("./generate/view-model.js").Params} Params */

export class Generate {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element
    /** @type {Header | null} */
    this.header = null
    this.logits = new Float32Array()
    /** @type {Params | null} */
    this.params = null
    this.sent = "" // the settings that the server has, as text
    this.before = false // the learner looks at the moment before the prefill
    this.playing = false
    this.speed = 1
    this.level = 0
    this.guessing = start()
    this.number = Date.now() // of the last event; a page that is opened again must not reuse a number
    this.waiting = 0 // number of the event that is not answered yet
    this.waitingFor = ""
    this.dragging = false
    this.frame = 0
    this.timer = 0
    this.lost = 0
    this.emit = (/** @type {string} */ _event, /** @type {any} */ _payload) => {}
    this.moves = {
      forward: () => this.forward(),
      back: () => this.back(),
      play: () => this.play(!this.playing),
      reset: () => this.reset(),
      jump: (/** @type {number} */ step) => this.jump(step),
      speed: (/** @type {number} */ level) => this.paintWith(() => (this.speed = level)),
    }
    this.keys = (/** @type {KeyboardEvent} */ event) => onKey(event, this.moves)
    document.addEventListener("keydown", this.keys)
  }

  /**
   * A new message of the server, or the same one again (theme, another widget).
   * @param {Header} header
   * @param {Float32Array} logits
   */
  receive(header, logits) {
    const old = this.header
    const stepped = old && old.run === header.run && header.state.step === old.state.step + 1 && !this.before
    if (!old || old.run !== header.run) {
      this.before = false
      this.playing = false
    }
    this.header = header
    this.logits = logits
    const settings = JSON.stringify(header.params)
    if (!this.params || (settings !== this.sent && !this.dragging)) this.params = { ...header.params }
    this.sent = settings
    const restarted = old && old.session !== header.session // what was sent to the server before has gone with it
    if (header.answered === this.waiting || restarted) this.settle()
    if (header.notice) this.playing = false
    const from = stepped ? this.barOf(header.tokens[header.prompt + header.state.step - 1][0]) : null
    this.paint()
    if (from) this.fall(from)
    if (!this.waiting && !this.dragging && JSON.stringify(this.params) !== settings) this.send("params") // set meanwhile
    this.playOn()
  }

  settle() {
    this.waiting = 0
    this.waitingFor = ""
    clearTimeout(this.lost)
  }

  /**
   * Tell the server. While it works nothing more is sent, so a double click is one step.
   * @param {string} kind
   * @param {number} [value]
   */
  send(kind, value = 0) {
    if (this.waiting || !this.params || !this.header) return false
    this.waiting = ++this.number
    this.waitingFor = kind
    this.lost = window.setTimeout(() => this.paintWith(() => this.settle()), LOST_AFTER_MS)
    this.emit("act", { kind, number: this.number, value, params: this.params, run: this.header.run })
    this.paint(false)
    return true
  }

  forward() {
    if (this.before) return this.paintWith(() => (this.before = false), () => this.playOn())
    if (this.canNext()) this.send("next")
    return undefined
  }

  back() {
    this.playing = false
    if (!this.header || this.waiting || this.before) return
    if (this.header.state.step === 0) this.paintWith(() => (this.before = true))
    else this.send("back")
  }

  reset() {
    this.playing = false
    if (this.send("reset")) this.paintWith(() => (this.before = true))
  }

  /** @param {number} step -1: before the prefill */
  jump(step) {
    this.playing = false
    if (!this.header) return
    this.before = step < 0
    if (Math.max(0, step) === this.header.state.step || !this.send("jump", Math.max(0, step))) this.paint()
  }

  /** @param {boolean} on */
  play(on) {
    this.playing = on && (this.before || this.canNext())
    this.paint()
    if (this.playing) this.forward()
    else clearTimeout(this.timer)
  }

  /** The next step of playing, once this one has been painted. */
  playOn() {
    clearTimeout(this.timer)
    if (!this.playing || this.waiting) return
    if (!this.canNext()) return void this.paintWith(() => (this.playing = false))
    requestAnimationFrame(() => {
      this.timer = window.setTimeout(() => this.playing && this.forward(), SPEEDS[this.speed].wait)
    })
  }

  canNext() {
    if (!this.header) return false
    const { ahead, stop } = this.header.state
    return this.before || ahead > 0 || stop === null
  }

  /**
   * @param {() => void} change
   * @param {() => void} [then]
   */
  paintWith(change, then) {
    change()
    this.paint()
    then?.()
  }

  /** @param {boolean} [numbers] false while nothing but the controls can have changed */
  paint(numbers = true) {
    const { header, params, element } = this
    if (!header || !params) return
    const labels = header.labels
    const root = part(element, "page", () => h("section", { class: "ntg" }))
    set(root, { "aria-label": labels.title })
    root.classList.toggle("dragging", this.dragging)
    root.classList.toggle("before", this.before)
    root.classList.toggle("busy", this.waiting > 0)
    const head = part(root, "head", () => h("header", { class: "ntg-head", "aria-live": "polite" }))
    const said = sentence(header, this.before)
    text(head, "p", "now", "ntg-now", said.title)
    text(head, "p", "now-sub", "ntg-now-sub nt-muted", header.notice || said.sub)
    this.paintControls(root, header)
    renderRibbon(part(root, "text", () => h("div", { class: "nt-panel" })), header, this.before, {
      jump: (step) => this.jump(step),
      place: (position) => void this.send("place", position),
    })
    if (!numbers) return
    renderGuess(part(root, "guess", () => h("div", { class: "ntg-guess" })), header, this.logits, this.guessing, () => this.paint())
    this.paintNumbers(root)
  }

  /**
   * The row that steps the run, and what is being waited for.
   * @param {HTMLElement} root
   * @param {Header} header
   */
  paintControls(root, header) {
    const controls = part(root, "controls", () => h("div", { class: "ntg-controls" }))
    renderStepper(controls, header, {
      before: this.before, playing: this.playing, busy: this.waiting > 0, speed: this.speed, canNext: this.canNext(),
    }, this.moves)
    const busy = text(controls, "p", "busy", "ntg-busy", fill(header.labels.busy, { count: 1 }))
    busy.hidden = !["next", "take"].includes(this.waitingFor)
  }

  /**
   * What the settings change: the only part that is drawn while a slider moves.
   * @param {HTMLElement} root
   */
  paintNumbers(root) {
    const header = /** @type {Header} */ (this.header)
    const params = /** @type {Params} */ (this.params)
    if (waits(this.guessing, header)) return root.querySelector('[data-part="numbers"]')?.remove()
    const shown = distribution(header, this.logits, params, BAR_COUNTS[this.level])
    const grid = part(root, "numbers", () => h("div", { class: "ntg-numbers" }))
    grid.inert = this.before
    const left = part(grid, "left", () => h("div", { class: "ntg-column" }))
    const right = part(grid, "right", () => h("div", { class: "ntg-column" }))
    renderBars(part(left, "chances", () => h("div", { class: "nt-panel" })), header, shown, this.logits.length, this.level, {
      take: (id) => {
        this.playing = false
        this.send("take", id)
      },
      level: (level) => this.paintWith(() => (this.level = level)),
    })
    renderSettings(part(right, "settings", () => h("div", { class: "nt-panel ntg-settings" })), header.labels, params, {
      change: (next) => this.change(next),
      release: () => this.release(),
    })
    renderFacts(part(left, "facts", () => h("div", { class: "nt-panel ntg-facts" })), header, shown)
    renderDraw(part(grid, "draw", () => h("div", { class: "nt-panel ntg-draw" })), header, shown, params.seed)
    return undefined
  }

  /**
   * A slider moves: at most one repaint a frame, and no word to the server.
   * @param {Params} params
   */
  change(params) {
    this.params = params
    this.dragging = true
    if (this.frame) return
    this.frame = requestAnimationFrame(() => {
      this.frame = 0
      const root = /** @type {HTMLElement | null} */ (this.element.querySelector('[data-part="page"]'))
      if (!root) return
      root.classList.toggle("dragging", this.dragging)
      this.paintNumbers(root)
    })
  }

  release() {
    this.dragging = false
    this.element.querySelector('[data-part="page"]')?.classList.remove("dragging")
    if (JSON.stringify(this.params) !== this.sent) this.send("params")
  }

  /**
   * Where a token's bar is now, before the next step replaces it.
   * @param {number} id
   */
  barOf(id) {
    const bar = this.element.querySelector(`.ntg-bar[data-id="${id}"] .ntg-bar-name`)
    return bar ? bar.getBoundingClientRect() : null
  }

  /**
   * The chosen token falls from the bars into the text.
   * @param {DOMRect} from
   */
  fall(from) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || !this.header) return
    const { prompt, state } = this.header
    const chip = this.element.querySelector(".ntg-ribbon")?.children[prompt + state.step - 1]
    if (!chip) return
    const to = chip.getBoundingClientRect()
    const start = `translate(${from.left - to.left}px, ${from.top - to.top}px)`
    chip.animate([{ transform: start, opacity: 0.4 }, { transform: "none", opacity: 1 }], { duration: FALL_MS, easing: "ease-out" })
  }

  stop() {
    document.removeEventListener("keydown", this.keys)
    clearTimeout(this.timer)
    clearTimeout(this.lost)
    cancelAnimationFrame(this.frame)
  }
}

/**
 * @param {HTMLElement} element
 * @param {Header} header
 * @param {any} arrays
 * @param {(event: string, payload?: any) => void} emit
 */
export function render(element, header, arrays, emit) {
  const page = memory(element, () => new Generate(element))
  const map = part(element, "grid", () => h("div", { class: "ntg-map" }))
  grid.render(map, header.grid, { shades: arrays.shades }, emit)
  page.emit = emit
  page.receive(header, arrays.logits)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  const map = element.querySelector(".ntg-map")
  if (map) grid.destroy(/** @type {HTMLElement} */ (map))
  memory(element, () => new Generate(element)).stop()
}
