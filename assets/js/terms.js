// @ts-check
/**
 * The layer behind every page. A dotted word in the page's text is a link into the glossary; a plain click on it
 * shows the meaning in place instead, and from there one goes on to the glossary without losing the run.
 */
import { h, memory, part, set } from "./lib/dom.js"
import { remember } from "./lib/visited.js"

export const styles = ["terms.css"]

const LINK = /(?:^|\/)glossary\?term=([a-z0-9-]+)$/
const GAP = 8

/** @typedef {{ header: any, emit: (event: string, payload?: any) => void,
 *   click: (event: MouseEvent) => void, scroll: () => void }} Memory */

/**
 * The term that a link names, null for any other link.
 * @param {string | null | undefined} address
 */
export function slugOf(address) {
  return LINK.exec(address ?? "")?.[1] ?? null
}

/**
 * Left and top of a box of `size` near `anchor` inside a window: below it, or above where there is no room below.
 * @param {{left: number, top: number, bottom: number}} anchor
 * @param {{width: number, height: number}} size
 * @param {{width: number, height: number}} view
 */
export function placeNear(anchor, size, view) {
  const left = Math.max(GAP, Math.min(anchor.left, view.width - size.width - GAP))
  const below = anchor.bottom + GAP
  const fits = below + size.height <= view.height - GAP
  return { left, top: fits ? below : Math.max(GAP, anchor.top - size.height - GAP) }
}

/**
 * @param {HTMLElement} element
 * @param {any} header page, labels
 * @param {any} _arrays
 * @param {(event: string, payload?: any) => void} emit `open` with the slug of a term
 */
export function render(element, header, _arrays, emit) {
  const m = memory(element, () => begin(element))
  Object.assign(m, { header, emit })
  if (header.page) remember(header.page)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  const m = memory(element, () => begin(element))
  document.removeEventListener("click", m.click)
  document.removeEventListener("scroll", m.scroll, true)
}

/**
 * @param {HTMLElement} element
 * @returns {Memory}
 */
function begin(element) {
  /** @type {Memory} */
  const m = {
    header: null, emit: () => {},
    click: (event) => take(element, m, event),
    scroll: () => /** @type {any} */ (element.querySelector(".ntt"))?.hidePopover(),
  }
  document.addEventListener("click", m.click)
  document.addEventListener("scroll", m.scroll, true)
  return m
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {MouseEvent} event
 */
function take(element, m, event) {
  const target = event.target instanceof Element ? event.target.closest("a[href]") : null
  const slug = slugOf(target?.getAttribute("href"))
  const plain = !event.button && !event.ctrlKey && !event.metaKey && !event.shiftKey
  if (!target || !slug || !plain) return
  event.preventDefault()
  show(element, m, /** @type {HTMLElement} */ (target), slug)
}

/**
 * @param {HTMLElement} element
 * @param {Memory} m
 * @param {HTMLElement} link
 * @param {string} slug
 */
function show(element, m, link, slug) {
  const name = link.textContent ?? ""
  const box = /** @type {any} */ (part(element, "box", () => h("div", { class: "ntt", popover: "auto", role: "dialog" })))
  set(box, { "aria-label": name })
  part(box, "name", () => h("strong", {})).textContent = name
  part(box, "meaning", () => h("p", {})).textContent = link.title
  const row = part(box, "row", () => h("div", { class: "ntt-row" }))
  const more = part(row, "more", () => h("a", {}, m.header.labels.more))
  const close = part(row, "close", () => h("button", { type: "button" }, m.header.labels.close))
  set(more, {
    href: link.getAttribute("href"),
    onclick: (/** @type {MouseEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      event.preventDefault()
      box.hidePopover()
      m.emit("open", slug)
    },
  })
  const back = () => {
    box.hidePopover()
    link.focus({ preventScroll: true })
  }
  set(close, { onclick: back })
  set(box, {
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape") return
      event.preventDefault()
      event.stopPropagation() // Escape leads a page one level up; here it only closes the box
      back()
    },
  })
  box.showPopover()
  const { left, top } = placeNear(link.getBoundingClientRect(), box.getBoundingClientRect(), {
    width: document.documentElement.clientWidth, height: document.documentElement.clientHeight,
  })
  set(box, { style: { left: `${left}px`, top: `${top}px` } })
  more.focus({ preventScroll: true })
}
