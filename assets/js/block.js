// @ts-check
/** The views of the Block page: the block as a flow, vectors worked out part by part, neurons. */
import { forgetWidth } from "./lib/canvas.js"
import { renderBarList } from "./lib/bar-list.js"
import { h, part, set, visible } from "./lib/dom.js"
import { renderParts } from "./lib/stripe-parts.js"
import { colours } from "./lib/theme.js"
import { renderFlow } from "./block/flow.js"

export const styles = ["vectors.css", "block.css"]

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/block.py
 * @param {any} arrays
 * @param {import("./lib/loader.js").Emit} emit `head` with {head}, `neuron` with {id}
 */
export function render(element, header, arrays, emit) {
  const root = part(element, "view", () => h("section", { class: "nt-view" }))
  set(root, { "aria-label": header.labels[`title_${header.view}`] })
  if (header.view === "flow") renderFlow(root, element, header, arrays, emit)
  else if (header.view === "parts") renderParts(root, { ...header, labels: { title: header.labels.title_parts } }, arrays, colours(element).diverging)
  else neurons(root, header, emit)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  for (const watched of element.querySelectorAll(".ntb-scroll, .nt-stripes")) forgetWidth(/** @type {HTMLElement} */ (watched))
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 * @param {import("./lib/loader.js").Emit} emit
 */
function neurons(root, header, emit) {
  const { labels } = header
  const lit = header.neurons.find((/** @type {any} */ one) => one.lit)
  const two = part(root, "two", () => h("div", { class: "nt-two ntb-neurons" }))
  const left = part(two, "neurons", () => h("div", {}))
  part(left, "title", () => h("h3")).textContent = labels.neurons
  renderBarList(left, "bars", header.neurons.map((/** @type {any} */ one) => ({ ...one, from: 0 })), {
    title: labels.neurons, colour: "var(--nt-ffn)", say: (bar) => `${bar.text}, ${bar.value}`,
    choose: (id) => emit("neuron", { id }),
  })
  part(left, "sum", () => h("p", { class: "nt-readout ntb-sum", "aria-live": "polite" })).textContent = lit ? `${lit.text}: ${lit.sum}` : ""
  const right = part(two, "tokens", () => h("div", { class: "nt-two" }))
  const top = Math.max(1e-12, ...header.lists.flatMap((/** @type {any} */ list) => list.items.map((/** @type {any} */ one) => one.size)))
  header.lists.forEach((/** @type {any} */ list, /** @type {number} */ i) => {
    const box = part(right, `list-${i}`, () => h("div", {}))
    part(box, "title", () => h("h3")).textContent = list.title
    renderBarList(box, "bars", list.items.map((/** @type {any} */ one) => ({ ...one, from: 0, to: one.size / top })), {
      title: list.title, colour: i ? "var(--nt-diverging-0)" : "var(--nt-logits)",
      say: (bar) => `${visible(bar.text)}, ${bar.value}`,
    })
  })
}
