// @ts-check
/** A component's figure as a file: what is on the screen as SVG or PNG, the numbers behind it as CSV. */
import { h } from "./dom.js"

const XHTML = "http://www.w3.org/1999/xhtml"
const MARGIN = 16
const SHARP = 2 // pixels of a PNG for one of the screen

/**
 * @param {Blob} blob
 * @param {string} name
 */
export function save(blob, name) {
  const address = URL.createObjectURL(blob)
  h("a", { href: address, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}

/** @param {string} text */
export function csvBlob(text) {
  return new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }) // the mark lets spreadsheets see UTF-8
}

/**
 * All numbers of a message, one a line, with the name of their array and their place in it.
 * @param {any[] & Record<string, any>} arrays
 */
export function csvOf(arrays) {
  const names = new Map(Object.entries(arrays).filter(([key]) => !/^\d+$/.test(key)).map(([key, array]) => [array, key]))
  const width = Math.max(1, ...arrays.map((array) => array.shape.length))
  const lines = [["array", ...["i", "j", "k", "l"].slice(0, width), "value"].join(",")]
  arrays.forEach((array, index) => {
    const name = names.get(array) ?? `array ${index}`
    for (let at = 0; at < array.length; at++) lines.push([name, ...place(at, array.shape, width), array[at]].join(","))
  })
  return `${lines.join("\r\n")}\r\n`
}

/**
 * @param {number} at
 * @param {number[]} shape
 * @param {number} width
 */
function place(at, shape, width) {
  const indices = []
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    indices.unshift(at % shape[axis])
    at = Math.floor(at / shape[axis])
  }
  return [...indices, ...Array(width - shape.length).fill("")]
}

/**
 * What an element shows, as an SVG that stands alone: its own markup with the style sheets of its shadow root.
 * @param {HTMLElement} element
 */
export function svgOf(element) {
  const { width, height } = element.getBoundingClientRect()
  const root = /** @type {ShadowRoot | Document} */ (element.getRootNode())
  const css = [...root.adoptedStyleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join("\n")
  const copy = /** @type {HTMLElement} */ (element.cloneNode(true))
  fixCanvases(element, copy)
  fixInputs(element, copy)
  Object.assign(copy.style, { width: `${width}px`, background: "var(--nt-paper)", padding: `${MARGIN}px`, boxSizing: "content-box" })
  const style = document.createElementNS(XHTML, "style")
  style.textContent = css
  copy.prepend(style)
  const w = Math.ceil(width + 2 * MARGIN)
  const tall = Math.ceil(height + 2 * MARGIN)
  const markup = new XMLSerializer().serializeToString(copy)
  const text = `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${tall}" viewBox="0 0 ${w} ${tall}">` +
    `<foreignObject width="${w}" height="${tall}">${markup}</foreignObject></svg>`
  return { text, width: w, height: tall }
}

/**
 * A copy of a canvas is empty: a picture takes its place.
 * @param {HTMLElement} from
 * @param {HTMLElement} to
 */
function fixCanvases(from, to) {
  const copies = to.querySelectorAll("canvas")
  from.querySelectorAll("canvas").forEach((canvas, i) => {
    const image = document.createElementNS(XHTML, "img")
    for (const { name, value } of canvas.attributes) image.setAttribute(name, value)
    const box = canvas.getBoundingClientRect()
    if (canvas.width && canvas.height) image.setAttribute("src", canvas.toDataURL())
    image.setAttribute("style", `${canvas.getAttribute("style") ?? ""};width:${box.width}px;height:${box.height}px`)
    copies[i].replaceWith(image)
  })
}

/**
 * What was typed or dragged is no attribute yet.
 * @param {HTMLElement} from
 * @param {HTMLElement} to
 */
function fixInputs(from, to) {
  const copies = to.querySelectorAll("input")
  from.querySelectorAll("input").forEach((input, i) => copies[i].setAttribute("value", input.value))
}

/**
 * @param {HTMLElement} element
 * @returns {Promise<Blob>}
 */
export async function pngOf(element) {
  const { text, width, height } = svgOf(element)
  const image = new Image()
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`
  await image.decode()
  const canvas = document.createElement("canvas")
  Object.assign(canvas, { width: width * SHARP, height: height * SHARP })
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"))
  ctx.drawImage(image, 0, 0, canvas.width, canvas.height)
  return await new Promise((done, fail) => canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture")))))
}
