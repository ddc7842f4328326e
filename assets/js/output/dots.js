// @ts-check
/** One logit as a dot product, written out: the largest products, the sum of the rest, the total. */
import { onWidth } from "../lib/canvas.js"
import { h, memory, part, set, visible } from "../lib/dom.js"
import { number } from "../lib/numbers.js"
import { draw, hover, scaleOf, stripe } from "../lib/stripes.js"
import { colours } from "../lib/theme.js"
import { fill } from "../generate/format.js"
import { products } from "./numbers.js"

const WRITTEN = 10

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header
 * @param {any} arrays `normed` (d), `rows` (tokens, d)
 */
export function renderDots(root, element, header, arrays) {
  const m = memory(root, () => ({ token: header.token, sent: header.token }))
  if (m.sent !== header.token || !header.tokens.some((/** @type {any} */ one) => one.id === m.token)) {
    Object.assign(m, { token: header.token, sent: header.token })
  }
  const place = Math.max(0, header.tokens.findIndex((/** @type {any} */ one) => one.id === m.token))
  const chips = part(root, "tokens", () => h("div", { class: "nt-chips", role: "group" }))
  set(chips, { "aria-label": header.labels.dots_choose })
  while (chips.children.length > header.tokens.length) chips.lastElementChild?.remove()
  while (chips.children.length < header.tokens.length) chips.append(h("button", { type: "button", class: "nt-chip nt-mono" }))
  header.tokens.forEach((/** @type {any} */ one, /** @type {number} */ i) => {
    const chip = /** @type {HTMLElement} */ (chips.children[i])
    chip.textContent = visible(one.text)
    set(chip, { "aria-pressed": String(i === place), onclick: () => {
      m.token = one.id
      renderDots(root, element, header, arrays)
    } })
  })
  const width = arrays.normed.length
  const row = arrays.rows.subarray(place * width, (place + 1) * width)
  const made = products(arrays.normed, row, WRITTEN)
  stripes(root, element, header.labels, arrays.normed, row, made.all, made.order[0] ?? 0, visible(header.tokens[place].text))
  table(root, header.labels, arrays.normed, row, made, header.tokens[place])
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {Record<string, string>} labels
 * @param {Float32Array} normed
 * @param {Float32Array} row
 * @param {Float64Array} all
 * @param {number} first
 * @param {string} token
 */
function stripes(root, element, labels, normed, row, all, first, token) {
  const list = part(root, "stripes", () => h("ul", { class: "nt-stripes parts" }))
  const readout = part(root, "readout", () => h("p", { class: "nt-readout", "aria-live": "polite" }))
  const ramp = colours(element).diverging
  const vectors = [normed, row, all]
  const scales = vectors.map((vector) => scaleOf(vector))
  const names = [labels.dots_normed, fill(labels.dots_row, { token }), labels.dots_products]
  while (list.children.length < 3) list.append(h("li", {}, h("div", { class: "nt-stripe-word" }, h("b")), h("div", {})))
  const show = (/** @type {number} */ index) => {
    const [a, b, c] = vectors.map((vector) => number(vector[index]))
    readout.textContent = fill(labels.dots_readout, { index, a, b, c })
    vectors.forEach((vector, i) => {
      const canvas = list.children[i].querySelector("canvas")
      if (canvas) draw(canvas, vector, { scale: scales[i], ramp, lit: index })
    })
  }
  vectors.forEach((vector, i) => {
    const [name, cell] = /** @type {HTMLElement[]} */ ([...list.children[i].children])
    ;/** @type {HTMLElement} */ (name.firstElementChild).textContent = names[i]
    const canvas = stripe(cell, "stripe", names[i])
    canvas.tabIndex = i === 0 ? 0 : -1
    hover(canvas, vector, (at) => show(at ? at.index : first))
  })
  onWidth(list, () => show(first))
}

/**
 * @param {HTMLElement} root
 * @param {Record<string, string>} labels
 * @param {Float32Array} normed
 * @param {Float32Array} row
 * @param {ReturnType<typeof products>} made
 * @param {{id: number, text: string, logit: number}} token
 */
function table(root, labels, normed, row, made, token) {
  const frame = part(root, "table", () => h("table", { class: "nt-out-table" }, h("caption"), h("tbody")))
  const [caption, body] = /** @type {HTMLElement[]} */ ([...frame.children])
  caption.textContent = fill(labels.dots_written, { token: visible(token.text), count: made.all.length })
  const largest = Math.max(...made.order.map((i) => Math.abs(made.all[i])), Math.abs(made.rest), 1e-9)
  const lines = made.order.map((i) => ({
    name: fill(labels.dots_number, { index: i }),
    sum: `${number(normed[i])} × ${number(row[i])}`,
    value: made.all[i], kind: "",
  }))
  lines.push({ name: fill(labels.dots_rest, { count: made.all.length - made.order.length }), sum: "", value: made.rest, kind: "rest" })
  lines.push({ name: labels.dots_total, sum: fill(labels.dots_logit, { logit: number(token.logit, 5) }), value: made.sum, kind: "total" })
  while (body.children.length > lines.length) body.lastElementChild?.remove()
  while (body.children.length < lines.length) {
    body.append(h("tr", {}, h("th", { scope: "row" }), h("td", {}), h("td", { class: "bar", "aria-hidden": "true" }, h("i")), h("td", { class: "value" })))
  }
  lines.forEach((line, i) => {
    const tr = /** @type {HTMLElement} */ (body.children[i])
    tr.className = line.kind
    const [name, sum, bar, value] = /** @type {HTMLElement[]} */ ([...tr.children])
    name.textContent = line.name
    sum.textContent = line.sum
    value.textContent = number(line.value, line.kind === "total" ? 5 : 3)
    const share = line.kind === "total" ? 0 : Math.min(1, Math.abs(line.value) / largest) / 2
    set(/** @type {Element} */ (bar.firstElementChild), { style: {
      left: `${100 * (line.value < 0 ? 0.5 - share : 0.5)}%`, width: `${100 * share}%`,
      background: line.value < 0 ? "var(--nt-diverging-0)" : "var(--nt-diverging-4)",
    } })
  })
}
