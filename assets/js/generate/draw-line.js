// @ts-check
/** The draw made visible: all candidates side by side on a line from 0 to 1, and the random number that falls on it. */
import { h, part, set } from "../lib/dom.js"
import { fill } from "./format.js"
import { put, text } from "./bars.js"
import { candidateName } from "./sentence.js"

const LABEL_FROM = 0.07

/**
 * @param {HTMLElement} root
 * @param {import("./view-model.js").Header} header
 * @param {import("./view-model.js").Distribution} shown
 * @param {number} seed
 */
export function renderDraw(root, header, shown, seed) {
  const { labels } = header
  const drawn = candidateName(labels, shown.drawnId, shown.drawnText)
  const u = shown.u.toFixed(4)
  text(root, "h2", "draw-title", "", labels.draw_title)
  text(root, "p", "draw-now", "ntg-draw-now", story(labels, shown, drawn, u, seed))
  const line = part(root, "draw-line", () =>
    h("div", { class: "ntg-line", role: "img" },
      h("div", { class: "ntg-segments" }),
      h("div", { class: "ntg-needle" }, h("b", {}))))
  set(line, { "aria-label": shown.greedy ? "" : fill(labels.draw_alt, { u, token: drawn }) })
  segments(/** @type {HTMLElement} */ (line.children[0]), shown, labels)
  const needle = /** @type {HTMLElement} */ (line.children[1])
  needle.hidden = shown.greedy
  needle.style.left = `${shown.u * 100}%`
  needle.classList.toggle("late", shown.u > 0.85)
  put(/** @type {HTMLElement} */ (needle.firstElementChild), u)
  part(root, "draw-ends", () => h("div", { class: "ntg-ends nt-muted" }, h("span", {}, "0"), h("span", {}, labels.draw_order), h("span", {}, "1")))
}

/**
 * @param {Record<string, string>} labels
 * @param {import("./view-model.js").Distribution} shown
 * @param {string} drawn
 * @param {string} u
 * @param {number} seed
 */
function story(labels, shown, drawn, u, seed) {
  const token = `“${drawn}”`
  if (shown.recordedId === null) {
    return fill(shown.greedy ? labels.draw_greedy : labels.draw_now, { seed, u, token })
  }
  const taken = `“${candidateName(labels, shown.recordedId, shown.recordedText)}”`
  if (shown.recordedForced) return fill(labels.draw_forced, { token: taken })
  const first = shown.greedy ? fill(labels.draw_greedy, { token }) : fill(labels.draw_back, { seed, u })
  const same = shown.recordedId === shown.drawnId
  const then = same ? [] : [fill(labels.draw_lands, { token })]
  return [first, ...then, fill(labels.draw_taken, { token: taken })].join(" ")
}

/**
 * @param {HTMLElement} strip
 * @param {import("./view-model.js").Distribution} shown
 * @param {Record<string, string>} labels
 */
function segments(strip, shown, labels) {
  while (strip.children.length > shown.segments.length) strip.lastElementChild?.remove()
  while (strip.children.length < shown.segments.length) strip.append(h("span", { class: "ntg-segment" }))
  shown.segments.forEach((segment, i) => {
    const element = /** @type {HTMLElement} */ (strip.children[i])
    const width = segment.to - segment.from
    const hit = segment.id === null
      ? !shown.segments.some((other) => other.id === shown.drawnId)
      : segment.id === shown.drawnId
    const name = segment.id === null ? labels.draw_others : candidateName(labels, segment.id, segment.text)
    element.className = ["ntg-segment nt-mono", i % 2 ? "odd" : "", segment.id === null ? "others" : "", hit ? "hit" : ""]
      .filter(Boolean).join(" ")
    element.style.left = `${segment.from * 100}%`
    element.style.width = `${width * 100}%`
    put(element, width >= LABEL_FROM ? name : "")
  })
}
