// @ts-check
/** All tokens as chips in a row, and a table with their ids, bytes and offsets. */
import { h, part, set, visible } from "../lib/dom.js"
import { fill, hex, shown } from "./bytes.js"

/**
 * @param {HTMLElement} element
 * @param {any} header tokens, position, labels
 * @param {import("../lib/loader.js").Emit} emit
 */
export function renderList(element, header, emit) {
  const { tokens, position, labels } = header
  const choose = (/** @type {number} */ index) => () => emit("choose", { position: index })
  const legend = part(element, "legend", () => h("div", { class: "nt-legend" }))
  const present = ["prompt", "template", "tokenizer", "generated"].filter((origin) =>
    tokens.some((/** @type {any} */ token) => token.origin === origin))
  legend.replaceChildren(...present.map((origin) => h("span", { class: `key ${origin}` },
    fill(labels[`origin_${origin}`], { count: tokens.filter((/** @type {any} */ t) => t.origin === origin).length }))))
  const strip = part(element, "chips", () => h("div", { class: "nt-tokens", role: "group" }))
  set(strip, { "aria-label": labels.tokens })
  strip.replaceChildren(...tokens.map((/** @type {any} */ token, /** @type {number} */ index) => h("button", {
    class: `nt-token ${token.origin}` + (token.special ? " special" : "") + (token.parts > 1 ? " part" : ""),
    type: "button", "aria-pressed": String(index === position), title: describe(token, labels), onclick: choose(index),
  }, face(token), h("small", {}, String(token.id)))))
  const frame = part(element, "frame", () => h("div", { class: "nt-table-frame", tabindex: "0", role: "region" }))
  set(frame, { "aria-label": labels.table })
  const table = part(frame, "table", () => h("table", { class: "nt-table" }))
  const columns = ["position", "text", "id", "raw", "bytes", "characters"]
  table.replaceChildren(
    h("thead", {}, h("tr", {}, ...columns.map((name) => h("th", { scope: "col" }, labels[`column_${name}`])))),
    h("tbody", {}, ...tokens.map((/** @type {any} */ token, /** @type {number} */ index) => h("tr", {
      "aria-selected": String(index === position), onclick: choose(index),
    },
    h("td", {}, String(index)),
    h("td", {}, face(token), token.parts > 1 ? h("small", {}, " " + describe(token, labels)) : null),
    h("td", {}, String(token.id)),
    h("td", { class: "nt-mono" }, token.raw),
    h("td", { class: "nt-mono" }, hex(token.bytes).join(" ")),
    h("td", {}, `${token.start}–${token.end}`)))))
}

/**
 * What a chip shows: the text; for a part of a character its bytes, with the character on the first part.
 * @param {any} token
 */
export function face(token) {
  if (token.special) return h("span", { class: "nt-mono" }, visible(token.text))
  // the text, not the bytes: SentencePiece's first token has a space that is not part of the text
  if (token.parts === 1 && token.valid && token.text) return shown([...new TextEncoder().encode(token.text)])
  if (token.parts === 1) return shown(token.bytes)
  if (token.part > 1 || !token.valid) return shown(token.bytes)
  return h("span", {}, h("span", { class: "nt-mono" }, visible(token.text)), " ", shown(token.bytes))
}

/**
 * @param {any} token
 * @param {any} labels
 */
function describe(token, labels) {
  if (token.parts > 1) return fill(labels.part, { part: token.part, parts: token.parts })
  return labels[`is_${token.origin}`]
}
