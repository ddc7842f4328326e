// @ts-check
/** What prefill predicted at each prompt position: greyed, because the next token is given; the last one is used. */
import { h, part, set } from "../lib/dom.js"
import { fill, marked, percent } from "../generate/format.js"

/**
 * @param {HTMLElement} root
 * @param {any} header `guesses`: [{position, token, guess, probability, right, used}]
 * @param {(position: number) => void} choose
 */
export function renderGuesses(root, header, choose) {
  const { labels, guesses } = header
  const list = part(root, "guesses", () => h("ol", { class: "nt-guesses" }))
  set(list, { "aria-label": labels.guesses_title })
  while (list.children.length > guesses.length) list.lastElementChild?.remove()
  while (list.children.length < guesses.length) list.append(item())
  guesses.forEach((/** @type {any} */ one, /** @type {number} */ i) => {
    const row = /** @type {HTMLElement} */ (list.children[i])
    const button = /** @type {HTMLElement} */ (row.firstElementChild)
    const [token, arrow, guess, chance, note] = /** @type {HTMLElement[]} */ ([...button.children])
    row.className = one.used ? "used" : one.right ? "right" : ""
    token.textContent = marked(one.token)
    arrow.textContent = "→"
    guess.textContent = marked(one.guess)
    chance.textContent = percent(one.probability)
    note.textContent = one.used ? labels.guess_used : one.right ? labels.guess_right : labels.guess_unused
    set(button, {
      "aria-pressed": String(one.position === header.position),
      title: fill(labels.guess_tip, { position: one.position }),
      onclick: () => choose(one.position),
    })
  })
}

function item() {
  return h("li", {}, h("button", { type: "button" },
    h("span", { class: "nt-mono token" }), h("span", { "aria-hidden": "true" }), h("span", { class: "nt-mono guess" }),
    h("b"), h("small")))
}
