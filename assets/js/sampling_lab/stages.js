// @ts-check
/** The pipeline as a row of small bar charts: the same tokens in each, so that one reads across what befalls a token. */
import { put } from "../generate/bars.js"
import { fill, percent, whole } from "../generate/format.js"
import { h, part, set } from "../lib/dom.js"

/** @typedef {import("./numbers.js").StageView} StageView */
/** @typedef {import("./numbers.js").Cell} Cell */

/**
 * @param {HTMLElement} root
 * @param {StageView[]} stages
 * @param {{names: string[], drawn: number, scale: number, labels: Record<string, string>}} shown `drawn`: row of the
 *   token that the draw falls on, or -1
 */
export function renderStages(root, stages, shown) {
  const row = part(root, "stages", () => h("div", { class: "ntl-stages", role: "group", tabindex: "0" }))
  set(row, { "aria-label": shown.labels.pipeline_title })
  stages.forEach((stage, i) => {
    const card = part(row, stage.name, () =>
      h("section", { class: "ntl-stage" },
        h("h3", {}, h("span", { class: "ntl-number" }, String(i + 1)), " ", shown.labels[`stage_${stage.name}`]),
        h("p", { class: "ntl-setting" })))
    set(card, { "aria-label": shown.labels[`stage_${stage.name}`] })
    card.classList.toggle("off", stage.off)
    put(/** @type {HTMLElement} */ (card.children[1]), said(stage, shown.labels))
    renderCells(card, stage.cells, { ...shown, rest: stage.rest, restCount: stage.restCount })
    renderStats(card, stage, shown.labels)
  })
}

/**
 * What the stage's setting is and what it took.
 * @param {StageView} stage
 * @param {Record<string, string>} labels
 */
function said(stage, labels) {
  if (stage.setting === null) return labels[`does_${stage.name}`]
  if (stage.off) return labels[`off_${stage.name}`] ?? labels.off
  const value = Number.isInteger(stage.setting) && stage.name === "top_k" ? whole(stage.setting) : stage.setting.toFixed(2)
  const text = stage.name === "tempered" && stage.setting < 1e-6 ? labels.does_greedy : fill(labels[`does_${stage.name}`], { value })
  return stage.taken > 0 ? `${text} · ${fill(labels.takes, { count: whole(stage.taken) })}` : text
}

/**
 * One bar a token and one for all the others. Also used for the temperatures.
 * @param {HTMLElement} card
 * @param {Cell[]} cells
 * @param {{names: string[], drawn: number, scale: number, labels: Record<string, string>, rest: number,
 *   restCount: number}} shown
 */
export function renderCells(card, cells, shown) {
  const list = part(card, "cells", () => h("ol", { class: "ntl-cells" }))
  const size = cells.length + 1
  while (list.children.length > size) list.lastElementChild?.remove()
  while (list.children.length < size) list.append(entry())
  cells.forEach((cell, i) => {
    const item = dress(list.children[i], shown.names[i], cell.share / shown.scale, cell.removed ? "" : percent(cell.share))
    const mark = cell.here ? shown.labels[`mark_${cell.removed}`] : ""
    item.className = [cell.removed && "gone", cell.here && "here", i === shown.drawn && "drawn"].filter(Boolean).join(" ")
    const [, track] = /** @type {HTMLElement[]} */ ([...item.children])
    const ghost = /** @type {HTMLElement} */ (track.children[1])
    ghost.hidden = cell.ghost <= 0
    ghost.style.width = `${Math.min(100, (cell.ghost / shown.scale) * 100)}%`
    put(/** @type {HTMLElement} */ (track.children[2]), mark)
    const why = cell.removed ? shown.labels[`removed_${cell.removed}`] : ""
    if (item.title !== why) item.title = why
  })
  const others = fill(shown.labels.others, { count: whole(shown.restCount) })
  const last = dress(list.children[size - 1], others, shown.rest / shown.scale, percent(shown.rest))
  last.className = "others"
}

/**
 * @param {Element} item
 * @param {string} name
 * @param {number} length from 0 to 1
 * @param {string} value
 */
function dress(item, name, length, value) {
  const [label, track, number] = /** @type {HTMLElement[]} */ ([...item.children])
  put(label, name)
  put(number, value)
  const bar = /** @type {HTMLElement} */ (track.firstElementChild)
  bar.style.transform = `scaleX(${Math.min(1, length)})`
  return /** @type {HTMLElement} */ (item)
}

function entry() {
  return h("li", {},
    h("span", { class: "ntl-name nt-mono" }),
    h("span", { class: "ntl-track" }, h("i", { class: "ntl-fill" }), h("i", { class: "ntl-ghost" }), h("small", {})),
    h("span", { class: "ntl-value" }))
}

/**
 * @param {HTMLElement} card
 * @param {StageView} stage
 * @param {Record<string, string>} labels
 */
function renderStats(card, stage, labels) {
  statistics(card, labels, [
    ["kept", whole(stage.kept)],
    ["mass", percent(stage.mass)],
    ["entropy", fill(labels.bits, { bits: stage.entropyBits.toFixed(2) })],
    ["perplexity", stage.perplexity < 1000 ? stage.perplexity.toFixed(2) : whole(stage.perplexity)],
    ["choices", stage.choices < 1000 ? stage.choices.toFixed(2) : whole(stage.choices)],
  ])
}

/**
 * Names and values under a chart.
 * @param {HTMLElement} card
 * @param {Record<string, string>} labels
 * @param {[string, string][]} entries
 */
export function statistics(card, labels, entries) {
  const list = part(card, "stats", () =>
    h("dl", {}, ...entries.map(([name]) => h("div", { title: labels[`${name}_help`] }, h("dt", {}, labels[`${name}_name`]), h("dd", {})))))
  entries.forEach(([, value], i) => put(/** @type {HTMLElement} */ (list.children[i].lastElementChild), value))
}
