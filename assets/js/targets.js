// @ts-check
/** Shifted targets, row by row with what each row could see; and one text read in two worlds, place by place. */
import { forgetWidth } from "./lib/canvas.js"
import { h, part, set } from "./lib/dom.js"
import { renderRows, settleRows } from "./targets/rows.js"
import { renderWorlds } from "./targets/worlds.js"

export const styles = ["vectors.css", "targets.css"]

/**
 * @param {HTMLElement} element
 * @param {any} header see core/components/targets.py
 * @param {any} arrays
 * @param {import("./lib/loader.js").Emit} emit
 */
export function render(element, header, arrays, emit) {
  const root = part(element, "view", () => h("section", { class: "nt-tg" }))
  set(root, { "aria-label": header.labels[`${header.view}_title`] })
  if (header.view === "rows") renderRows(root, element, header, arrays, emit)
  else renderWorlds(root, element, header, emit)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  settleRows(element)
  for (const frame of element.querySelectorAll(".nt-tg-frame")) forgetWidth(/** @type {any} */ (frame))
}
