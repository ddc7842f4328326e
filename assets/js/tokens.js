// @ts-check
/** The three views of the Tokens page; `header.view` says which one is meant. */
import { renderCompare } from "./tokens/compare.js"
import { renderList } from "./tokens/list.js"
import { pauseWords, renderWords } from "./tokens/words.js"

export const styles = ["tokens_page.css"]

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/tokens.py
 * @param {any} _arrays none
 * @param {import("./lib/loader.js").Emit} emit `choose` with {position}
 */
export function render(element, header, _arrays, emit) {
  if (header.view === "words") renderWords(element, header, emit)
  else if (header.view === "list") renderList(element, header, emit)
  else renderCompare(element, header)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  pauseWords(element)
}
