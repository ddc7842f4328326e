// @ts-check
/**
 * The sampling laboratory: logits come once, everything that a slider changes is computed and drawn here. The settings
 * are the run's own; the server hears of them when a slider is released.
 */
import { h, memory, part, set } from "./lib/dom.js"
import { pipeline, prepare } from "./lib/sampling.js"
import { text } from "./generate/bars.js"
import { renderDraw } from "./generate/draw-line.js"
import { candidateName } from "./generate/sentence.js"
import { renderSettings } from "./generate/settings.js"
import { distribution, previousIds, scaleFor } from "./generate/view-model.js"
import { renderContext } from "./sampling_lab/context.js"
import { DRAW_STEPS, drawsAt, isGreedy, stageViews } from "./sampling_lab/numbers.js"
import { renderSamples, sample } from "./sampling_lab/samples.js"
import { renderStages } from "./sampling_lab/stages.js"
import { renderColumns, renderLimit, temperatures } from "./sampling_lab/temperatures.js"

export const styles = ["generate.css", "generate-numbers.css", "curves.css", "sampling_lab.css"]

const ROWS = 12
const PLAY_MS = 90
const SLOW_MS = 10

/** @typedef {import("./generate/view-model.js").Header & {given: boolean}} Header */
/** @typedef {import("./generate/view-model.js").Params} Params */

class Lab {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element
    /** @type {Header | null} */
    this.header = null
    /** @type {Header | null} what the parts show that no slider moves */
    this.painted = null
    this.logits = new Float32Array()
    /** @type {ReturnType<typeof prepare> | undefined} of these logits */
    this.prepared = undefined
    /** @type {Params | null} */
    this.params = null
    this.sent = "" // the settings that the server has, as text
    this.dragging = false
    this.frame = 0
    this.timer = 0
    this.draws = 20 // position of the slider: 100 draws
    this.playing = false
    this.slow = false // the last drawing took too long to be done at every frame
    /** @type {import("./sampling_lab/temperatures.js").Known | null} */
    this.known = null
    this.context = "" // names the logits
    this.marked = NaN // the temperature that the curve marks
    this.emit = (/** @type {string} */ _event, /** @type {any} */ _payload) => {}
  }

  /**
   * @param {Header} header
   * @param {Float32Array} logits
   */
  receive(header, logits) {
    this.header = header
    this.logits = logits
    this.prepared = prepare(logits)
    const context = `${header.run}\n${header.position}\n${header.tokens.slice(0, header.position + 1).map((token) => token[0])}`
    if (context !== this.context) this.known = null
    this.context = context
    const settings = JSON.stringify(header.params)
    if (!this.params || (settings !== this.sent && !this.dragging)) this.params = { ...header.params }
    this.sent = settings
    this.paint()
  }

  /** @param {Params} params */
  change(params) {
    this.params = params
    this.dragging = true
    this.soon()
  }

  release() {
    this.dragging = false
    if (this.params && JSON.stringify(this.params) !== this.sent) this.emit("params", { ...this.params })
    this.soon()
  }

  /** At most one repaint a frame. */
  soon() {
    if (this.frame) return
    this.frame = requestAnimationFrame(() => {
      this.frame = 0
      this.paint()
    })
  }

  play() {
    this.playing = !this.playing
    if (this.playing && this.draws === DRAW_STEPS) this.draws = 0
    this.soon()
    this.tick()
  }

  tick() {
    clearTimeout(this.timer)
    if (!this.playing) return
    this.timer = window.setTimeout(() => {
      this.draws += 1
      this.playing = this.draws < DRAW_STEPS
      this.soon()
      this.tick()
    }, PLAY_MS)
  }

  paint() {
    const { header, params, logits, element } = this
    if (!header || !params) return
    const { labels } = header
    const root = part(element, "page", () => h("section", { class: "ntg ntl" }))
    set(root, { "aria-label": labels.title })
    root.classList.toggle("dragging", this.dragging)
    const previous = previousIds(header)
    const result = pipeline(logits, params, previous, this.prepared)
    const shown = distribution(header, logits, params, ROWS, result)
    const ids = shown.bars.map((bar) => bar.id)
    const names = shown.bars.map((bar) => candidateName(labels, bar.id, bar.text))
    const where = part(root, "where", () => h("div", {}))
    if (this.painted !== header) renderContext(where, header, (position) => this.emit("place", { position }))
    renderSettings(part(root, "settings", () => h("div", { class: "nt-panel ntg-settings" })), labels, params, {
      change: (next) => this.change(next),
      release: () => this.release(),
    })
    const stages = stageViews(result, ids)
    const longest = Math.max(...stages.flatMap((stage) => stage.cells.map((cell) => Math.max(cell.share, cell.ghost))))
    const panel = part(root, "pipeline", () => h("div", { class: "nt-panel" }))
    text(panel, "h2", "pipeline-title", "", labels.pipeline_title)
    text(panel, "p", "pipeline-sub", "nt-muted", labels.pipeline_sub)
    renderStages(panel, stages, { names, drawn: ids.indexOf(shown.drawnId), scale: scaleFor(longest), labels })
    renderDraw(part(root, "draw", () => h("div", { class: "nt-panel ntg-draw" })), header, shown, params.seed)
    this.paintSamples(root, result, ids, names, scaleFor(Math.max(...shown.bars.map((bar) => bar.probability))))
    this.paintTemperatures(root, previous, ids, names)
    this.painted = header
  }

  /**
   * @param {HTMLElement} root
   * @param {import("./lib/sampling.js").Pipeline} result
   * @param {number[]} ids
   * @param {string[]} names
   * @param {number} scale
   */
  paintSamples(root, result, ids, names, scale) {
    const { header, params } = this
    if (!header || !params) return
    const panel = part(root, "many", () => h("div", { class: "nt-panel" }))
    panel.classList.toggle("waits", this.slow && this.dragging)
    if (this.slow && this.dragging) return
    const start = performance.now()
    const how = { seed: params.seed, step: header.state.step, count: drawsAt(this.draws) }
    const sampled = sample(result, ids, how)
    this.slow = performance.now() - start > SLOW_MS
    const shown = { names, labels: header.labels, position: this.draws, playing: this.playing, scale, greedy: isGreedy(params) }
    renderSamples(panel, sampled, shown, {
      draws: (position) => {
        this.draws = position
        this.playing = false
        this.soon()
      },
      play: () => this.play(),
    })
  }

  /**
   * @param {HTMLElement} root
   * @param {number[]} previous
   * @param {number[]} ids
   * @param {string[]} names
   */
  paintTemperatures(root, previous, ids, names) {
    const { header, params, logits } = this
    if (!header || !params) return
    const penalty = this.dragging && this.known ? Number(this.known.key) : params.repetition_penalty
    const known = temperatures(this.known, String(penalty), { logits, previous, penalty, ids, names })
    const shown = { labels: header.labels, vocabulary: logits.length, temperature: params.temperature }
    const columns = part(root, "columns", () => h("div", { class: "nt-panel" }))
    const curve = part(root, "curve", () => h("div", { class: "nt-panel" }))
    const news = known !== this.known || this.painted !== header
    if (news) renderColumns(columns, known, shown)
    if (news || params.temperature !== this.marked) renderLimit(curve, known, shown)
    this.known = known
    this.marked = params.temperature
  }

  stop() {
    clearTimeout(this.timer)
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
  const lab = memory(element, () => new Lab(element))
  lab.emit = emit
  lab.receive(header, arrays.logits)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  memory(element, () => new Lab(element)).stop()
}
