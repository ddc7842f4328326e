// @ts-check
/** The tree as a picture: nodes are elements that keep their place and focus, branches are ribbons of one drawing. */
import { fill, marked, percent } from "../generate/format.js"
import { h, part, set, svg } from "../lib/dom.js"
import { layout } from "./layout.js"

const COLUMN = 156
const NODE = 128
const LINE = 31
const EDGE = 14
const WIDEST = 16

/** @typedef {import("./layout.js").Item} Item */
/** @typedef {{focus: number, folded: Set<number>, zoom: number, marks: Map<number, string>, items: Item[]}} State */
/** @typedef {{go: (number: number) => void, fold: (number: number) => void, key: (event: KeyboardEvent) => void,
 *   focus: (number: number) => void}} Moves */

/**
 * @param {HTMLElement} root
 * @param {any} header see core/components/tree.py
 * @param {State} state
 * @param {Moves} on
 */
export function renderPicture(root, header, state, on) {
  const frame = part(root, "frame", () => h("div", { class: "ntt-frame" }))
  const sheet = part(frame, "sheet", () => h("div", { class: "ntt-sheet" }))
  const page = part(sheet, "page", () => h("div", { class: "ntt-page", role: "tree" }))
  set(page, { "aria-label": header.labels.tree_name, onkeydown: on.key })
  const { items, lines, columns } = layout(header.nodes, state.folded)
  state.items = items
  if (!items.some((item) => item.number === state.focus)) state.focus = header.cursor
  if (!items.some((item) => item.number === state.focus)) state.focus = 0
  const [width, height] = [columns * COLUMN + 2 * EDGE, lines * LINE + 2 * EDGE]
  set(sheet, { style: { width: `${width * state.zoom}px`, height: `${height * state.zoom}px` } })
  set(page, { style: { width: `${width}px`, height: `${height}px`, transform: `scale(${state.zoom})` } })
  branches(page, items, header, width, height)
  nodes(page, items, header, state, on)
}

/** @param {Item} item */
const x = (item) => EDGE + item.depth * COLUMN
/** @param {Item} item */
const y = (item) => EDGE + item.line * LINE + LINE / 2

/**
 * @param {HTMLElement} page
 * @param {Item[]} items
 * @param {any} header
 * @param {number} width
 * @param {number} height
 */
function branches(page, items, header, width, height) {
  const drawing = part(page, "branches", () => svg("svg", { "aria-hidden": "true" }))
  set(drawing, { width, height, viewBox: `0 0 ${width} ${height}` })
  const onPath = new Set(header.path)
  const byNumber = new Map(items.map((item) => [item.number, item]))
  const drawn = items.filter((item) => item.parent !== null && item.row)
  drawn.sort((a, b) => Number(onPath.has(a.number)) - Number(onPath.has(b.number)))
  while (drawing.children.length > drawn.length) drawing.lastElementChild?.remove()
  while (drawing.children.length < drawn.length) drawing.append(svg("path"))
  drawn.forEach((item, i) => {
    const parent = /** @type {Item} */ (byNumber.get(/** @type {number} */ (item.parent)))
    const [from, to, top, end] = [x(parent) + NODE, x(item), y(parent), y(item)]
    const bend = (from + to) / 2
    const share = item.row?.[4] ?? 0
    set(drawing.children[i], {
      d: `M${from},${top} C${bend},${top} ${bend},${end} ${to},${end}`,
      "stroke-width": Math.max(1, share * WIDEST).toFixed(2),
      class: onPath.has(item.number) ? "run" : "",
    })
  })
}

/**
 * @param {HTMLElement} page
 * @param {Item[]} items
 * @param {any} header
 * @param {State} state
 * @param {Moves} on
 */
function nodes(page, items, header, state, on) {
  const onPath = new Set(header.path)
  const known = new Map([...page.querySelectorAll(":scope > .ntt-node")].map((e) => [Number(/** @type {any} */ (e).dataset.number), e]))
  const shown = new Set(items.map((item) => item.number))
  for (const [number, element] of known) if (!shown.has(number)) element.remove()
  for (const item of items) {
    const element = /** @type {HTMLElement} */ (known.get(item.number) ?? page.appendChild(node(item.number)))
    dress(element, item, header, state, onPath, on)
  }
}

/** @param {number} number */
function node(number) {
  return h("div", { class: "ntt-node", role: "treeitem", "data-number": number },
    h("span", { class: "nt-mono ntt-text" }), h("small"), h("i", { "aria-hidden": "true" }))
}

/**
 * @param {HTMLElement} element
 * @param {Item} item
 * @param {any} header
 * @param {State} state
 * @param {Set<number>} onPath
 * @param {Moves} on
 */
function dress(element, item, header, state, onPath, on) {
  const [text, chance, fold] = /** @type {HTMLElement[]} */ ([...element.children])
  const { row } = item
  const here = item.number === header.cursor
  const look = ["ntt-node", !row && "root", onPath.has(item.number) && "run", here && "here", row?.[7] && "end",
    state.marks.get(item.number)].filter(Boolean).join(" ")
  if (element.className !== look) element.className = look
  const shown = marked(row ? row[3] : header.prompt)
  if (text.textContent !== shown) text.textContent = shown
  const share = row ? percent(row[4]) : ""
  if (chance.textContent !== share) chance.textContent = share
  const parent = item.children.length > 0 || item.hidden > 0
  fold.textContent = item.hidden > 0 ? `+${item.hidden}` : parent && row ? "−" : ""
  fold.hidden = !fold.textContent
  set(element, {
    style: { left: `${x(item)}px`, top: `${y(item) - LINE / 2 + 2}px`, width: `${NODE}px` },
    tabindex: item.number === state.focus ? "0" : "-1",
    title: title(item, header, shown),
    "aria-level": item.depth + 1, "aria-posinset": item.place, "aria-setsize": item.siblings,
    "aria-selected": here ? "true" : "false",
    "aria-expanded": parent ? (item.hidden > 0 ? "false" : "true") : null,
    onclick: () => on.go(item.number), onfocus: () => on.focus(item.number),
  })
  set(fold, { onclick: (/** @type {Event} */ event) => { event.stopPropagation(); on.fold(item.number) } })
}

/**
 * @param {Item} item
 * @param {any} header
 * @param {string} shown
 */
function title(item, header, shown) {
  if (!item.row) return fill(header.labels.root_tip, { text: shown })
  const [, , id, , p, log, rank, ends] = item.row
  const line = fill(header.labels.node_tip, {
    token: shown, id, probability: percent(p), rank, log: log.toFixed(2).replace("-", "−"), path: percent(Math.exp(log)),
  })
  return ends ? `${line} ${header.labels.node_end}` : line
}

/**
 * Bring a node into the frame without moving the page itself.
 * @param {HTMLElement} root
 * @param {number} number
 */
export function reveal(root, number) {
  const frame = /** @type {HTMLElement | null} */ (root.querySelector(".ntt-frame"))
  const element = frame?.querySelector(`.ntt-node[data-number="${number}"]`)
  if (!frame || !element) return
  const [box, at] = [frame.getBoundingClientRect(), element.getBoundingClientRect()]
  const room = 40
  if (at.right + room > box.right) frame.scrollLeft += at.right + room - box.right
  else if (at.left - room < box.left) frame.scrollLeft -= box.left - at.left + room
  if (at.bottom + room > box.bottom) frame.scrollTop += at.bottom + room - box.bottom
  else if (at.top - room < box.top) frame.scrollTop -= box.top - at.top + room
}
