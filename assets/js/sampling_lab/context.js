// @ts-check
/** The place in the text whose next token is being chosen, and its neighbours to go to. */
import { text } from "../generate/bars.js"
import { fill, marked } from "../generate/format.js"
import { quoted } from "../generate/sentence.js"
import { textAt } from "../generate/view-model.js"
import { h, part, set } from "../lib/dom.js"

const BEFORE = 24
const AFTER = 12

/**
 * @param {HTMLElement} root
 * @param {import("../generate/view-model.js").Header & {given: boolean}} header
 * @param {(position: number) => void} place
 */
export function renderContext(root, header, place) {
  const { labels, position, tokens } = header
  const next = position + 1 < tokens.length
  const key = header.given ? "context_given" : next ? "context_made" : "context_new"
  const values = { token: quoted(header, position), next: next ? quoted(header, position + 1) : "", position }
  text(root, "h2", "context-title", "ntl-context-title", fill(labels[key], values))
  const row = part(root, "context", () => h("div", { class: "ntl-context" }))
  set(row, { role: "group", "aria-label": labels.context_name })
  const start = Math.max(0, position - BEFORE)
  const end = Math.min(tokens.length, position + AFTER + 1)
  const chips = []
  if (start > 0) chips.push(h("span", { class: "nt-muted" }, fill(labels.context_folded, { count: start })))
  for (let i = start; i < end; i++) chips.push(chip(header, i, place))
  if (end < tokens.length) chips.push(h("span", { class: "nt-muted" }, fill(labels.context_folded, { count: tokens.length - end })))
  const focused = /** @type {any} */ (row.getRootNode()).activeElement?.dataset?.position
  row.replaceChildren(...chips)
  if (focused !== undefined) /** @type {HTMLElement | null} */ (row.querySelector(`[data-position="${focused}"]`))?.focus()
}

/**
 * @param {import("../generate/view-model.js").Header} header
 * @param {number} index
 * @param {(position: number) => void} place
 */
function chip(header, index, place) {
  const here = index === header.position
  const shown = marked(textAt(header, index) ?? "")
  return h("button", {
    type: "button",
    class: ["ntl-token nt-mono", here && "here", index > header.position && "later"].filter(Boolean).join(" "),
    "data-position": index,
    "aria-pressed": here ? "true" : "false",
    "aria-label": fill(header.labels.context_go, { token: shown, position: index }),
    onclick: () => place(index),
  }, shown)
}
