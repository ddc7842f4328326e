// @ts-check
/** The views of the Position page: a query and a key to move, two orders of words, learned position vectors. */
import { forgetWidth } from "./lib/canvas.js"
import { fill } from "./generate/format.js"
import { renderBarList } from "./lib/bar-list.js"
import { h, part, set, visible } from "./lib/dom.js"
import { number } from "./lib/numbers.js"
import { renderStripeList } from "./lib/stripe-list.js"
import { colours } from "./lib/theme.js"
import { renderRotor } from "./position/rotor.js"

export const styles = ["vectors.css", "position.css"]

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/position.py
 * @param {any} arrays
 * @param {import("./lib/loader.js").Emit} emit `choose` with {position}
 */
export function render(element, header, arrays, emit) {
  const root = part(element, "view", () => h("section", { class: "nt-view" }))
  set(root, { "aria-label": header.labels[`title_${header.view}`] })
  if (header.view === "rotor") renderRotor(root, element, header, arrays)
  else if (header.view === "orders") orders(root, header)
  else learned(root, element, header, arrays, emit)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  for (const watched of element.querySelectorAll(".nt-view, .nt-stripes")) forgetWidth(/** @type {HTMLElement} */ (watched))
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 */
function orders(root, header) {
  const two = part(root, "two", () => h("div", { class: "nt-two" }))
  header.orders.forEach((/** @type {any} */ order, /** @type {number} */ i) => {
    const box = part(two, `order-${i}`, () => h("div", { class: "ntp-order" }))
    part(box, "title", () => h("h3")).textContent = order.title
    const list = part(box, "tokens", () => h("ol", { class: "ntp-tokens" }))
    while (list.children.length > order.tokens.length) list.lastElementChild?.remove()
    while (list.children.length < order.tokens.length) list.append(h("li", {}, h("span", { class: "nt-mono" }), h("small", {})))
    order.tokens.forEach((/** @type {any} */ token, /** @type {number} */ j) => {
      const item = /** @type {HTMLElement} */ (list.children[j])
      const [text, place] = /** @type {HTMLElement[]} */ ([...item.children])
      item.className = token.state
      text.textContent = visible(token.text)
      place.textContent = token.place
    })
    renderBarList(box, "next", order.next.map((/** @type {any} */ one) => ({
      id: one.id, text: one.text, value: one.percent, from: 0, to: one.share,
    })), { title: header.labels.orders_next, colour: "var(--nt-logits)", say: (bar) => `${visible(bar.text)} ${bar.value}` })
  })
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays `rows` (n, d)
 * @param {import("./lib/loader.js").Emit} emit
 */
function learned(root, element, header, arrays, emit) {
  const width = arrays.rows.shape[1]
  renderStripeList(root, {
    rows: header.tokens.map((/** @type {any} */ token, /** @type {number} */ i) => ({
      ...token, values: arrays.rows.subarray(i * width, (i + 1) * width),
    })),
    chosen: header.position,
    ramp: colours(element).diverging,
    name: header.labels.title_learned,
    stripeName: (row) => fill(header.labels.learned_stripe, { position: row.position }),
    say: (row, index, value) => fill(header.labels.learned_value, { position: row.position, index, value: number(value) }),
    choose: (position) => emit("choose", { position }),
  })
}
