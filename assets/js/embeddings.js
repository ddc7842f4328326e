// @ts-check
/** The views of the Embeddings page: looked-up rows, neighbours of a token, a sum of rows. */
import { forgetWidth } from "./lib/canvas.js"
import { fill } from "./generate/format.js"
import { renderBarList } from "./lib/bar-list.js"
import { h, part, set, visible } from "./lib/dom.js"
import { renderStripeList } from "./lib/stripe-list.js"
import { colours } from "./lib/theme.js"
import { number } from "./lib/numbers.js"
import { renderParts } from "./lib/stripe-parts.js"

export const styles = ["vectors.css"]

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/embeddings.py
 * @param {any} arrays
 * @param {import("./lib/loader.js").Emit} emit `choose` with {position}, `look` with {id}
 */
export function render(element, header, arrays, emit) {
  const root = part(element, "view", () => h("section", { class: "nt-view" }))
  set(root, { "aria-label": header.labels.title })
  if (header.view === "rows") rows(root, element, header, arrays, emit)
  else if (header.view === "parts") renderParts(root, header, arrays, colours(element).diverging)
  else lists(root, header, emit)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  for (const list of element.querySelectorAll(".nt-stripes")) forgetWidth(/** @type {HTMLElement} */ (list))
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays `rows` (distinct tokens, d)
 * @param {import("./lib/loader.js").Emit} emit
 */
function rows(root, element, header, arrays, emit) {
  const { labels } = header
  const width = arrays.rows.shape[1]
  renderStripeList(root, {
    rows: header.tokens.map((/** @type {any} */ token) => ({
      ...token, values: arrays.rows.subarray(token.row * width, (token.row + 1) * width),
    })),
    chosen: header.position,
    ramp: colours(element).diverging,
    name: labels.title,
    stripeName: (row) => fill(labels.stripe, { token: visible(row.text), note: row.note }),
    say: (row, index, value) => fill(labels.value, { token: visible(row.text), index, value: number(value) }),
    choose: (position) => emit("choose", { position }),
  })
}

/**
 * One or two lists of tokens with their cosines.
 * @param {HTMLElement} root
 * @param {any} header
 * @param {import("./lib/loader.js").Emit} emit
 */
function lists(root, header, emit) {
  const two = part(root, "lists", () => h("div", { class: "nt-two" }))
  header.lists.forEach((/** @type {any} */ list, /** @type {number} */ i) => {
    const box = part(two, `list-${i}`, () => h("div", {}))
    part(box, "title", () => h("h3")).textContent = list.title
    renderBarList(box, "bars", list.items.map((/** @type {any} */ item) => ({
      ...item, value: item.cosine.toFixed(3).replace("-", "−"), from: 0, to: Math.max(0, item.cosine), lit: Boolean(item.note),
    })), {
      title: list.title,
      colour: "var(--nt-residual)",
      choose: header.look ? (id) => emit("look", { id }) : undefined,
    })
  })
  while (two.children.length > header.lists.length) two.lastElementChild?.remove()
}
