// @ts-check
/** The tour's bar: which stop this is, its question, and back, next, leave. */
import { h, memory, part, set } from "./lib/dom.js"
import { offer } from "./lib/keys.js"
import { arrive, leave } from "./lib/leaving.js"
import { renderQuestion } from "./lib/question.js"

export const styles = ["question.css", "tour_bar.css"]

const MOST_CHOICES = 9

/**
 * @param {HTMLElement} element
 * @param {any} header counter, title, first, last, asked, waiting, labels
 * @param {any} _arrays
 * @param {import("./lib/loader.js").Emit} emit `answer` with {id, given}; `go` with {to: next, back, leave or stop, and
 *   the answer}: one that is followed at once by a move would else be lost on its way
 */
export function render(element, header, _arrays, emit) {
  const { labels, asked } = header
  const m = memory(element, () => ({ answer: /** @type {any} */ (null) }))
  const bar = part(element, "bar", () => h("section", { class: "nt-tour" }))
  set(bar, { "aria-label": labels.bar })
  const head = part(bar, "head", () => h("div", { class: "head" }))
  const counter = part(head, "counter", () => h("span", { class: "counter" }))
  if (counter.textContent !== header.counter) arrive() // the next stop may stand on the same page
  counter.textContent = header.counter
  for (const [name, word, hidden, key] of moveList(header)) {
    if (name === "leave") part(head, "title", () => h("strong")).textContent = header.title
    const button = part(head, name, () => h("button", { type: "button", class: `nt-button ${name}` }, h("span"), h("kbd")))
    const [text, sign] = /** @type {any[]} */ ([...button.children])
    text.textContent = labels[word]
    sign.textContent = key
    sign.hidden = !key
    button.classList.toggle("primary", name === "next" || name === "stop")
    const go = () => {
      emit("go", { to: name, answer: m.answer })
      if (name !== "leave") leave()
    }
    set(button, { hidden, onclick: go })
    offer(`stop-${name}`, hidden ? null : go)
  }
  const note = part(bar, "note", () => h("p", { class: "nt-muted" }))
  note.textContent = header.waiting || (asked ? "" : labels.no_question)
  note.hidden = !note.textContent
  const room = part(bar, "room", () => h("div"))
  room.hidden = !asked
  if (asked) renderQuestion(room, asked, (given) => emit("answer", (m.answer = { id: asked.id, given })))
  for (let i = 0; i < MOST_CHOICES; i++) offer(`choice-${i + 1}`, asked?.choices[i] === undefined ? null : () => choose(room, i))
}

export function destroy() {
  for (const name of ["next", "back", "leave", "stop"]) offer(`stop-${name}`, null)
  for (let i = 0; i < MOST_CHOICES; i++) offer(`choice-${i + 1}`, null)
}

/**
 * Name, word, whether it is hidden, and key of each button.
 * @param {any} header
 * @returns {[string, string, boolean, string][]}
 */
export function moveList(header) {
  const waiting = !!header.waiting
  return [
    ["next", header.last ? "finish" : "next", waiting, "]"],
    ["back", "back", waiting || header.first, "["],
    ["stop", "to_stop", !waiting, "]"],
    ["leave", "leave", false, ""],
  ]
}

/**
 * @param {HTMLElement} room
 * @param {number} index
 */
function choose(room, index) {
  /** @type {HTMLElement | null} */ (room.querySelector(`[data-part=choice-${index}]`))?.click()
}
