// @ts-check
/** A text with the tokens lit that one expert of one layer took. */
import { h, part, visible } from "../lib/dom.js"
import { fill, percent } from "../attention/words.js"
import { COLOURS } from "./look.js"

/**
 * @param {HTMLElement} panel
 * @param {any} header `texts`: {title, tokens, weights}
 */
export function renderTaken(panel, header) {
  const { labels, expert } = header
  header.texts.forEach((/** @type {any} */ text, /** @type {number} */ i) => {
    const box = part(panel, `text-${i}`, () => h("div", { class: "ntx-text" }))
    part(box, "title", () => h("h4")).textContent = text.title
    const line = part(box, "line", () => h("p", { class: "nt-mono ntx-line" }))
    line.replaceChildren(...text.tokens.map((/** @type {string} */ words, /** @type {number} */ at) => {
      const weight = text.weights[at]
      if (!weight) return h("span", { class: "missed" }, visible(words))
      const lit = h("mark", { class: `e${expert % COLOURS}`, title: fill(labels.taken_tip, { weight: percent(weight) }) }, visible(words))
      lit.style.setProperty("--share", String(0.35 + 0.65 * Math.min(1, weight)))
      return lit
    }))
  })
}
