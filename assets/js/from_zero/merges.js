// @ts-check
/** What the tokenizer learned: its merges in their order, and the text cut into its tokens. */
import { h, visible } from "../lib/dom.js"

/**
 * @param {HTMLElement} element
 * @param {import("../from_zero.js").Header} header
 */
export function renderMerges(element, header) {
  const items = header.merges.map(([left, right], i) =>
    h("li", {},
      h("small", { class: "nt-muted" }, String(i + 1)),
      h("span", { class: "nt-mono" }, visible(left)), h("span", { class: "nt-muted" }, "+"),
      h("span", { class: "nt-mono" }, visible(right)), h("span", { class: "nt-muted" }, "→"),
      h("b", { class: "nt-mono" }, visible(left + right))))
  const pieces = header.tokens.map((token) => h("span", { class: "nt-mono" }, visible(token)))
  element.replaceChildren(
    h("section", { class: "ntz" },
      h("div", { class: "nt-panel" },
        h("ol", { class: "ntz-merges", "aria-label": header.labels.merges_alt }, ...items),
        h("p", { class: "nt-muted" }, header.labels.cut_note),
        h("p", { class: "ntz-cut" }, ...pieces))))
}
