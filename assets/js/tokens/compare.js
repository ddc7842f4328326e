// @ts-check
/** One text under several tokenizers: a bar for the count, the tokens themselves below it. */
import { h } from "../lib/dom.js"
import { fill } from "./bytes.js"
import { face } from "./list.js"

const SHOWN = 200

/**
 * @param {HTMLElement} element
 * @param {any} header rows, labels
 */
export function renderCompare(element, { rows, labels }) {
  const most = Math.max(1, ...rows.map((/** @type {any} */ row) => row.count))
  element.replaceChildren(...rows.map((/** @type {any} */ row) => h("section", { class: "nt-compare" },
    h("div", { class: "nt-compare-head" },
      h("strong", {}, row.title),
      h("span", { class: "nt-muted" }, fill(labels.vocabulary, { size: row.vocabulary })),
      h("span", { class: "count" }, fill(labels.count, { count: row.count, per_token: row.per_token }))),
    h("div", { class: "nt-bar", "aria-hidden": "true" }, h("span", { style: { width: `${(100 * row.count) / most}%` } })),
    h("div", { class: "nt-tokens small" },
      ...row.tokens.slice(0, SHOWN).map((/** @type {any} */ token) => h("span", {
        class: "nt-token prompt" + (token.parts > 1 ? " part" : ""), title: `${token.id}`,
      }, face(token), h("small", {}, String(token.id)))),
      row.tokens.length > SHOWN ? h("span", { class: "nt-muted" }, fill(labels.more, { count: row.tokens.length - SHOWN })) : null),
  )))
}
