// @ts-check
/** Sentences scored by the model: under each token how much it surprised the model. */
import { fill, marked, percent } from "../generate/format.js"
import { h, part } from "../lib/dom.js"
import { line } from "../tree/panels.js"

const TALLEST = 72

/**
 * @param {HTMLElement} root
 * @param {any} header see core/components/what_if.py
 */
export function renderSentences(root, header) {
  const { labels, sentences } = header
  const most = Math.max(1, ...sentences.flatMap((/** @type {any} */ s) => s.tokens.map((/** @type {any} */ t) => t[3] ?? 0)))
  const box = part(root, "sentences", () => h("div", { class: "nt-two" }))
  while (box.children.length > sentences.length) box.lastElementChild?.remove()
  sentences.forEach((/** @type {any} */ sentence, /** @type {number} */ i) => {
    const panel = part(box, `s${i}`, () => h("section", { class: "nt-panel ntw-sentence" }))
    line(panel, "h3", "title", sentence.title)
    const list = part(panel, "tokens", () => h("ol", { class: "ntw-columns" }))
    list.replaceChildren(...sentence.tokens.map((/** @type {any[]} */ token) => column(token, most, labels)))
    line(panel, "p", "sum", fill(labels.sentence_sum, {
      bits: sentence.bits.toFixed(1), mean: sentence.mean.toFixed(3).replace("-", "−"), perplexity: sentence.perplexity.toFixed(1),
    }))
  })
}

/**
 * @param {any[]} token id, text, probability, surprise in bits, rank
 * @param {number} most
 * @param {any} labels
 */
function column([, text, probability, surprise, rank], most, labels) {
  const shown = marked(text)
  const first = surprise === null
  const tip = first ? fill(labels.surprise_first, { token: shown })
    : fill(labels.surprise_tip, { token: shown, bits: surprise.toFixed(2), probability: percent(probability), rank })
  return h("li", { title: tip },
    h("small", {}, first ? "–" : surprise.toFixed(1)),
    h("i", { style: { height: `${first ? 0 : Math.max(1, (surprise / most) * TALLEST)}px` }, "aria-hidden": "true" }),
    h("span", { class: "nt-mono" }, shown),
    h("small", { class: "nt-muted" }, first ? "" : percent(probability)))
}
