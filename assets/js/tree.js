// @ts-check
/** The tree of continuations: seen growing, walked by keyboard, with beam search on the same branches. */
import { h, memory, part, set } from "./lib/dom.js"
import { renderBeams, marks } from "./tree/beams.js"
import { foldOthers, follow } from "./tree/layout.js"
import { button, choice, line, renderGrow, renderHere } from "./tree/panels.js"
import { fill } from "./generate/format.js"
import { renderPicture, reveal } from "./tree/picture.js"

export const styles = ["vectors.css", "tree.css"]

const ARROWS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]

class Tree {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element
    /** @type {any} */
    this.header = null
    this.state = { focus: 0, folded: new Set(), zoom: 1, marks: new Map(), items: /** @type {any[]} */ ([]) }
    this.growth = { topK: 3, depth: 3 }
    this.beams = { width: 3, tokens: 8, rule: "mean", penalty: 1.5, step: /** @type {number | null} */ (null) }
    this.seen = { tree: "", cursor: -1, nodes: 0 }
    this.frame = 0
    this.emit = (/** @type {string} */ _event, /** @type {any} */ _payload) => {}
    this.send = (/** @type {string} */ kind, /** @type {any} */ more = {}) => this.emit("act", { kind, ...more })
  }

  /** @param {any} header */
  receive(header) {
    const other = header.tree !== this.seen.tree
    if (other) Object.assign(this.state, { folded: new Set(), focus: header.cursor })
    const moved = other || header.cursor !== this.seen.cursor
    if (moved) this.state.focus = header.cursor
    for (const number of header.path) this.state.folded.delete(number)
    this.header = header
    this.seen = { tree: header.tree, cursor: header.cursor, nodes: header.nodes.length }
    const had = this.focused()
    this.paint()
    if (moved) reveal(this.element, header.cursor)
    if (moved && had) this.node(header.cursor)?.focus({ preventScroll: true })
    cancelAnimationFrame(this.frame)
    if (header.job) this.frame = requestAnimationFrame(() => this.send("more"))
  }

  /** Whether the keyboard is in the picture. */
  focused() {
    const active = /** @type {any} */ (this.element.getRootNode()).activeElement
    return active instanceof Element && active.classList.contains("ntt-node")
  }

  /** @param {number} number @returns {HTMLElement | null} */
  node(number) {
    return this.element.querySelector(`.ntt-node[data-number="${number}"]`)
  }

  paint() {
    const { header, element, state } = this
    const { labels } = header
    const repaint = () => this.paint()
    const root = part(element, "view", () => h("section", { class: "nt-view ntt" }))
    set(root, { "aria-label": labels.title })
    state.marks = marks(header, this.beams)
    const tools = part(root, "tools", () => h("div", { class: "ntt-tools" }))
    line(tools, "p", "count", fill(labels.count, { count: header.nodes.length }), "ntt-count")
    button(tools, "fold", labels.fold_others, () => {
      state.folded = foldOthers(header.nodes, header.path)
      repaint()
    })
    button(tools, "unfold", labels.unfold, () => {
      state.folded = new Set()
      repaint()
    })
    choice(tools, "zoom", labels.zoom, [0.5, 0.75, 1].map((z) => ({ value: z, text: `${z * 100}%` })), state.zoom, (zoom) => {
      state.zoom = zoom
      repaint()
    })
    renderPicture(root, header, state, {
      go: (number) => this.send("go", { node: number }),
      fold: (number) => this.fold(number),
      key: (event) => this.key(event),
      focus: (number) => this.focus(number, false),
    })
    line(root, "p", "keys", labels.keys, "nt-muted ntt-keys")
    const notice = line(root, "p", "notice", header.notice, "ntt-notice")
    set(notice, { role: "status" })
    const panels = part(root, "panels", () => h("div", { class: "ntt-panels" }))
    const left = part(panels, "left", () => h("div", { class: "ntt-column" }))
    renderHere(part(left, "here", () => h("section", { class: "nt-panel" })), header, this.send)
    renderGrow(part(left, "grow", () => h("section", { class: "nt-panel" })), header, this.growth, repaint, this.send)
    renderBeams(part(panels, "beams", () => h("section", { class: "nt-panel" })), header, this.beams, repaint, this.send)
  }

  /**
   * @param {number} number
   * @param {boolean} take move the keyboard there
   */
  focus(number, take) {
    if (number !== this.state.focus) {
      this.node(this.state.focus)?.setAttribute("tabindex", "-1")
      this.state.focus = number
      this.node(number)?.setAttribute("tabindex", "0")
    }
    if (!take) return
    this.node(number)?.focus({ preventScroll: true })
    reveal(this.element, number)
  }

  /** @param {number} number */
  fold(number) {
    const { folded } = this.state
    if (!folded.delete(number)) folded.add(number)
    this.paint()
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { focus, folded, items } = this.state
    if (event.key === "Enter") this.send("go", { node: focus })
    else if (event.key === " ") this.fold(focus)
    else if (event.key === "ArrowRight" && folded.delete(focus)) this.paint() // opened first; the next press goes on
    else if (ARROWS.includes(event.key)) {
      const next = follow(items, focus, event.key, this.header.cursor)
      if (next !== null) this.focus(next, true)
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
}

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/tree.py
 * @param {any} _arrays
 * @param {import("./lib/loader.js").Emit} emit
 */
export function render(element, header, _arrays, emit) {
  const tree = memory(element, () => new Tree(element))
  tree.emit = emit
  tree.receive(header)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  cancelAnimationFrame(memory(element, () => new Tree(element)).frame)
}
