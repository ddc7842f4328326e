// @ts-check
/** What each head of the layer adds at the chosen token, and how far that alone moves one token's logit. */
import { h, part, set } from "../lib/dom.js"
import { largest } from "./numbers.js"
import { fill, number, percent, token } from "./words.js"

/**
 * @param {HTMLElement} panel
 * @param {import("../attention.js").State} s
 */
export function renderShares(panel, s) {
  const { header, labels, arrays } = s
  panel.classList.toggle("stale", header.position !== s.query || header.layer !== s.layer)
  const values = { layer: header.layer, query: token(header.tokens[header.position]), length: number(header.residual) }
  part(panel, "title", () => h("h3")).textContent = fill(labels.shares_title, values)
  part(panel, "sub", () => h("p", { class: "nt-muted" })).textContent = fill(labels.shares_sub, values)
  if (arrays.effects) choices(part(panel, "tokens", () => h("div", { class: "nta-choices", role: "group" })), s)
  else part(panel, "tokens", () => h("p", { class: "nt-muted" })).textContent = labels.no_effects
  const table = part(part(panel, "scroll", () => h("div", { class: "nta-scroll" })), "table", () => h("table", { class: "nta-shares" }))
  const head = part(table, "head", () => h("thead", {}, h("tr", {}, ...[0, 1, 2, 3].map(() => h("th", { scope: "col" })))))
  const named = { token: token(header.names[s.asked] ?? "") }
  const titles = ["share_head", "share_group", "share_size", "share_effect"]
  titles.forEach((key, i) => (head.firstElementChild.children[i].textContent = fill(labels[key], named)))
  const body = part(table, "body", () => h("tbody"))
  while (body.children.length > header.groups.length) body.lastElementChild?.remove()
  const effects = header.groups.map((/** @type {number} */ _, /** @type {number} */ i) => effect(s, i))
  const tops = { size: largest(arrays.sizes), effect: largest(effects) }
  header.groups.forEach((/** @type {number} */ group, /** @type {number} */ at) => {
    const line = part(body, `head-${at}`, () => h("tr", {}, h("th", { scope: "row" }), h("td"), h("td"), h("td")))
    const first = at > 0 && header.groups[at - 1] !== group
    line.className = `${at === s.headIndex ? "chosen" : ""}${first ? " group-start" : ""}`
    set(line, { onclick: () => s.choose({ head: at }) })
    line.children[0].textContent = String(at)
    line.children[1].textContent = fill(labels.kv_head, { group })
    bar(line.children[2], arrays.sizes[at] / tops.size, number(arrays.sizes[at]), "size")
    part(line.children[2], "of", () => h("span", { class: "nt-muted" })).textContent = percent(arrays.sizes[at] / header.residual)
    if (arrays.effects) bar(line.children[3], effects[at] / tops.effect, signed(effects[at]), "effect")
  })
  part(panel, "how", () => h("p", { class: "nt-muted nta-note" })).textContent = arrays.effects ? fill(labels.effects_how, named) : ""
}

/**
 * @param {import("../attention.js").State} s
 * @param {number} head
 */
function effect(s, head) {
  return s.arrays.effects ? s.arrays.effects[head * s.header.names.length + s.asked] : 0
}

/** @param {number} value */
function signed(value) {
  return value > 0 ? `+${number(value)}` : number(value)
}

/**
 * @param {HTMLElement} box
 * @param {import("../attention.js").State} s
 */
function choices(box, s) {
  const { header, labels } = s
  set(box, { "aria-label": labels.effects_of })
  part(box, "title", () => h("span", { class: "nt-muted" })).textContent = labels.effects_of
  header.names.forEach((/** @type {string} */ name, /** @type {number} */ at) => {
    const chip = part(box, `token-${at}`, () => h("button", { type: "button", class: "nt-chip nt-mono" }))
    chip.textContent = `${token(name)} ${percent(header.probabilities[at])}`
    set(chip, { "aria-pressed": String(at === s.asked), onclick: () => s.ask(at) })
  })
}

/**
 * @param {Element} cell
 * @param {number} share from −1 to 1
 * @param {string} text
 * @param {string} kind
 */
function bar(cell, share, text, kind) {
  const track = part(cell, "track", () => h("span", { class: `nta-track ${kind}` }, h("span")))
  const inner = /** @type {HTMLElement} */ (track.firstElementChild)
  const half = kind === "effect" ? 50 : 100
  inner.className = share < 0 ? "minus" : "plus"
  inner.style.width = `${Math.abs(share) * half}%`
  inner.style.left = kind === "effect" ? `${share < 0 ? 50 - Math.abs(share) * 50 : 50}%` : "0"
  part(cell, "text", () => h("span", { class: "nta-value" })).textContent = text
}
