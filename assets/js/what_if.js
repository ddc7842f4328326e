// @ts-check
/** What if another token had stood there: choose a swap, watch both texts grow, and compare them place by place. */
import { fill } from "./generate/format.js"
import { forgetWidth } from "./lib/canvas.js"
import { h, memory, part, set } from "./lib/dom.js"
import { button, line } from "./tree/panels.js"
import { renderChooser } from "./what_if/chooser.js"
import { renderLanes, renderMeasures, renderSummary } from "./what_if/lanes.js"
import { renderSentences } from "./what_if/sentences.js"

export const styles = ["vectors.css", "curves.css", "tree.css", "what_if.css"]

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/what_if.py
 * @param {any} _arrays
 * @param {import("./lib/loader.js").Emit} emit
 */
export function render(element, header, _arrays, emit) {
  const root = part(element, "view", () => h("section", { class: "nt-view ntw" }))
  set(root, { "aria-label": header.labels[`${header.view}_title`] })
  if (header.view === "sentences") renderSentences(root, header)
  else branches(root, element, header, (kind, more = {}) => emit("act", { kind, ...more }))
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {(kind: string, more?: any) => void} send
 */
function branches(root, element, header, send) {
  const { labels, found, job } = header
  const work = memory(element, () => ({ frame: 0 }))
  renderChooser(part(root, "chooser", () => h("section", { class: "nt-panel ntw-chooser" })), header, send)
  set(line(root, "p", "notice", header.notice, "ntt-notice"), { role: "status" })
  const progress = part(root, "progress", () => h("div", { class: "ntt-progress" }, h("progress"), h("span", { "aria-live": "polite" })))
  progress.hidden = job === null
  if (job) {
    const said = fill(labels.progress, { done: job[0], total: job[1] })
    set(progress.children[0], { max: job[1], value: job[0], "aria-label": said })
    progress.children[1].textContent = said
    button(progress, "stop", labels.stop, () => send("stop"))
  }
  const result = part(root, "result", () => h("section", { class: "ntw-result" }))
  result.hidden = found === null
  if (found) {
    line(result, "h3", "title", labels.result_title)
    renderLanes(result, header)
    renderSummary(part(result, "summary", () => h("div", { class: "ntw-summary", "aria-live": "polite" })), header)
    const acts = part(result, "acts", () => h("div", { class: "ntt-acts" }))
    button(acts, "longer", labels.longer, () => send("longer"), job !== null)
    button(acts, "keep", labels.keep, () => send("keep"), job !== null)
    button(acts, "clear", labels.clear, () => send("clear"))
    renderMeasures(part(result, "measures", () => h("div", { class: "ntw-measures" })), header)
  }
  cancelAnimationFrame(work.frame)
  if (job) work.frame = requestAnimationFrame(() => send("more"))
}

/** @param {HTMLElement} element */
export function destroy(element) {
  cancelAnimationFrame(memory(element, () => ({ frame: 0 })).frame)
  for (const plot of element.querySelectorAll(".nt-curves-plot")) forgetWidth(/** @type {any} */ (plot))
}
