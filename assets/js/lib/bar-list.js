// @ts-check
/** A list of tokens, each with a bar and a number. Entries keep their elements, so that nothing flickers. */
import { h, part, set, visible } from "./dom.js"

/** @typedef {{id: number, text: string, value: string, from: number, to: number, note?: string, lit?: boolean}} Bar
 *   `from`, `to`: the bar's ends as shares of the track */

/**
 * @param {HTMLElement} root
 * @param {string} name
 * @param {Bar[]} bars
 * @param {{title: string, colour: string, choose?: (id: number) => void}} options `colour`: a CSS colour
 */
export function renderBarList(root, name, bars, { title, colour, choose }) {
  const list = part(root, name, () => h("ol", { class: "nt-bars" }))
  set(list, { "aria-label": title })
  while (list.children.length > bars.length) list.lastElementChild?.remove()
  while (list.children.length < bars.length) list.append(entry())
  bars.forEach((bar, i) => {
    const item = /** @type {HTMLElement} */ (list.children[i])
    const button = /** @type {HTMLButtonElement} */ (item.firstElementChild)
    const [label, track, value] = /** @type {HTMLElement[]} */ ([...button.children])
    label.textContent = visible(bar.text)
    value.textContent = bar.value
    const [fill, note] = /** @type {HTMLElement[]} */ ([...track.children])
    const [low, high] = [Math.min(bar.from, bar.to), Math.max(bar.from, bar.to)]
    set(fill, { style: { left: `${100 * low}%`, width: `${100 * (high - low)}%`, background: colour } })
    note.textContent = bar.note ?? ""
    button.className = bar.lit ? "nt-bar-row lit" : "nt-bar-row"
    button.disabled = !choose
    set(button, { "data-id": bar.id, onclick: choose ? () => choose(bar.id) : null })
  })
}

function entry() {
  return h("li", {},
    h("button", { type: "button" },
      h("span", { class: "nt-mono nt-bar-label" }),
      h("span", { class: "nt-bar-track" }, h("i"), h("small", {})),
      h("span", { class: "nt-bar-number" })))
}
