// @ts-check
/** One text in two worlds: read with its own true prefix, and beside it what the model writes by itself. */
import { put } from "../generate/bars.js"
import { fill, marked, percent } from "../generate/format.js"
import { renderBarList } from "../lib/bar-list.js"
import { h, memory, part, set } from "../lib/dom.js"
import { choice, line } from "../tree/panels.js"
import { context, light, listen, nats, rowAt, rowsOf } from "./list.js"

/** @typedef {{position: number, reference: string, true_loss: number, own: string | null, same: boolean, own_loss: number | null,
 *   kl: number | null, true_top: [string, number][], own_top: [string, number][]}} Place */
/** @typedef {{given: string[], places: Place[], parted: number | null, seed: number, seeds: [number, number | null, boolean][],
 *   text: string, labels: Record<string, string>}} Header */

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} element
 * @param {Header} header
 * @param {import("../lib/loader.js").Emit} emit
 */
export function renderWorlds(root, element, header, emit) {
  const state = memory(element, () => ({ chosen: -1, of: "" }))
  const { labels, places } = header
  const about = `${header.text} ${header.seed}`
  if (state.of !== about || state.chosen >= places.length) Object.assign(state, { of: about, chosen: -1 })
  seeds(root, header, emit)
  line(root, "p", "parted", partedText(header))
  line(root, "p", "columns", labels.columns, "nt-muted")
  const box = part(root, "box", () => h("div", { class: "nt-tg-box" }))
  head(box, labels)
  const list = rowsOf(box, "rows", labels.worlds_title, places.length, build)
  const strongest = Math.max(1e-9, ...places.map((place) => place.kl ?? 0))
  places.forEach((place, i) => {
    const button = rowAt(list, i)
    if (button) dress(button, place, header, strongest)
  })
  const detail = part(root, "detail", () => h("div", { class: "nt-tg-detail", "aria-live": "polite" }))
  const chosen = () => (state.chosen >= 0 ? state.chosen : startAt(header))
  const show = () => {
    light(list, chosen())
    renderPlace(detail, header, chosen())
  }
  listen(list, places.length, chosen, (/** @type {number} */ index) => {
    state.chosen = index
    show()
  })
  detail.hidden = places.length === 0
  if (places.length) show()
}

/**
 * The place that is looked at first: the one after the texts part, where the two prefixes differ by one token.
 * @param {Header} header
 */
export function startAt({ places, parted }) {
  const at = places.findIndex((place) => place.position === parted)
  return Math.min(places.length - 1, at < 0 ? 0 : at + 1)
}

/** @param {Header} header */
export function partedText({ labels, places, parted, given }) {
  if (!places.length) return ""
  if (parted === null) return fill(labels.together_still, { count: places.length })
  const place = /** @type {Place} */ (places.find((one) => one.position === parted))
  const same = parted - given.length
  return fill(place.own === null ? labels.parted_end : same > 1 ? labels.parted_after : labels.parted_at, {
    position: parted, same, reference: marked(place.reference), own: marked(place.own ?? ""),
  })
}

/**
 * Tokens before place `index` in each world.
 * @param {Header} header
 * @param {number} index
 */
export function prefixes({ given, places }, index) {
  const before = places.slice(0, index)
  return { truth: [...given, ...before.map((p) => p.reference)], own: [...given, ...before.map((p) => p.own ?? "")] }
}

/**
 * @param {HTMLElement} root
 * @param {Header} header
 * @param {import("../lib/loader.js").Emit} emit
 */
function seeds(root, { labels, seeds: all, seed }, emit) {
  const options = all.map(([value, parted, done]) => ({
    value,
    text: parted !== null ? fill(labels.seed_parted, { seed: value, position: parted })
      : fill(done ? labels.seed_same : labels.seed_running, { seed: value }),
  }))
  choice(root, "seeds", labels.seeds_shown, options, seed, (value) => emit("seed", { seed: value }))
}

/**
 * @param {HTMLElement} box
 * @param {Record<string, string>} labels
 */
function head(box, labels) {
  const names = ["position", "reference", "true", "own", "ownloss", "kl"]
  const row = part(box, "head", () => h("div", { class: "nt-tg-pair nt-tg-head", "aria-hidden": "true" }, ...names.map((name) => h("span", { class: name }))))
  names.forEach((name, i) => put(row.children[i], labels[`worlds_${name}`]))
}

function build() {
  return h("button", { type: "button", class: "nt-tg-pair", "aria-pressed": "false", tabindex: "-1" },
    h("span", { class: "position" }),
    h("span", { class: "reference nt-mono" }), h("span", { class: "true" }),
    h("span", { class: "own nt-mono" }), h("span", { class: "ownloss" }),
    h("span", { class: "kl" }, h("i"), h("b")))
}

/**
 * @param {HTMLElement} button
 * @param {Place} place
 * @param {Header} header
 * @param {number} strongest
 */
function dress(button, place, { labels, parted }, strongest) {
  const [position, reference, truth, own, ownLoss, kl] = /** @type {HTMLElement[]} */ ([...button.children])
  const written = place.own === null ? labels.ended : marked(place.own)
  put(position, String(place.position))
  put(reference, marked(place.reference))
  put(truth, nats(place.true_loss))
  put(own, written)
  own.className = place.own === null ? "own none" : place.same ? "own nt-mono same" : "own nt-mono"
  put(ownLoss, place.own_loss === null ? "" : nats(place.own_loss))
  const [bar, value] = /** @type {HTMLElement[]} */ ([...kl.children])
  bar.style.width = `${(100 * (place.kl ?? 0)) / strongest}%`
  put(value, place.kl === null ? "" : distance(place.kl))
  button.className = place.position === parted ? "nt-tg-pair parting" : "nt-tg-pair"
  set(button, {
    "aria-label": fill(place.own === null ? labels.place_ended : labels.place_said, {
      position: place.position, reference: marked(place.reference), true: nats(place.true_loss), own: written,
      own_loss: nats(place.own_loss ?? NaN), kl: distance(place.kl ?? 0),
    }),
  })
}

/** KL in bits; rounding errors of one and the same prefix are nothing. @param {number} bits */
function distance(bits) {
  return bits < 1e-6 ? "0" : bits < 0.01 ? "< 0.01" : bits.toFixed(2)
}

/**
 * The distribution at one place in both worlds.
 * @param {HTMLElement} root
 * @param {Header} header
 * @param {number} index
 */
function renderPlace(root, header, index) {
  const { labels, places } = header
  const place = places[index]
  const before = prefixes(header, index)
  line(root, "h3", "title", fill(labels.place_title, { position: place.position }))
  const two = part(root, "worlds", () => h("div", { class: "nt-two" }))
  world(part(two, "true", () => h("section")), labels.world_true, before.truth, place.true_top, "var(--nt-residual)", "")
  world(part(two, "own", () => h("section")), labels.world_own, place.own === null ? [] : before.own, place.own_top,
    "var(--nt-accent)", place.own === null ? labels.world_ended : "")
  line(root, "p", "kl", place.kl === null ? "" : place.kl < 1e-6 ? labels.kl_none : fill(labels.kl_said, { kl: distance(place.kl) }))
}

/**
 * @param {HTMLElement} root
 * @param {string} title
 * @param {string[]} prefix
 * @param {[string, number][]} top
 * @param {string} colour
 * @param {string} instead
 */
function world(root, title, prefix, top, colour, instead) {
  line(root, "h4", "title", title)
  const known = prefix.length ? context(prefix, prefix.length - 1, 60) : { before: "", last: "" }
  line(root, "p", "prefix", marked(known.before + known.last), "nt-tg-seen nt-mono")
  line(root, "p", "instead", instead, "nt-muted")
  renderBarList(root, "bars", top.map(([text, p], id) => ({ id, text: marked(text), value: percent(p), from: 0, to: p })), { title, colour })
}
