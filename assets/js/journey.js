// @ts-check
/**
 * The journey: the whole run on one grid. Steps, keys and settings are those of the Generate page; this draws them as
 * columns that rise, read from the left, end in the bars, and go round the loop.
 */
import { Generate } from "./generate.js"
import { BAR_COUNTS, put, renderBars, text } from "./generate/bars.js"
import { renderDraw } from "./generate/draw-line.js"
import { fill } from "./generate/format.js"
import { quoted, sentence } from "./generate/sentence.js"
import { renderSettings } from "./generate/settings.js"
import { distribution } from "./generate/view-model.js"
import { renderGrid } from "./journey/grid.js"
import { lensOf } from "./journey/lenses.js"
import { Film } from "./journey/motion.js"
import { risen } from "./journey/picture.js"
import { renderStations } from "./journey/stations.js"
import { forgetWidth } from "./lib/canvas.js"
import { h, memory, part, set } from "./lib/dom.js"
import { colours } from "./lib/theme.js"

export const styles = ["generate.css", "generate-numbers.css", "journey.css"]

const EMIT_AFTER_MS = 160

class Journey extends Generate {
  /** @param {HTMLElement} element */
  constructor(element) {
    super(element)
    /** @type {any} */
    this.arrays = null
    /** @type {Film | null} */
    this.film = null
    this.filmFrame = 0
    /** @type {{header: any, logits: Float32Array} | null} the numbers that stay until the new column has risen */
    this.held = null
    this.layer = 0
    this.position = 0
    this.choosing = 0
    this.started = false
    this.skipKey = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && this.endFilm()
    document.addEventListener("keydown", this.skipKey)
  }

  /**
   * @param {any} header
   * @param {any} arrays
   */
  take(header, arrays) {
    const old = this.header
    const stepped = old && old.run === header.run && header.state.step === old.state.step + 1 && !this.before
    const fresh = !this.started && header.state.step === 0
    this.started = true
    const held = old ? { header: old, logits: this.logits } : null
    this.arrays = arrays
    if (!this.choosing || stepped) Object.assign(this, { layer: header.journey.layer, position: header.journey.position })
    if (!old || old.run !== header.run || header.state.step !== old.state.step) this.dropFilm()
    if (stepped) this.startFilm("step", held)
    else if (fresh) this.startFilm("prefill", null)
    this.receive(header, arrays.logits)
    if (header.journey.lens.name === "say" && !header.journey.lens.complete && !this.film) this.more()
  }

  /** Ask for more cells of the lens, once the browser is at rest. */
  more() {
    setTimeout(() => {
      const lens = /** @type {any} */ (this.header)?.journey.lens
      if (lens?.name === "say" && !lens.complete && !this.waiting && !this.film) this.emit("more", this.number + lens.done)
    }, 60)
  }

  // -- the film of a step ----------------------------------------------------------------------------

  /**
   * @param {"step" | "prefill"} kind
   * @param {{header: any, logits: Float32Array} | null} held
   */
  startFilm(kind, held) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches || document.hidden) return
    this.film = new Film(kind, this.speed)
    this.held = held
    const turn = (/** @type {number} */ now) => {
      if (!this.film) return
      const moment = this.film.frame(now, this.speed)
      if (moment.phase === "end") return void this.endFilm()
      this.paintMoving()
      this.filmFrame = requestAnimationFrame(turn)
    }
    this.filmFrame = requestAnimationFrame(turn)
  }

  dropFilm() {
    cancelAnimationFrame(this.filmFrame)
    this.film = null
    this.held = null
  }

  /** To the end of the film at once. */
  endFilm() {
    if (!this.film) return
    this.dropFilm()
    this.paint()
    this.playOn()
    this.more()
  }

  hold() {
    if (!this.film) return
    this.film.held = !this.film.held
    this.paintMoving()
  }

  forward() {
    const first = this.before
    if (this.film) this.endFilm()
    super.forward()
    if (first && !this.before) {
      this.startFilm("prefill", null)
      this.paint()
    }
    return undefined
  }

  back() {
    this.endFilm()
    super.back()
  }

  playOn() {
    if (this.film) clearTimeout(this.timer)
    else super.playOn()
  }

  barOf() {
    return null // the film shows where the token goes
  }

  // -- drawing ---------------------------------------------------------------------------------------

  /** @param {boolean} [numbers] false while nothing but the controls can have changed */
  paint(numbers = true) {
    const { header, params, element } = this
    if (!header || !params) return
    const labels = header.labels
    const root = part(element, "page", () => h("section", { class: "ntg ntj" }))
    set(root, { "aria-label": labels.title })
    root.classList.toggle("before", this.before)
    root.classList.toggle("busy", this.waiting > 0)
    this.paintControls(root, header)
    part(root, "head", () => h("header", { class: "ntg-head ntj-head", "aria-live": "polite" }))
    part(root, "main", () => h("div", { class: "ntj-main" }))
    this.paintMoving()
    if (numbers) this.paintNumbers(root)
  }

  /** What a frame of the film changes: the sentence and the grid. */
  paintMoving() {
    const root = /** @type {HTMLElement | null} */ (this.element.querySelector('[data-part="page"]'))
    const header = /** @type {any} */ (this.header)
    if (!root || !header) return
    const head = part(root, "head", () => h("header", {}))
    const said = this.story(header)
    text(head, "p", "now", "ntg-now", said.title)
    text(head, "p", "now-sub", "ntg-now-sub nt-muted", header.notice || said.sub)
    this.handles(head, header.labels)
    head.setAttribute("aria-live", this.film ? "off" : "polite")
    const main = part(root, "main", () => h("div", {}))
    const left = part(main, "left", () => h("div", { class: "ntj-left" }))
    this.lenses(left, header)
    renderGrid(left, {
      header, arrays: this.arrays, palette: colours(this.element), lens: lensOf(header, this.arrays),
      layer: this.layer, position: this.position, before: this.before, moment: this.film?.moment() ?? null,
      kind: this.film?.kind ?? "step", open: this.canNext(),
    }, {
      choose: (place, wait) => this.choose(place, wait ? EMIT_AFTER_MS : 0),
      open: (place) => this.open("block", place),
    })
    root.classList.toggle("filming", this.film !== null)
  }

  /**
   * One sentence: what is happening right now.
   * @param {any} header
   */
  story(header) {
    const moment = this.film?.moment()
    if (!this.film || !moment || moment.phase === "end") return sentence(header, this.before)
    const { labels } = header
    const layer = Math.min(header.layers, risen(/** @type {any} */ ({ moment, geo: { layers: header.layers } })) + 1)
    const last = header.prompt + header.state.step - 1
    const values = { token: quoted(header, last), layer, layers: header.layers, count: last, prompt: header.prompt }
    const key = this.film.kind === "prefill" ? "film_prefill" : `film_${moment.phase}`
    return { title: fill(labels[key], values), sub: fill(labels[`${key}_sub`], values) }
  }

  /**
   * What holds and what skips the film, there while it plays.
   * @param {HTMLElement} root
   * @param {Record<string, string>} labels
   */
  handles(root, labels) {
    const film = part(root, "film", () => h("span", { class: "ntj-film" },
      h("button", { type: "button", class: "nt-chip" }), h("button", { type: "button", class: "nt-chip" }, labels.film_skip)))
    const [hold, skip] = /** @type {HTMLElement[]} */ ([...film.children])
    film.style.visibility = this.film ? "visible" : "hidden"
    put(hold, this.film?.held ? labels.film_go : labels.film_hold)
    set(hold, { onclick: () => this.hold() })
    set(skip, { onclick: () => this.endFilm() })
  }

  /**
   * The row of lenses, and the heads under that of attention.
   * @param {HTMLElement} root
   * @param {any} header
   */
  lenses(root, header) {
    const { labels, journey } = header
    const row = part(root, "lenses", () => h("div", { class: "ntj-lenses", role: "group", "aria-label": labels.lens_name }))
    for (const name of journey.lenses) {
      const chip = part(row, name, () => h("button", { type: "button", class: "nt-chip" }, labels[`lens_${name}`]))
      set(chip, { "aria-pressed": String(name === journey.lens.name), onclick: () => this.emit("lens", name) })
    }
    const note = text(root, "p", "lens-note", "ntj-note nt-muted", labels[`lens_${journey.lens.name}_note`])
    note.classList.toggle("busy", journey.lens.name === "say" && !journey.lens.complete)
    const heads = part(root, "heads", () => h("div", { class: "ntj-heads", role: "group", "aria-label": labels.heads_name }))
    heads.hidden = journey.lens.name !== "attention"
    if (heads.hidden) return
    part(heads, "word", () => h("span", { class: "nt-muted" }, labels.heads_name))
    while (heads.children.length > journey.heads + 1) heads.lastElementChild?.remove()
    for (let head = 0; head < journey.heads; head++) {
      const chip = part(heads, `h${head}`, () => h("button", { type: "button", class: "nt-chip" }, String(head)))
      set(chip, { "aria-pressed": String(head === journey.head), onclick: () => this.emit("choose", { head }) })
    }
  }

  /**
   * @param {HTMLElement} root
   */
  paintNumbers(root) {
    const { header, logits } = this.held ?? { header: this.header, logits: this.logits }
    const params = /** @type {any} */ (this.params)
    if (!header) return
    const shown = distribution(header, logits, params, BAR_COUNTS[this.level])
    const main = part(root, "main", () => h("div", {}))
    const side = part(main, "side", () => h("div", { class: "ntj-side" }))
    side.inert = this.before
    renderBars(part(side, "chances", () => h("div", { class: "nt-panel" })), header, shown, logits.length, this.level, {
      take: (id) => {
        this.playing = false
        this.endFilm()
        this.send("take", id)
      },
      level: (level) => this.paintWith(() => (this.level = level)),
    })
    renderDraw(part(side, "draw", () => h("div", { class: "nt-panel ntg-draw" })), header, shown, params.seed)
    const box = part(side, "settings", () =>
      h("details", { class: "nt-panel ntg-settings ntj-settings" }, h("summary", {}, header.labels.settings)))
    renderSettings(part(box, "sliders", () => h("div", {})), header.labels, params, {
      change: (next) => this.change(next),
      release: () => this.release(),
    })
    const check = text(root, "p", "check", "ntj-check nt-muted", header.journey.check)
    root.append(check) // below the stations
    if (this.held) return
    const now = {
      header, arrays: this.arrays, shown, palette: colours(this.element), vocabulary: logits.length,
      layer: this.layer, position: this.position,
    }
    renderStations(part(root, "turn", () => h("section", { class: "ntj-turn" })), now, (page) => this.open(page, {}))
  }

  // -- what the learner chooses ----------------------------------------------------------------------

  /**
   * Light the cell at once; tell the page when the learner has come to rest.
   * @param {{layer: number, position: number}} place
   * @param {number} wait in milliseconds
   */
  choose(place, wait) {
    Object.assign(this, place)
    this.paintMoving()
    clearTimeout(this.choosing)
    this.choosing = window.setTimeout(() => {
      this.choosing = 0
      this.emit("choose", { layer: this.layer, position: this.position })
    }, wait)
  }

  /**
   * @param {string} page
   * @param {object} place
   */
  open(page, place) {
    clearTimeout(this.choosing)
    this.choosing = 0
    this.playing = false
    this.emit("open", { page, layer: this.layer, position: this.position, ...place })
  }

  stop() {
    super.stop()
    document.removeEventListener("keydown", this.skipKey)
    this.dropFilm()
    clearTimeout(this.choosing)
    const frame = this.element.querySelector(".ntj-grid")
    if (frame) forgetWidth(/** @type {HTMLElement} */ (frame))
  }
}

/**
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays
 * @param {(event: string, payload?: any) => void} emit
 */
export function render(element, header, arrays, emit) {
  const page = memory(element, () => new Journey(element))
  page.emit = emit
  page.take(header, arrays)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  memory(element, () => new Journey(element)).stop()
}
