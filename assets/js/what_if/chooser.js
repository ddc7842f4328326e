// @ts-check
/** Which token of the run is swapped, and for what: a candidate or typed text. */
import { fill, marked, percent } from "../generate/format.js"
import { renderBarList } from "../lib/bar-list.js"
import { h, part, set } from "../lib/dom.js"
import { button, line } from "../tree/panels.js"

/**
 * @param {HTMLElement} root
 * @param {any} header see core/components/what_if.py
 * @param {(kind: string, more?: any) => void} send
 */
export function renderChooser(root, header, send) {
  const { labels, made, at } = header
  line(root, "h3", "title", made.length > 0 ? labels.choose_title : labels.empty_title)
  const text = part(root, "text", () => h("div", { class: "ntw-text", role: "group" }))
  set(text, { "aria-label": labels.text_name })
  const given = part(text, "given", () => h("span", { class: "nt-mono nt-muted ntw-given" }))
  given.textContent = marked(header.prompt)
  const chips = part(text, "chips", () => h("span", { class: "ntw-chips" }))
  while (chips.children.length > made.length) chips.lastElementChild?.remove()
  while (chips.children.length < made.length) chips.append(h("button", { type: "button", class: "ntw-chip nt-mono" }))
  made.forEach((/** @type {any[]} */ token, /** @type {number} */ i) => {
    const chip = chips.children[i]
    const shown = marked(token[1])
    if (chip.textContent !== shown) chip.textContent = shown
    set(chip, {
      "aria-pressed": i === at ? "true" : "false",
      "aria-label": fill(labels.chip_tip, { token: shown, place: i + 1, probability: percent(token[2]) }),
      onclick: () => send("at", { value: i }),
    })
  })
  const acts = part(root, "acts", () => h("div", { class: "ntt-acts" }))
  button(acts, "generate", made.length > 0 ? labels.generate_more : labels.generate, () => send("generate"),
    header.job !== null, made.length > 0 ? "nt-button" : "nt-button primary")
  const place = part(root, "place", () => h("div", { class: "ntw-place" }))
  place.hidden = at === null
  if (at !== null) renderPlace(place, header, send)
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 * @param {(kind: string, more?: any) => void} send
 */
function renderPlace(root, header, send) {
  const { labels, candidates } = header
  const now = header.made[header.at]
  line(root, "p", "instead", fill(labels.instead, { token: marked(now[1]), probability: percent(now[2]) }))
  const likeliest = Math.max(now[2], ...candidates.map((/** @type {any[]} */ c) => c[2]), 1e-9)
  renderBarList(root, "bars", candidates.map((/** @type {any[]} */ [id, text, p]) => ({
    id, text: marked(text), value: percent(p), from: 0, to: p / likeliest,
  })), { title: labels.candidates_name, colour: "var(--nt-logits)", choose: (id) => send("swap", { value: id }) })
  const form = part(root, "form", () => h("form", { class: "ntt-acts" },
    h("label", {}, h("span"), h("input", { type: "text", maxlength: 60, class: "ntw-input nt-mono" })),
    h("button", { type: "submit", class: "nt-button" })))
  const [label, press] = form.children
  label.children[0].textContent = labels.typed
  press.textContent = labels.typed_go
  const input = /** @type {HTMLInputElement} */ (label.children[1])
  set(form, {
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault()
      if (input.value) send("type", { text: input.value })
    },
    onkeydown: (/** @type {Event} */ event) => event.stopPropagation(),
  })
  line(root, "p", "hint", labels.typed_hint, "nt-muted")
}
