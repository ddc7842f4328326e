// @ts-check
/** The chosen cell: the router's whole distribution, who was chosen with which weight, and who came next. */
import { h, part, set } from "../lib/dom.js"
import { fill, number, percent } from "../attention/words.js"
import { swatch } from "./path.js"
import { cellAt } from "./numbers.js"
import { place } from "./place.js"

const LISTED = 16

/**
 * @param {HTMLElement} panel
 * @param {import("../experts.js").State} s
 */
export function renderDetail(panel, s) {
  const { layer, position } = place()
  const cell = cellAt(s.routing, layer, position)
  const list = part(panel, "bars", () => h("ol", { class: "ntx-bars" }))
  const next = part(panel, "next", () => h("p", { class: "nt-muted" }))
  const rest = part(panel, "rest", () => h("p", { class: "nt-muted" }))
  list.hidden = rest.hidden = !cell
  if (!cell) {
    next.textContent = s.labels.dense_layer
    return
  }
  const weights = new Map(cell.chosen.map(({ expert, weight }) => [expert, weight]))
  const shown = cell.order.slice(0, LISTED)
  set(list, { "aria-label": s.labels.bars_title })
  while (list.children.length > shown.length) list.lastElementChild?.remove()
  while (list.children.length < shown.length) list.append(entry())
  const top = Math.max(cell.scores[cell.order[0]], 1e-9)
  shown.forEach((expert, i) => bar(/** @type {HTMLElement} */ (list.children[i]), expert, cell.scores[expert], top, weights.get(expert), s))
  next.textContent = runnerUp(cell, s)
  const others = cell.order.slice(LISTED)
  const mass = others.reduce((sum, expert) => sum + cell.scores[expert], 0)
  const shared = cell.gate === null ? "" : fill(s.labels.gate, { gate: percent(cell.gate) })
  rest.textContent = [others.length ? fill(s.labels.more_experts, { count: others.length, mass: percent(mass) }) : "", shared].filter(Boolean).join(" ")
}

/**
 * @param {HTMLElement} item
 * @param {number} expert
 * @param {number} score
 * @param {number} top
 * @param {number | undefined} weight
 * @param {import("../experts.js").State} s
 */
function bar(item, expert, score, top, weight, s) {
  const button = /** @type {HTMLElement} */ (item.firstElementChild)
  const [sign, track, value, used] = /** @type {HTMLElement[]} */ ([...button.children])
  swatch(sign, expert, weight !== undefined)
  set(/** @type {HTMLElement} */ (track.firstElementChild), { style: { width: `${(100 * score) / top}%` } })
  value.textContent = percent(score)
  used.textContent = weight === undefined ? "" : fill(s.labels.weight, { weight: percent(weight) })
  set(button, {
    class: `ntx-bar${weight === undefined ? "" : " chosen"}`, "aria-pressed": String(place().expert === expert),
    "data-expert": expert, title: fill(s.labels.seek, { expert }), onclick: () => s.seek(expert),
  })
}

/**
 * @param {import("./numbers.js").Cell} cell
 * @param {import("../experts.js").State} s
 */
function runnerUp(cell, s) {
  if (cell.runnerUp === null) return s.labels.all_chosen
  const last = Math.min(...cell.chosen.map(({ expert }) => cell.scores[expert]))
  const score = cell.scores[cell.runnerUp]
  const key = score > last ? "runner_up_above" : "runner_up" // a correction or group rule may pass over a higher score
  return fill(s.labels[key], { expert: cell.runnerUp, score: percent(score), behind: number(100 * Math.max(0, last - score)) })
}

function entry() {
  return h("li", {},
    h("button", { type: "button" },
      h("span"), h("span", { class: "ntx-track" }, h("i")), h("span", { class: "ntx-value" }), h("span", { class: "ntx-used" })))
}
