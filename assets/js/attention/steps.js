// @ts-check
/** The row of one query worked out step by step: dot products, scale, mask, softmax, weighted sum of values. */
import { h, part, set } from "../lib/dom.js"
import { largest, shownKeys, weightedSum } from "./numbers.js"
import { stripe } from "./stripe.js"
import { fill, number, percent, token } from "./words.js"

const MOST_ROWS = 24
const MASKED_ROWS = 2
const CELLS = ["token", "k", "raw", "scaled", "mask", "weight", "v"]

/**
 * @param {HTMLElement} panel
 * @param {import("../attention.js").State} s
 */
export function renderSteps(panel, s) {
  const { header, head, row, query, labels } = s
  const values = { query: token(header.tokens[query]), scale: number(head.scale) }
  const table = part(part(panel, "scroll", () => h("div", { class: "nta-scroll", tabindex: "0", role: "region" })), "table",
    () => h("table", { class: "nta-steps" }))
  set(/** @type {HTMLElement} */ (table.parentElement), { "aria-label": fill(labels.steps_title, values) })
  headings(part(table, "head", () => h("thead")), labels, values)
  const body = part(table, "body", () => h("tbody"))
  const out = weightedSum(head, row.weights)
  const tops = { q: largest(head.q.subarray(query * head.size, (query + 1) * head.size)), k: largest(head.k), v: largest(head.v) }
  queryRow(part(body, "query", () => line("query")), s, tops.q, values)
  const first = head.first[query]
  const shown = shownKeys(row.weights, first, query, MOST_ROWS)
  const later = Array.from({ length: Math.min(MASKED_ROWS, head.total - 1 - query) }, (_, i) => query + 1 + i)
  const keys = [...shown, ...later]
  keys.forEach((key, i) => keyRow(part(body, `key-${i}`, () => line("key")), s, key, tops))
  for (const child of [...body.children]) {
    const name = child.getAttribute("data-part") ?? ""
    if (name.startsWith("key-") && Number(name.slice(4)) >= keys.length) child.remove()
  }
  const foot = part(table, "foot", () => h("tfoot"))
  sumRow(part(foot, "sum", () => line("sum")), s, out)
  note(panel, s, shown, later)
}

/** @param {string} kind */
function line(kind) {
  return h("tr", { class: `nta-${kind}` }, ...CELLS.map((name) =>
    h(name === "token" ? "th" : "td", { class: `c-${name}`, scope: name === "token" ? "row" : null })))
}

/**
 * @param {HTMLElement} head
 * @param {Record<string, string>} labels
 * @param {Record<string, string>} values
 */
function headings(head, labels, values) {
  const line_ = part(head, "line", () => h("tr", {}, ...CELLS.map((name) => h("th", { scope: "col", class: `c-${name}` }))))
  CELLS.forEach((name, i) => (line_.children[i].textContent = fill(labels[`col_${name}`], values)))
}

/**
 * @param {HTMLElement} line_
 * @param {import("../attention.js").State} s
 * @param {number} top
 * @param {Record<string, string>} values
 */
function queryRow(line_, s, top, values) {
  const { head, labels, query } = s
  line_.children[0].textContent = `q  ${values.query}`
  stripe(line_.children[1], "q", {
    values: head.q, from: query * head.size, size: head.size, top, table: s.diverging,
    label: fill(labels.stripe_q, values), tip: s.tip,
    tell: (i) => fill(labels.tip_q, { i, value: number(head.q[query * head.size + i]) }),
  })
  line_.children[2].textContent = labels.query_hint
  set(line_.children[2], { colspan: 5 })
  while (line_.children.length > 3) line_.lastElementChild?.remove()
}

/**
 * @param {HTMLElement} line_
 * @param {import("../attention.js").State} s
 * @param {number} key
 * @param {{k: number, v: number}} tops
 */
function keyRow(line_, s, key, tops) {
  const { head, header, labels, row, query } = s
  const masked = key > query || key < head.first[query]
  const name = token(header.tokens[key])
  const [title, k, raw, scaled, mask, weight, v] = line_.children
  line_.classList.toggle("masked", masked)
  line_.classList.toggle("picked", key === s.key)
  set(line_, { "data-key": key, onclick: () => s.pick(key) })
  title.textContent = `${name}`
  set(title, { title: fill(labels.position, { position: key }) })
  stripe(k, "stripe", {
    values: head.k, from: key * head.size, size: head.size, top: tops.k, table: s.diverging,
    label: fill(labels.stripe_k, { key: name }), tip: s.tip,
    tell: (i) => {
      const [a, b] = [head.q[query * head.size + i], head.k[key * head.size + i]]
      return fill(labels.tip_k, { i, q: number(a), k: number(b), product: number(a * b), key: name })
    },
  })
  raw.textContent = number(row.raw[key])
  scaled.textContent = number(row.scores[key])
  mask.textContent = masked ? labels.mask_no : labels.mask_yes
  const bar = part(weight, "bar", () => h("span", { class: "nta-bar" }))
  bar.style.setProperty("--share", String(row.weights[key]))
  part(weight, "text", () => h("span")).textContent = masked ? labels.masked : percent(row.weights[key])
  weight.setAttribute("data-weight", String(row.weights[key]))
  stripe(v, "stripe", {
    values: head.v, from: key * head.width, size: head.width, top: tops.v, table: s.diverging,
    label: fill(labels.stripe_v, { key: name }), tip: s.tip,
    tell: (i) => {
      const value = head.v[key * head.width + i]
      return fill(labels.tip_v, {
        i, key: name, value: number(value), weight: percent(row.weights[key]), product: number(value * row.weights[key]),
      })
    },
  })
  ;/** @type {HTMLElement} */ (v).style.setProperty("--shown", String(masked ? 0.15 : 0.3 + 0.7 * Math.sqrt(row.weights[key])))
}

/**
 * @param {HTMLElement} line_
 * @param {import("../attention.js").State} s
 * @param {Float32Array} out
 */
function sumRow(line_, s, out) {
  const { head, labels, row } = s
  let total = 0
  for (const weight of row.weights) total += weight
  line_.children[0].textContent = labels.sum
  line_.children[5].textContent = percent(Math.abs(total - 1) < 1e-6 ? 1 : total)
  stripe(line_.children[6], "stripe", {
    values: out, from: 0, size: head.width, top: largest(out), table: s.diverging,
    label: labels.stripe_out, tip: s.tip, tell: (i) => fill(labels.tip_out, { i, value: number(out[i]) }),
  })
}

/**
 * What is not in the table, and the chosen cell written out.
 * @param {HTMLElement} panel
 * @param {import("../attention.js").State} s
 * @param {number[]} shown
 * @param {number[]} later
 */
function note(panel, s, shown, later) {
  const { head, labels, row, query } = s
  const first = head.first[query]
  const rest = query - first + 1 - shown.length
  let mass = 0
  for (let key = first; key <= query; key++) mass += row.weights[key]
  for (const key of shown) mass -= row.weights[key]
  const parts = []
  if (rest > 0) parts.push(fill(labels.rest_keys, { count: rest, mass: percent(Math.max(0, mass)) }))
  const hidden = head.total - 1 - query - later.length
  if (hidden > 0) parts.push(fill(labels.rest_masked, { count: hidden }))
  if (first > 0) parts.push(fill(labels.rest_window, { count: first }))
  if (head.sink !== null) parts.push(labels.has_sink)
  const line_ = part(panel, "note", () => h("p", { class: "nt-muted nta-note" }))
  line_.textContent = parts.join(" ")
  line_.hidden = !parts.length
}
