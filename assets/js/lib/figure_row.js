// @ts-check
/** The row under each figure: save it as PNG, SVG or CSV, show it in full screen (it repaints for its new width). */
import { h } from "./dom.js"
import { csvBlob, csvOf, pngOf, save, svgOf } from "./keep.js"
import { applyTheme } from "./theme.js"

// These are no figures: bars, lists and rows of buttons.
const FURNITURE = new Set(["concepts", "frame", "glossary", "keep_figure", "predict", "quiz", "small_grid", "terms", "tour_bar"])

/** @typedef {"png" | "svg" | "csv" | "full"} Action */
/** @typedef {{keep: string, png: string, svg: string, csv: string, full: string}} Words */

/** @type {Map<HTMLElement, Action>} */
const buttons = new Map()
/** @type {Words | null} */
let words = null

/**
 * The words come with the frame of the page, which may be drawn before or after a figure.
 * @param {Words} labels
 */
export function nameFigureRows(labels) {
  words = labels
  for (const button of buttons.keys()) name(button)
}

/** @param {HTMLElement} button */
function name(button) {
  const action = /** @type {Action} */ (buttons.get(button))
  const full = action === "full"
  button.hidden = !words
  button.textContent = full ? words?.full ?? "" : action.toUpperCase()
  if (words && !full) button.setAttribute("aria-label", words[action])
}

/**
 * @param {Action} action
 * @param {() => unknown} does
 */
function actionButton(action, does) {
  const button = h("button", { type: "button", class: action === "full" ? "nt-full" : "nt-link", onclick: does })
  buttons.set(button, action)
  name(button)
  return button
}

/** @param {() => unknown} show */
export function fullScreenButton(show) {
  return actionButton("full", show)
}

/**
 * Put the row under a figure, once; called whenever the figure is drawn.
 * @param {string} component
 * @param {HTMLElement} element the figure's own element
 * @param {any} host
 * @param {() => any} arrays the numbers of the message that is drawn
 */
export function frameFigure(component, element, host, arrays) {
  if (FURNITURE.has(component)) return
  let row = rows.get(element)
  if (!row) {
    const file = `next-token-${component}`
    row = h("div", { class: "nt-root nt-figure-row" },
      actionButton("png", async () => save(await pngOf(element), `${file}.png`)),
      actionButton("svg", () => save(new Blob([svgOf(element).text], { type: "image/svg+xml" }), `${file}.svg`)),
      arrays().length ? actionButton("csv", () => save(csvBlob(csvOf(arrays())), `${file}.csv`)) : null,
      document.fullscreenEnabled ? fullScreenButton(() => element.requestFullscreen()) : null)
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
  for (const button of row.children) forgetButton(button)
  row.remove()
  rows.delete(element)
}

/** @type {WeakMap<HTMLElement, HTMLElement>} */
const rows = new WeakMap()
