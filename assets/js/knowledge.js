// @ts-check
/** One fact in several wordings: the answer's chance in each, and how it drifts while parts are switched off. */
import { h, memory, part } from "./lib/dom.js"
import { text } from "./generate/bars.js"
import { renderDrift } from "./knowledge/drift.js"
import { renderWordings } from "./knowledge/wordings.js"

export const styles = ["curves.css", "knowledge.css"]

/** @typedef {{answer: string, labels: Record<string, string>, rows: any[][],
 *   curves: null | {title: string, kind: string, at: number[], note: string}}} Header */

/**
 * @param {HTMLElement} element
 * @param {Header} header
 * @param {any} arrays
 */
export function render(element, header, arrays) {
  const state = memory(element, () => ({ chosen: -1, log: false, again: () => {} }))
  state.again = () => render(element, header, arrays)
  if (state.chosen >= header.rows.length) state.chosen = -1
  const root = part(element, "page", () => h("section", { class: "ntk" }))
  const choose = (/** @type {number} */ index) => {
    state.chosen = state.chosen === index ? -1 : index
    state.again()
  }
  const wordings = part(root, "wordings-panel", () => h("div", { class: "nt-panel" }))
  renderWordings(wordings, header, state.chosen, choose)
  const panel = part(root, "drift-panel", () => h("div", { class: "nt-panel" }))
  panel.hidden = header.curves === null
  if (header.curves === null) return
  text(panel, "span", "badge", "ntk-badge", header.labels.badge)
  renderDrift(panel, header, arrays, { chosen: state.chosen, log: state.log }, {
    choose,
    log: () => {
      state.log = !state.log
      state.again()
    },
  })
}
