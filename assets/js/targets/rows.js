// @ts-check
/** One row for each position: what is known so far → the target, and what the miss costs. */
import { put } from "../generate/bars.js"
import { fill, marked, percent, whole } from "../generate/format.js"
import { h, memory, part, set } from "../lib/dom.js"
import { context, light, listen, nats, rowAt, rowsOf } from "./list.js"
import { renderMask } from "./mask.js"

const REST_MS = 250 // keys that follow each other are told to the server once they rest

/** @typedef {{tokens: string[], texts: string[], kinds: string[], end: string | null, names: Record<string, string>, chosen: number,
 *   text: string, labels: Record<string, string>}} Header `tokens` name each token, `texts` join to the text */
/** @typedef {{target: string, p: number, loss: number, rank: number, favourite: string, favouriteP: number,
 *   scored: boolean, kind: string} | null} Row null: no target */

/**
 * @param {Header} header
 * @param {any} arrays
 * @param {number} at
 * @returns {Row}
 */
export function rowOf(header, arrays, at) {
  if (at >= arrays.log_p.length) return null
  const target = header.tokens[at + 1] ?? header.end ?? ""
  return {
    target, p: Math.exp(arrays.log_p[at]), loss: Math.max(0, -arrays.log_p[at]), rank: arrays.ranks[at],
    favourite: header.names[arrays.favourites[at]] ?? "", favouriteP: arrays.favourite_p[at],
    scored: arrays.scored[at] === 1, kind: header.kinds[at + 1] ?? "end",
  }
}

/** @param {HTMLElement} element */
const stateOf = (element) => memory(element, () => ({ chosen: -1, told: -1, text: "", timer: 0 }))

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {Header} header
 * @param {any} arrays
 * @param {import("../lib/loader.js").Emit} emit
 */
export function renderRows(root, element, header, arrays, emit) {
  const state = stateOf(element)
  const news = state.text !== header.text || state.told !== header.chosen
  if (news) {
    Object.assign(state, { chosen: header.chosen, told: header.chosen, text: header.text })
  }
  const { labels, tokens } = header
  const rows = tokens.map((_, at) => rowOf(header, arrays, at))
  const largest = Math.max(1, ...rows.map((row) => row?.loss ?? 0))
  const two = part(root, "two", () => h("div", { class: "nt-tg-two" }))
  const box = part(two, "box", () => h("div", { class: "nt-tg-box" }))
  head(box, labels)
  const list = rowsOf(box, "rows", labels.rows_title, rows.length, build)
  rows.forEach((row, at) => {
    const button = rowAt(list, at)
    if (button) dress(button, header, row, at, largest)
  })
  const aside = part(two, "aside", () => h("div", { class: "nt-tg-aside" }))
  const show = () => {
    light(list, state.chosen)
    renderMask(aside, { ...header, chosen: state.chosen, row: rows[state.chosen] }, choose)
  }
  const choose = (/** @type {number} */ at) => {
    state.chosen = at
    show()
    reveal(box, rowAt(list, at))
    clearTimeout(state.timer)
    state.timer = setTimeout(() => {
      state.told = at
      emit("choose", { position: at })
    }, REST_MS)
  }
  listen(list, rows.length, () => state.chosen, choose)
  show()
  if (news) reveal(box, rowAt(list, state.chosen))
}

/**
 * Scroll the list alone, not the page, until the row is in sight.
 * @param {HTMLElement} box
 * @param {HTMLElement | null} row
 */
function reveal(box, row) {
  if (!row) return
  const [frame, place] = [box.getBoundingClientRect(), row.getBoundingClientRect()]
  if (place.top < frame.top + 40) box.scrollTop -= frame.top + 40 - place.top
  else if (place.bottom > frame.bottom) box.scrollTop += place.bottom - frame.bottom
}

/**
 * Nothing is told to the server after the component has gone.
 * @param {HTMLElement} element
 */
export function settleRows(element) {
  clearTimeout(stateOf(element).timer)
}

/**
 * @param {HTMLElement} box
 * @param {Record<string, string>} labels
 */
function head(box, labels) {
  const names = ["position", "known", "target", "p", "rank", "loss", "favourite"]
  const line = part(box, "head", () => h("div", { class: "nt-tg-row nt-tg-head", "aria-hidden": "true" }, ...names.map((name) => h("span", { class: name }))))
  names.forEach((name, i) => put(line.children[i], labels[`head_${name}`]))
}

function build() {
  return h("button", { type: "button", class: "nt-tg-row", "aria-pressed": "false", tabindex: "-1" },
    h("span", { class: "position" }),
    h("span", { class: "known nt-mono" }, h("bdi"), h("b")),
    h("span", { class: "target nt-mono" }),
    h("span", { class: "p" }),
    h("span", { class: "rank" }),
    h("span", { class: "loss" }, h("i"), h("b"), h("small")),
    h("span", { class: "favourite" }, h("bdi", { class: "nt-mono" }), h("small")))
}

/**
 * @param {HTMLElement} button
 * @param {Header} header
 * @param {Row} row
 * @param {number} at
 * @param {number} largest
 */
function dress(button, header, row, at, largest) {
  const { labels, tokens, texts } = header
  const [position, known, target, p, rank, loss, favourite] = /** @type {HTMLElement[]} */ ([...button.children])
  put(position, String(at))
  put(known.children[0], marked(context(texts, at).before))
  put(known.children[1], marked(tokens[at]))
  put(target, row ? marked(row.target) : labels.no_target)
  put(p, row ? percent(row.p) : "")
  put(rank, row ? whole(row.rank) : "")
  const [bar, number, bits] = /** @type {HTMLElement[]} */ ([...loss.children])
  bar.style.width = row ? `${(100 * row.loss) / largest}%` : "0"
  put(number, row ? nats(row.loss) : "")
  put(bits, row ? (row.scored ? fill(labels.in_bits, { bits: nats(row.loss / Math.LN2) }) : labels[`not_scored_${row.kind}`]) : "")
  put(favourite.children[0], row ? (row.rank === 1 ? labels.hit : marked(row.favourite)) : "")
  put(favourite.children[1], row && row.rank !== 1 ? percent(row.favouriteP) : "")
  favourite.children[0].className = row?.rank === 1 ? "hit" : "nt-mono"
  target.className = row ? "target nt-mono" : "target none"
  button.className = ["nt-tg-row", row && !row.scored && "out", row?.kind === "end" && "end"].filter(Boolean).join(" ")
  set(button, { "aria-description": spoken(header, row, at) })
}

/**
 * A row as a sentence, for who cannot see the columns.
 * @param {Header} header
 * @param {Row} row
 * @param {number} at
 */
export function spoken({ labels, tokens }, row, at) {
  const known = marked(tokens[at])
  if (!row) return fill(labels.row_last, { position: at, known })
  const said = fill(labels.row_said, {
    position: at, known, target: marked(row.target), p: percent(row.p), rank: whole(row.rank), loss: nats(row.loss),
    favourite: marked(row.favourite), favourite_p: percent(row.favouriteP),
  })
  return row.scored ? said : `${said} ${labels[`not_scored_${row.kind}`]}`
}
