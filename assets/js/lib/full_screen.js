// @ts-check
/** A button under each figure that shows it in full screen; a component repaints itself for its new width. */
import { h } from "./dom.js"
import { applyTheme } from "./theme.js"

// These are no figures: bars, lists and rows of buttons.
const FURNITURE = new Set(["concepts", "frame", "glossary", "keep_figure", "predict", "quiz", "small_grid", "terms", "tour_bar"])

/** @type {Set<HTMLElement>} */
const buttons = new Set()
let word = ""

/**
 * The words come with the frame of the page, which may be drawn before or after a figure.
 * @param {string} text
 */
export function nameFullScreen(text) {
  word = text
  for (const button of buttons) name(button)
}

/** @param {HTMLElement} button */
function name(button) {
  button.textContent = word
  button.hidden = !word
}

/**
 * @param {() => void} show
 * @returns {HTMLElement}
 */
export function fullScreenButton(show) {
  const button = h("button", { type: "button", class: "nt-full", onclick: show })
  buttons.add(button)
  name(button)
  return button
}

/**
 * Put the button under a figure, once; called whenever the figure is drawn.
 * @param {string} component
 * @param {HTMLElement} element the figure's own element
 * @param {any} host
 */
export function frameFigure(component, element, host) {
  if (FURNITURE.has(component) || !document.fullscreenEnabled) return
  let row = rows.get(element)
  if (!row) {
    row = h("div", { class: "nt-root nt-full-row" }, fullScreenButton(() => element.requestFullscreen()))
    rows.set(element, row)
    element.after(row)
  }
  applyTheme(row, host)
}

/** @param {Element | null} button */
export function forgetButton(button) {
  if (button) buttons.delete(/** @type {HTMLElement} */ (button))
}

/** @param {HTMLElement} element */
export function forgetFigure(element) {
  const row = rows.get(element)
  if (!row) return
  forgetButton(row.firstElementChild)
  row.remove()
  rows.delete(element)
}

/** @type {WeakMap<HTMLElement, HTMLElement>} */
const rows = new WeakMap()
