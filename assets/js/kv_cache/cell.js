// @ts-check
/** One cell of the cache: a key and a value vector for each K/V head, and the query heads that share it. */
import { onWidth } from "../lib/canvas.js"
import { h, part, set } from "../lib/dom.js"
import { number } from "../lib/numbers.js"
import { put } from "../lib/stripe-list.js"
import { draw, hover, scaleOf, stripe } from "../lib/stripes.js"
import { colours } from "../lib/theme.js"
import { fill, marked } from "../generate/format.js"

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {any} header layer, position, token, readers, dropped
 * @param {any} arrays `keys`, `values` (heads, size)
 */
export function renderCell(root, element, header, arrays) {
  const { labels, dropped } = header
  const title = part(root, "cell-title", () => h("h3"))
  title.textContent = fill(dropped ? labels.cell_dropped : labels.cell_title, {
    layer: header.layer, position: header.position, token: marked(header.token),
  })
  const list = part(root, "cell", () => h("ul", { class: "nt-stripes parts" }))
  const tip = part(root, "cell-tip", () => h("div", { class: "nt-tip", hidden: true, "aria-live": "polite" }))
  const rows = dropped ? [] : rowsOf(header, arrays)
  while (list.children.length > rows.length) list.lastElementChild?.remove()
  while (list.children.length < rows.length) list.append(line())
  const scales = {
    key: scaleOf(...rows.filter((row) => row.kind === "key").map((row) => row.values)),
    value: scaleOf(...rows.filter((row) => row.kind === "value").map((row) => row.values)),
  }
  rows.forEach((row, i) => {
    const [word, holder] = /** @type {HTMLElement[]} */ ([...list.children[i].children])
    word.className = `nt-stripe-word ${row.kind}`
    part(word, "name", () => h("b")).textContent = row.name
    part(word, "note", () => h("small")).textContent = row.note
    const canvas = stripe(holder, "stripe", `${row.name}. ${row.note}`)
    canvas.tabIndex = i === 0 ? 0 : -1
    hover(canvas, row.values, (at) => {
      tip.hidden = at === null
      if (at) put(tip, canvas, at.x, fill(labels.cell_tip, { name: row.name, index: at.index, value: number(at.value) }))
    })
  })
  set(list, { "aria-label": title.textContent ?? "" })
  onWidth(list, () => rows.forEach((row, i) => {
    const canvas = list.children[i]?.querySelector("canvas")
    if (canvas) draw(canvas, row.values, { scale: scales[row.kind], ramp: colours(element).diverging, height: 20 })
  }))
}

/**
 * @param {any} header
 * @param {any} arrays
 * @returns {{kind: "key" | "value", name: string, note: string, values: Float32Array}[]}
 */
function rowsOf(header, arrays) {
  const { labels, readers: all } = header
  return all.flatMap((/** @type {number[]} */ readers, /** @type {number} */ head) => {
    const note = fill(readers.length > 1 ? labels.cell_shared : labels.cell_own, {
      first: readers[0], last: readers[readers.length - 1], count: readers.length,
    })
    return [
      { kind: "key", name: fill(header.latent ? labels.cell_latent : labels.cell_key, { head }), note, values: rowAt(arrays.keys, head) },
      { kind: "value", name: fill(header.latent ? labels.cell_rotated : labels.cell_value, { head }), note, values: rowAt(arrays.values, head) },
    ]
  })
}

/**
 * @param {Float32Array & {shape: number[]}} table
 * @param {number} row
 */
function rowAt(table, row) {
  return table.subarray(row * table.shape[1], (row + 1) * table.shape[1])
}

function line() {
  return h("li", {}, h("div", { class: "nt-stripe-word" }), h("div", { class: "nt-stripe-cell" }))
}
