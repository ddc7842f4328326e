// @ts-check
/** Save the plotly chart in the same container as PNG or SVG, its data as CSV, and show it in full screen. */
import { h, part, set } from "./lib/dom.js"
import { forgetButton, fullScreenButton } from "./lib/figure_row.js"
import { csvBlob, save } from "./lib/keep.js"

export const styles = ["keep_figure.css"]

/**
 * @param {HTMLElement} element
 * @param {any} header container, filename, csv, labels
 */
export function render(element, header) {
  const row = part(element, "row", () => h("div", { class: "nt-keep" }))
  const { labels, filename, csv } = header
  part(row, "word", () => h("span")).textContent = labels.keep
  for (const format of ["png", "svg"]) {
    const button = part(row, format, () => h("button", { class: "nt-link", type: "button" }, format.toUpperCase()))
    set(button, { "aria-label": labels[format], onclick: () => image(element, header, format) })
  }
  const data = part(row, "csv", () => h("button", { class: "nt-link", type: "button" }, "CSV"))
  set(data, {
    "aria-label": labels.csv, hidden: csv === null,
    onclick: () => save(csvBlob(csv), `${filename}.csv`),
  })
  if (document.fullscreenEnabled) part(row, "full", () => fullScreenButton(() => fullScreen(element, header)))
}

/** @param {HTMLElement} element */
export function destroy(element) {
  forgetButton(element.querySelector(".nt-full"))
}

/**
 * Plotly draws the picture itself: its own button reads the format from the chart's settings.
 * @param {HTMLElement} element
 * @param {any} header
 * @param {string} format
 */
function image(element, header, format) {
  const chart = container(element, header)?.querySelector(".js-plotly-plot")
  const button = chart?.querySelector('.modebar-btn[data-attr="toImage"], .modebar-btn[data-title^="Download"]')
  if (!chart?._context || !button) return
  chart._context.toImageButtonOptions = { format, filename: header.filename, scale: format === "png" ? 2 : 1 }
  button.dispatchEvent(new MouseEvent("click", { bubbles: true }))
}

/**
 * The figure alone on the whole screen. Streamlit's own button gives the chart the size of the window, there and back.
 * @param {HTMLElement} element
 * @param {any} header
 */
async function fullScreen(element, header) {
  const figure = container(element, header)
  const resize = () => figure?.querySelector('.modebar-btn[data-title*="ullscreen"]')?.dispatchEvent(new MouseEvent("click", { bubbles: true }))
  if (!figure) return
  const back = () => {
    if (document.fullscreenElement === figure) return // the event of its beginning may come late
    document.removeEventListener("fullscreenchange", back)
    resize()
  }
  await figure.requestFullscreen()
  document.addEventListener("fullscreenchange", back)
  resize()
}

/**
 * The box that holds the chart and this row.
 * @param {HTMLElement} element
 * @param {any} header
 * @returns {HTMLElement | null}
 */
function container(element, header) {
  const host = /** @type {any} */ (element.getRootNode()).host ?? element
  return host.closest(`.${CSS.escape(header.container)}`)
}
