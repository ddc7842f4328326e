// @ts-check
/** The views of the Output page: hidden states, dot products, logits and softmax, the logit lens. */
import { forgetWidth } from "./lib/canvas.js"
import { fill } from "./generate/format.js"
import { part, h, set, visible } from "./lib/dom.js"
import { number } from "./lib/numbers.js"
import { renderStripeList } from "./lib/stripe-list.js"
import { colours } from "./lib/theme.js"
import { renderDots } from "./output/dots.js"
import { renderLens, stopLens } from "./output/lens.js"
import { renderLogits } from "./output/logits.js"

export const styles = ["vectors.css", "output.css"]

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/output.py
 * @param {any} arrays
 * @param {import("./lib/loader.js").Emit} emit
 */
export function render(element, header, arrays, emit) {
  const root = part(element, "view", () => h("section", { class: "nt-view" }))
  set(root, { "aria-label": header.labels[`${header.view}_title`] })
  if (header.view === "hidden") hidden(root, element, header, arrays, emit)
  else if (header.view === "dots") renderDots(root, element, header, arrays)
  else if (header.view === "logits") renderLogits(root, element, header, arrays, emit)
  else renderLens(root, element, header, arrays, emit)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  for (const part of element.querySelectorAll(".nt-stripes, .nt-out-frame")) forgetWidth(/** @type {any} */ (part))
  stopLens(element)
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays `vectors` (n, d)
 * @param {import("./lib/loader.js").Emit} emit
 */
function hidden(root, element, header, arrays, emit) {
  const { labels } = header
  const width = arrays.vectors.shape[1]
  renderStripeList(root, {
    rows: header.tokens.map((/** @type {any} */ token, /** @type {number} */ i) => ({
      ...token, values: arrays.vectors.subarray(i * width, (i + 1) * width),
    })),
    chosen: header.position,
    ramp: colours(element).diverging,
    name: labels.hidden_title,
    stripeName: (row) => fill(labels.hidden_stripe, { token: visible(row.text), note: row.note }),
    say: (row, index, value) => fill(labels.hidden_value, { token: visible(row.text), index, value: number(value) }),
    choose: (position) => emit("choose", { position }),
  })
}
