// @ts-check
/** Bars of the likeliest tokens: under the settings, with the model's own probability as a thin mark. */
import { h, part, set } from "../lib/dom.js"
import { fill, percent, whole } from "./format.js"
import { candidateName } from "./sentence.js"

export const BAR_COUNTS = [12, 30, 60]

/**
 * @param {HTMLElement} root
 * @param {import("./view-model.js").Header} header
 * @param {import("./view-model.js").Distribution} shown
 * @param {number} vocabulary
 * @param {number} level index into BAR_COUNTS
 * @param {{take: (id: number) => void, level: (level: number) => void}} on
 */
export function renderBars(root, header, shown, vocabulary, level, on) {
  const { labels, state } = header
  const title = state.ahead > 0 ? labels.bars_title_back : labels.bars_title
  text(root, "h2", "bars-title", "", fill(title, { next: state.step + 1 }))
  text(root, "p", "bars-sub", "nt-muted", fill(labels.bars_sub, { vocabulary: whole(vocabulary) }))
  part(root, "bars-key", () =>
    h("p", { class: "ntg-key nt-muted" },
      h("span", {}, h("i", { class: "ntg-key-now" }), labels.bars_key_now),
      h("span", {}, h("i", { class: "ntg-key-model" }), labels.bars_key_model)))
  const list = part(root, "bars", () => h("ol", { class: "ntg-bars" }))
  while (list.children.length > shown.bars.length) list.lastElementChild?.remove()
  while (list.children.length < shown.bars.length) list.append(row())
  shown.bars.forEach((bar, i) => dress(/** @type {HTMLElement} */ (list.children[i]), bar, shown.scale, labels, on.take))
  const rest = fill(labels.bars_rest, { count: whole(shown.restCount), mass: percent(shown.restMass) })
  text(root, "p", "bars-rest", "ntg-rest", rest)
  const kept = shown.kept === vocabulary ? labels.kept_all : labels.kept_some
  const mass = percent(shown.keptMass)
  text(root, "p", "bars-kept", "nt-muted", shown.greedy ? "" : fill(kept, { kept: whole(shown.kept), count: whole(vocabulary), mass }))
  more(root, labels, level, on.level)
}

function row() {
  return h("li", {},
    h("button", { type: "button", class: "ntg-bar" },
      h("span", { class: "ntg-bar-name nt-mono" }), " ", // the spaces part the words for who cannot see the columns
      h("span", { class: "ntg-track" },
        h("i", { class: "ntg-fill" }), h("i", { class: "ntg-model" }), h("span", { class: "ntg-bar-note" })), " ",
      h("span", { class: "ntg-bar-value" })))
}

/**
 * @param {HTMLElement} item
 * @param {import("./view-model.js").Bar} bar
 * @param {number} scale
 * @param {Record<string, string>} labels
 * @param {(id: number) => void} take
 */
function dress(item, bar, scale, labels, take) {
  const button = /** @type {HTMLElement} */ (item.firstElementChild)
  const [name, track, value] = /** @type {HTMLElement[]} */ ([...button.children])
  const [fillBar, model, note] = /** @type {HTMLElement[]} */ ([...track.children])
  const label = candidateName(labels, bar.id, bar.text)
  put(name, label)
  const number = bar.removed ? percent(bar.model) : percent(bar.probability)
  const said = bar.recorded ? labels.taken : bar.removed ? labels[`removed_${bar.removed}`] : ""
  put(value, number)
  put(note, said)
  button.className = ["ntg-bar", bar.removed && "removed", bar.recorded && "recorded", bar.drawn && "drawn"]
    .filter(Boolean).join(" ")
  button.dataset.id = String(bar.id)
  fillBar.style.transform = `scaleX(${Math.min(1, bar.probability / scale)})`
  model.style.left = `${Math.min(1, bar.model / scale) * 100}%`
  // The name begins with what is seen, so that a spoken command finds the button.
  const seen = [label, said, number].filter(Boolean).join(" ")
  const values = { probability: percent(bar.probability), model: percent(bar.model) }
  set(button, { "aria-label": `${seen}. ${fill(labels.take, values)}`, onclick: () => take(bar.id) })
}

/**
 * @param {HTMLElement} root
 * @param {Record<string, string>} labels
 * @param {number} level
 * @param {(level: number) => void} choose
 */
function more(root, labels, level, choose) {
  const line = part(root, "bars-more", () =>
    h("p", { class: "ntg-more" },
      h("button", { type: "button", class: "nt-chip" }, labels.more),
      h("button", { type: "button", class: "nt-chip" }, labels.fewer)))
  const [up, down] = /** @type {HTMLButtonElement[]} */ ([...line.children])
  up.hidden = level >= BAR_COUNTS.length - 1
  down.hidden = level === 0
  up.onclick = () => choose(level + 1)
  down.onclick = () => choose(0)
}

/**
 * A line of text that is written only when it changes.
 * @param {HTMLElement} root
 * @param {string} tag
 * @param {string} name
 * @param {string} className
 * @param {string} value
 */
export function text(root, tag, name, className, value) {
  const line = part(root, name, () => h(tag, { class: className }))
  put(line, value)
  return line
}

/**
 * @param {HTMLElement} element
 * @param {string} value
 */
export function put(element, value) {
  if (element.textContent !== value) element.textContent = value
}
