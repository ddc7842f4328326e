// @ts-check
/** Saving what is on the screen: the three tables as one PNG, one row for each pair of tokens as CSV. */
import { h, part, set } from "../lib/dom.js"
import { csvBlob, save } from "../lib/keep.js"
import { allowed } from "./numbers.js"

/**
 * @param {HTMLElement} panel
 * @param {import("../attention.js").State} s
 */
export function renderKeep(panel, s) {
  const row = part(panel, "keep", () => h("div", { class: "nta-keep" }))
  const name = `attention-layer-${s.header.layer}-head-${s.header.head}`
  const png = part(row, "png", () => h("button", { type: "button", class: "nt-chip" }))
  png.textContent = s.labels.keep_png
  set(png, { onclick: () => picture(panel, s).toBlob((blob) => blob && save(blob, `${name}.png`)) })
  const csv = part(row, "csv", () => h("button", { type: "button", class: "nt-chip" }))
  csv.textContent = s.labels.keep_csv
  set(csv, { onclick: () => save(csvBlob(table(s.head, s.tables, s.header.tokens)), `${name}.csv`) })
}

/**
 * The pairs that the mask lets through: query, key, score and weight.
 * @param {import("./numbers.js").Head} head
 * @param {{scores: Float32Array, weights: Float32Array}} tables
 * @param {string[]} tokens
 */
export function table(head, tables, tokens) {
  const lines = ["query_position,query,key_position,key,score,weight"]
  for (let query = 0; query < head.total; query++) {
    for (let key = 0; key <= query; key++) {
      if (!allowed(head, query, key)) continue
      const at = query * head.total + key
      lines.push([query, quoted(tokens[query]), key, quoted(tokens[key]), tables.scores[at], tables.weights[at]].join(","))
    }
  }
  return `${lines.join("\r\n")}\r\n`
}

/** @param {string} text */
function quoted(text) {
  return `"${text.replace(/"/g, '""')}"`
}

/**
 * The three canvases side by side on the ground of the theme.
 * @param {HTMLElement} panel
 * @param {import("../attention.js").State} s
 */
function picture(panel, s) {
  const parts = [...panel.querySelectorAll("canvas")]
  const gap = 24
  const sheet = document.createElement("canvas")
  sheet.width = parts.reduce((all, one) => all + one.width + gap, gap)
  sheet.height = Math.max(...parts.map((one) => one.height)) + 2 * gap
  const ctx = /** @type {CanvasRenderingContext2D} */ (sheet.getContext("2d"))
  ctx.fillStyle = s.colours.surface
  ctx.fillRect(0, 0, sheet.width, sheet.height)
  let x = gap
  for (const one of parts) {
    ctx.drawImage(one, x, gap)
    x += one.width + gap
  }
  return sheet
}
