// @ts-check
/** One question on a page: predict, then see. */
import { renderQuestion } from "./lib/question.js"

export const styles = ["question.css"]

/**
 * @param {HTMLElement} element
 * @param {import("./lib/question.js").Asked} header
 * @param {any} _arrays
 * @param {import("./lib/loader.js").Emit} emit `answer` with {id, given}
 */
export function render(element, header, _arrays, emit) {
  element.classList.add("nt-predict")
  renderQuestion(element, header, (given) => emit("answer", { id: header.id, given }))
}
