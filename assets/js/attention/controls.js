// @ts-check
/** Layer and head: a stepper, and the query heads in the groups that share one K/V head. */
import { h, part, set } from "../lib/dom.js"
import { fill } from "./words.js"

/**
 * @param {HTMLElement} bar
 * @param {import("../attention.js").State} s
 */
export function renderControls(bar, s) {
  const { header, labels, layer, headIndex } = s
  const layers = part(bar, "layer", () => h("div", { class: "nta-stepper", role: "group" }))
  set(layers, { "aria-label": labels.layer })
  part(layers, "name", () => h("span", { class: "nt-muted" })).textContent = labels.layer
  step(part(layers, "down", () => h("button", { type: "button", class: "nt-button" }, "−")), labels.layer_down, layer <= 0, () => s.choose({ layer: layer - 1 }))
  part(layers, "value", () => h("output")).textContent = fill(labels.layer_of, { layer, last: header.layers - 1 })
  step(part(layers, "up", () => h("button", { type: "button", class: "nt-button" }, "+")), labels.layer_up, layer >= header.layers - 1, () => s.choose({ layer: layer + 1 }))
  const heads = part(bar, "heads", () => h("div", { class: "nta-heads", role: "group" }))
  set(heads, { "aria-label": labels.heads })
  part(heads, "name", () => h("span", { class: "nt-muted" })).textContent = labels.heads
  const groups = [...new Set(header.groups)]
  const shared = groups.length < header.groups.length
  for (const group of groups) {
    const box = part(heads, `group-${group}`, () => h("div", { class: "nta-group" }))
    box.classList.toggle("shared", shared)
    const row = part(box, "row", () => h("div", { class: "nta-group-row" }))
    header.groups.forEach((/** @type {number} */ of, /** @type {number} */ at) => {
      if (of !== group) return
      const chip = part(row, `head-${at}`, () => h("button", { type: "button", class: "nt-chip" }))
      chip.textContent = String(at)
      set(chip, {
        "aria-pressed": String(at === headIndex), "aria-label": fill(labels.head_name, { head: at, group }),
        onclick: () => s.choose({ head: at }),
      })
    })
    const foot = part(box, "foot", () => h("span", { class: "nta-kv" }))
    foot.textContent = shared ? fill(labels.kv_head, { group }) : ""
    foot.hidden = !shared
  }
}

/**
 * @param {HTMLElement} button
 * @param {string} label
 * @param {boolean} off
 * @param {() => void} act
 */
function step(button, label, off, act) {
  set(button, { "aria-label": label, disabled: off, onclick: act })
}
