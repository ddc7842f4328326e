// @ts-check
/** The wordings with the model as it is: the answer's chance and rank, and what the model would rather say. */
import { put, text } from "../generate/bars.js"
import { fill, marked, percent, whole } from "../generate/format.js"
import { h, part, set } from "../lib/dom.js"

/**
 * @param {HTMLElement} root
 * @param {import("../knowledge.js").Header} header
 * @param {number} chosen
 * @param {(index: number) => void} choose
 */
export function renderWordings(root, header, chosen, choose) {
  const { labels, rows } = header
  text(root, "h2", "wordings-title", "", fill(labels.wordings_title, { answer: quoted(header.answer) }))
  const list = part(root, "wordings", () => h("ol", { class: "ntk-wordings" }))
  while (list.children.length > rows.length) list.lastElementChild?.remove()
  while (list.children.length < rows.length) list.append(entry())
  rows.forEach((row, i) => {
    const [wording, , probability, rank, favourite, best] = row
    const button = /** @type {HTMLElement} */ (list.children[i].firstElementChild)
    const [number, name, track, value, place, rather] = /** @type {HTMLElement[]} */ ([...button.children])
    put(number, String(i + 1))
    put(name, marked(wording).replaceAll("·", " "))
    const bar = /** @type {HTMLElement} */ (track.firstElementChild)
    bar.style.transform = `scaleX(${probability})`
    put(value, percent(probability))
    put(place, fill(labels.rank, { rank: whole(rank) }))
    put(rather, rank === 1 ? labels.first : fill(labels.rather, { token: quoted(favourite), probability: percent(best) }))
    set(button, { "aria-pressed": i === chosen ? "true" : "false", onclick: () => choose(i) })
  })
}

/** @param {string} token */
function quoted(token) {
  return `“${marked(token)}”`
}

function entry() {
  return h("li", {},
    h("button", { type: "button", class: "ntk-wording" },
      h("span", { class: "ntk-number" }),
      h("span", { class: "ntk-text nt-mono" }),
      h("span", { class: "ntk-track" }, h("i", {})),
      h("span", { class: "ntk-value" }),
      h("span", { class: "ntk-rank" }),
      h("span", { class: "ntk-rather nt-muted" })))
}
