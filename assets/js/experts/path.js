// @ts-check
/** The way of one token through all layers: the experts that it was sent to, one step per layer. */
import { h, part, set } from "../lib/dom.js"
import { fill, percent } from "../attention/words.js"
import { COLOURS } from "./look.js"

/** @typedef {{layer: number, chosen: import("./numbers.js").Chosen[] | null, common?: Set<number>}} Step
 *   common: experts to be framed */

/**
 * @param {HTMLElement} root
 * @param {string} name
 * @param {Step[]} steps
 * @param {{title: string, labels: any, lit: number, choose: ((layer: number) => void) | null}} options
 */
export function renderPath(root, name, steps, { title, labels, lit, choose }) {
  const list = part(root, name, () => h("ol", { class: "ntx-path" }))
  set(list, { "aria-label": title })
  while (list.children.length > steps.length) list.lastElementChild?.remove()
  while (list.children.length < steps.length) {
    list.append(h("li", {}, h("button", { type: "button" }, h("small"), h("span", { class: "ntx-stack" }))))
  }
  steps.forEach(({ layer, chosen, common }, i) => {
    const button = /** @type {HTMLElement} */ (list.children[i].firstElementChild)
    const [number, stack] = /** @type {HTMLElement[]} */ ([...button.children])
    number.textContent = String(layer)
    const shown = (chosen ?? []).slice(0, 4)
    while (stack.children.length > Math.max(1, shown.length)) stack.lastElementChild?.remove()
    while (stack.children.length < Math.max(1, shown.length)) stack.append(h("span"))
    if (!chosen) set(/** @type {HTMLElement} */ (stack.firstElementChild), { class: "ntx-none" }).textContent = "–"
    shown.forEach(({ expert, weight }, at) => {
      const sign = /** @type {HTMLElement} */ (stack.children[at])
      swatch(sign, expert, true)
      sign.classList.toggle("common", Boolean(common?.has(expert)))
      sign.classList.toggle("apart", Boolean(common && !common.has(expert)))
      set(sign, { style: { height: `${Math.round(14 + 26 * Math.min(1, Math.max(0, weight)))}px` } })
    })
    const said = chosen ? chosen.map(({ expert, weight }) => `${expert} (${percent(weight)})`).join(", ") : labels.dense_short
    set(button, {
      class: layer === lit ? "lit" : "", disabled: !choose, title: fill(labels.path_tip, { layer, experts: said }),
      "aria-label": fill(labels.path_tip, { layer, experts: said }), "aria-current": layer === lit ? "true" : null,
      onclick: choose ? () => choose(layer) : null,
    })
  })
}

/**
 * An expert's number on its colour.
 * @param {HTMLElement} sign
 * @param {number} expert
 * @param {boolean} full
 */
export function swatch(sign, expert, full) {
  sign.className = `ntx-swatch e${expert % COLOURS}${full ? "" : " pale"}`
  sign.textContent = String(expert)
  sign.style.height = ""
}
