// @ts-check
/** A list whose rows are buttons: one is chosen, arrow keys move, rows keep their elements. */
import { h, part, set } from "../lib/dom.js"

/**
 * The list element with `count` rows, each a button made by `build`.
 * @param {Element} root
 * @param {string} name
 * @param {string} title
 * @param {number} count
 * @param {() => HTMLElement} build
 * @returns {HTMLElement}
 */
export function rowsOf(root, name, title, count, build) {
  const list = part(root, name, () => h("ol", { class: "nt-tg-list" }))
  set(list, { "aria-label": title })
  while (list.children.length > count) list.lastElementChild?.remove()
  while (list.children.length < count) list.append(h("li", {}, build()))
  return list
}

/** @param {HTMLElement} list @param {number} index @returns {HTMLElement | null} */
export function rowAt(list, index) {
  return /** @type {HTMLElement | null} */ (list.children[index]?.querySelector("button") ?? null)
}

/**
 * Light one row: it alone can be reached with Tab, the arrow keys go on from it.
 * @param {HTMLElement} list
 * @param {number} chosen
 */
export function light(list, chosen) {
  for (const button of list.querySelectorAll("button[aria-pressed=true]")) set(button, { "aria-pressed": "false", tabindex: "-1" })
  const row = rowAt(list, chosen)
  if (row) set(row, { "aria-pressed": "true", tabindex: "0" })
}

/**
 * Clicks and keys of the whole list.
 * @param {HTMLElement} list
 * @param {number} count
 * @param {() => number} chosen
 * @param {(index: number) => void} choose
 */
export function listen(list, count, chosen, choose) {
  set(list, {
    onclick: (/** @type {any} */ event) => {
      const item = event.target.closest("li")
      if (item) choose([...list.children].indexOf(item))
    },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const to = keyed(event.key, chosen(), count)
      if (to === null) return
      event.preventDefault()
      event.stopPropagation()
      choose(to)
      rowAt(list, to)?.focus()
    },
  })
}

/**
 * The row that a key leads to; null for a key that means nothing here.
 * @param {string} key
 * @param {number} at
 * @param {number} count
 */
export function keyed(key, at, count) {
  const steps = /** @type {Record<string, number>} */ ({
    ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -count, End: count,
  })
  if (!(key in steps)) return null
  return Math.max(0, Math.min(count - 1, at + steps[key]))
}

/**
 * The end of what is known so far, for a narrow column: the newest token by itself, and what fits before it.
 * @param {string[]} texts
 * @param {number} at the newest one that is known
 * @param {number} [room] characters
 */
export function context(texts, at, room = 18) {
  let before = ""
  let from = at
  while (from > 0 && before.length + texts[from - 1].length <= room) before = texts[--from] + before
  return { before: (from > 0 ? "…" : "") + before, last: texts[at] }
}

/**
 * A loss in nats with few digits: `0.26`, `3.0`, `21.4`, `0.0004`.
 * @param {number} value
 */
export function nats(value) {
  if (!Number.isFinite(value)) return "–"
  if (value >= 10) return value.toFixed(1)
  if (value >= 0.005 || value === 0) return value.toFixed(2)
  return value < 0.0001 ? "< 0.0001" : value.toFixed(4)
}
