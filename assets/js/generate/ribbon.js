// @ts-check
/** The token ribbon: one chip a token, given or generated, coloured by the chance that the chosen token had. */
import { h, part, set } from "../lib/dom.js"
import { fill, marked, percent } from "./format.js"
import { textAt } from "./view-model.js"

const SPECIAL = 1
const SHADES = [0.1, 0.3, 0.6, 0.9]

/**
 * Which of the five shades a probability has; the scale under the ribbon shows the same five.
 * @param {number} probability
 */
export function shade(probability) {
  return SHADES.filter((limit) => probability >= limit).length
}

/**
 * @param {HTMLElement} root
 * @param {import("./view-model.js").Header} header
 * @param {boolean} before
 * @param {{jump: (step: number) => void, place: (position: number) => void}} on
 */
export function renderRibbon(root, header, before, on) {
  const { labels, tokens } = header
  const list = part(root, "ribbon", () => h("div", { class: "ntg-ribbon", role: "group" }))
  set(list, { "aria-label": labels.ribbon_name, onkeydown: (/** @type {KeyboardEvent} */ event) => move(event, list) })
  while (list.children.length > tokens.length) list.lastElementChild?.remove()
  while (list.children.length < tokens.length) list.append(h("button", { type: "button", tabindex: "-1" }))
  tokens.forEach((_, i) => dress(/** @type {HTMLElement} */ (list.children[i]), header, i, before, on))
  const newest = Math.max(0, header.prompt + header.state.step - 1)
  for (const chip of list.querySelectorAll('[tabindex="0"]')) chip.setAttribute("tabindex", "-1")
  const current = /** @type {HTMLElement | undefined} */ (list.children[newest])
  current?.setAttribute("tabindex", "0")
  if (current) keepInSight(list, current)
  legend(root, labels)
}

/**
 * @param {HTMLElement} chip
 * @param {import("./view-model.js").Header} header
 * @param {number} index
 * @param {boolean} before
 * @param {{jump: (step: number) => void, place: (position: number) => void}} on
 */
function dress(chip, header, index, before, on) {
  const token = header.tokens[index]
  const made = index - header.prompt
  const choice = made >= 0 ? header.chosen[made] : null
  const special = ((token[2] ?? 0) & SPECIAL) !== 0
  const parts = token[4] ?? 1
  const ahead = made >= header.state.step || (before && made >= 0)
  const name = ["ntg-chip", "nt-mono", choice ? `made s${shade(choice[0])}` : "given"]
  if (choice?.[2]) name.push("forced")
  if (special) name.push("special")
  if (parts > 1) name.push("split", token[3] === 1 ? "first" : token[3] === parts ? "last" : "inner")
  if (ahead) name.push("ahead")
  if (index === header.position && !before) name.push("chosen")
  const className = name.join(" ")
  if (chip.className !== className) chip.className = className
  const text = marked(textAt(header, index) ?? "")
  const signature = `${text}|${token[3] ?? ""}`
  if (chip.dataset.signature !== signature) {
    chip.dataset.signature = signature
    chip.textContent = text
    if (parts > 1) chip.append(h("sup", { class: "ntg-part" }, `${token[3]}/${parts}`))
  }
  const tip = tooltip(header, index, choice, special)
  if (chip.dataset.tip !== tip) {
    chip.dataset.tip = tip
    chip.setAttribute("aria-label", tip)
  }
  chip.onclick = () => (choice ? on.jump(made) : on.place(index))
  chip.onpointerenter = chip.onfocus = () => showTip(chip, tip)
  chip.onpointerleave = chip.onblur = () => hideTip(chip)
}

/**
 * @param {import("./view-model.js").Header} header
 * @param {number} index
 * @param {number[] | null} choice
 * @param {boolean} special
 */
function tooltip(header, index, choice, special) {
  const { labels, tokens } = header
  const token = tokens[index]
  const lines = [
    fill(labels.token_tip, { token: marked(textAt(header, index) ?? ""), id: token[0], position: index }),
    choice
      ? fill(choice[2] ? labels.token_forced : labels.token_made, { probability: percent(choice[0]), rank: choice[1] })
      : labels.token_given,
  ]
  if (special) lines.push(labels.token_special)
  if ((token[4] ?? 1) > 1) lines.push(fill(labels.token_part, { part: token[3], parts: token[4] }))
  return lines.join("\n")
}

/**
 * @param {HTMLElement} chip
 * @param {string} text
 */
function showTip(chip, text) {
  const root = /** @type {HTMLElement} */ (chip.closest(".nt-root"))
  const tip = part(root, "ribbon-tip", () => h("div", { class: "nt-tip ntg-tip", "aria-hidden": "true" }))
  tip.textContent = text
  tip.hidden = false
  const frame = root.getBoundingClientRect()
  const box = chip.getBoundingClientRect()
  const left = Math.max(0, Math.min(box.left - frame.left, frame.width - tip.offsetWidth))
  set(tip, { style: { left: `${left}px`, top: `${box.bottom - frame.top + 6}px` } })
}

/** @param {HTMLElement} chip */
function hideTip(chip) {
  const tip = /** @type {HTMLElement | null} */ (chip.closest(".nt-root")?.querySelector('[data-part="ribbon-tip"]'))
  if (tip) tip.hidden = true
}

/**
 * Arrow keys inside the ribbon move from token to token; everywhere else they step the run.
 * @param {KeyboardEvent} event
 * @param {HTMLElement} list
 */
function move(event, list) {
  const by = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key]
  const chips = /** @type {HTMLElement[]} */ ([...list.children])
  const at = chips.indexOf(/** @type {HTMLElement} */ (event.target))
  if (by === undefined || at < 0 || !(/** @type {HTMLElement} */ (event.target).matches(":focus-visible"))) return
  event.preventDefault()
  const target = chips[Math.max(0, Math.min(chips.length - 1, at + by))]
  target.focus()
}

/**
 * Scroll the ribbon alone, never the page.
 * @param {HTMLElement} list
 * @param {HTMLElement} chip
 */
function keepInSight(list, chip) {
  const top = chip.offsetTop - list.offsetTop
  if (top < list.scrollTop || top + chip.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = Math.max(0, top - list.clientHeight + 2 * chip.offsetHeight)
  }
}

/**
 * @param {HTMLElement} root
 * @param {Record<string, string>} labels
 */
function legend(root, labels) {
  part(root, "legend", () =>
    h("div", { class: "ntg-legend" },
      h("span", {}, h("i", { class: "ntg-swatch given" }), labels.given),
      h("span", {}, h("i", { class: "ntg-swatch special" }), labels.special),
      h("span", {}, h("i", { class: "ntg-swatch made" }), labels.made),
      h("span", { class: "ntg-scale" }, labels.scale, " 0%",
        ...[0, 1, 2, 3, 4].map((step) => h("i", { class: `ntg-swatch s${step}` })), "100%"),
    ))
}
