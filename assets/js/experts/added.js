// @ts-check
/** What each expert of the chosen cell added to the residual stream: length, direction, effect on a logit. */
import { h, part, set } from "../lib/dom.js"
import { fill, number, percent, token } from "../attention/words.js"
import { swatch } from "./path.js"

/**
 * @param {HTMLElement} panel
 * @param {any} header see `added` in core/components/experts.py
 */
export function renderAdded(panel, header) {
  const { labels, parts } = header
  const where = { token: token(header.token), layer: header.layer }
  part(panel, "title", () => h("h3")).textContent = fill(labels.added_title, where)
  part(panel, "sub", () => h("p", { class: "nt-muted" })).textContent = fill(labels.added_sub, {
    stream: number(header.stream), total: number(header.total), next: token(header.next),
  })
  const scroll = part(panel, "scroll", () => h("div", { class: "ntx-scroll", tabindex: "0", role: "group" }))
  set(scroll, { "aria-label": fill(labels.added_title, where) })
  const table = part(scroll, "table", () => h("table", { class: "ntx-added" }, h("thead"), h("tbody")))
  const [head, body] = [...table.children]
  const columns = [labels.added_expert, labels.added_weight, labels.added_length, labels.added_stream, labels.added_sum]
  if (header.effects) columns.push(fill(labels.added_effect, { next: token(header.next) }))
  head.replaceChildren(h("tr", {}, ...columns.map((text) => h("th", { scope: "col" }, text))))
  const longest = Math.max(1e-9, ...parts.map((/** @type {any} */ p) => p.length))
  body.replaceChildren(...parts.map((/** @type {any} */ p) => row(p, longest, header)))
}

/**
 * @param {any} p
 * @param {number} longest
 * @param {any} header
 */
function row(p, longest, header) {
  const sign = h("span")
  if (p.expert === null) set(sign, { class: "ntx-swatch shared" }).textContent = header.labels.shared_short
  else swatch(sign, p.expert, true)
  const bar = h("i", { style: { width: `${(100 * p.length) / longest}%` } })
  return h("tr", {},
    h("th", { scope: "row" }, sign),
    h("td", {}, p.expert === null && header.gated ? fill(header.labels.added_gate, { gate: percent(p.weight) }) : percent(p.weight)),
    h("td", { class: "ntx-length" }, h("span", { class: "ntx-track" }, bar), number(p.length)),
    h("td", {}, turned(p.along_stream)),
    h("td", {}, turned(p.along_sum)),
    ...(header.effects ? [h("td", {}, p.effect > 0 ? `+${number(p.effect)}` : number(p.effect))] : []))
}

/** @param {number} cosine */
function turned(cosine) {
  return `${number(cosine)} (${Math.round((Math.acos(Math.max(-1, Math.min(1, cosine))) * 180) / Math.PI)}°)`
}
