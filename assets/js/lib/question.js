// @ts-check
/** A question that is answered before its answer is seen: choices or a number, then right or not, and why. */
import { h, memory, part, set } from "./dom.js"

/**
 * @typedef {{id: string, ask: string, choices: string[], answer: number, why: string, given: number | null,
 *   revealed: boolean, labels: Record<string, string>}} Asked
 * `choices` is empty where a whole number is asked for; `given` is null while nothing was answered.
 */
/** @typedef {{id: string | null, given: number | null, revealed: boolean}} Memory */

/**
 * What is known of the answer: what the page says, and at once what was just clicked here.
 * @param {Memory} before
 * @param {Asked} asked
 * @returns {Memory}
 */
export function known(before, asked) {
  const here = before.id === asked.id ? before : { id: asked.id, given: null, revealed: false }
  if (here.revealed) return here
  return { id: asked.id, given: asked.given, revealed: asked.revealed }
}

/**
 * The sign and the word of the verdict: right, wrong, or the plain answer for one who did not guess.
 * @param {Memory} now
 * @param {Asked} asked
 */
export function verdict(now, asked) {
  const right = asked.choices.length ? asked.choices[asked.answer] : asked.answer.toLocaleString("en-US")
  const name = now.given === null ? "shown" : now.given === asked.answer ? "right" : "wrong"
  return { name, text: asked.labels[name].replace("{answer}", () => right) }
}

/**
 * @param {HTMLElement} root
 * @param {Asked} asked
 * @param {(given: number | null) => void} answer called once, with null when the learner only wants to see
 */
export function renderQuestion(root, asked, answer) {
  const box = part(root, "question", () => h("div", { class: "nt-question" }))
  const m = memory(box, () => /** @type {Memory} */ ({ id: null, given: null, revealed: false }))
  Object.assign(m, known(m, asked))
  const give = (/** @type {number | null} */ given) => {
    if (m.revealed) return
    Object.assign(m, { given, revealed: true })
    draw(box, asked, m, give)
    answer(given)
  }
  draw(box, asked, m, give)
}

/**
 * @param {HTMLElement} box
 * @param {Asked} asked
 * @param {Memory} m
 * @param {(given: number | null) => void} give
 */
function draw(box, asked, m, give) {
  const ask = part(box, "ask", () => h("p", { class: "ask" }))
  ask.textContent = asked.ask
  const row = part(box, "answers", () => h("div", { class: "answers", role: "group" }))
  row.setAttribute("aria-label", asked.labels.answers)
  if (row.dataset.id !== asked.id) {
    row.replaceChildren()
    row.dataset.id = asked.id
  }
  if (asked.choices.length) choices(row, asked, m, give)
  else entry(row, asked, m, give)
  const show = part(row, "show", () => h("button", { type: "button", class: "nt-show" }, asked.labels.show))
  set(show, { hidden: m.revealed, onclick: () => give(null) })
  const told = part(box, "told", () => h("p", { class: "told", role: "status" }))
  told.replaceChildren()
  if (!m.revealed) return
  const { name, text } = verdict(m, asked)
  told.append(h("strong", { class: name }, text), ` ${asked.why}`)
}

/**
 * @param {HTMLElement} row
 * @param {Asked} asked
 * @param {Memory} m
 * @param {(given: number | null) => void} give
 */
function choices(row, asked, m, give) {
  asked.choices.forEach((text, i) => {
    const button = part(row, `choice-${i}`, () => h("button", { type: "button", class: "nt-button choice" }, h("span"), h("kbd")))
    const right = m.revealed && i === asked.answer
    const sign = right ? "✓ " : m.revealed && i === m.given ? "✗ " : ""
    const [label, key] = /** @type {any[]} */ ([...button.children])
    label.textContent = `${sign}${text}`
    key.textContent = m.revealed ? "" : String(i + 1)
    key.hidden = m.revealed
    button.classList.toggle("right", right)
    set(button, {
      // Not `disabled`: the button that was just pressed keeps the focus.
      "aria-disabled": String(m.revealed), "aria-pressed": String(m.given === i), onclick: () => give(i),
    })
  })
}

/**
 * @param {HTMLElement} row
 * @param {Asked} asked
 * @param {Memory} m
 * @param {(given: number | null) => void} give
 */
function entry(row, asked, m, give) {
  const form = part(row, "entry", () => h("form", { class: "entry" },
    h("input", { type: "number", min: 0, step: 1, required: true, inputmode: "numeric" }),
    h("button", { type: "submit", class: "nt-button" })))
  const [input, button] = /** @type {any[]} */ ([...form.children])
  if (m.given !== null) input.value = String(m.given)
  set(input, { "aria-label": asked.labels.number, readonly: m.revealed })
  button.textContent = asked.labels.check
  set(button, { hidden: m.revealed })
  set(form, {
    onsubmit: (/** @type {SubmitEvent} */ event) => {
      event.preventDefault()
      if (Number.isInteger(input.valueAsNumber)) give(input.valueAsNumber)
    },
  })
}
