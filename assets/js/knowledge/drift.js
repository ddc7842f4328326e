// @ts-check
/** The answer's chance while parts of the model are switched off: one curve for each wording. */
import { text } from "../generate/bars.js"
import { fill, percent, whole } from "../generate/format.js"
import { scaleFor } from "../generate/view-model.js"
import { renderCurves } from "../lib/curves.js"
import { h, part, set } from "../lib/dom.js"

const LEAST = -5 // the logarithmic scale ends at a chance of 0.001%
const TEXT_LENGTH = 34

/**
 * The curves of what has been measured so far.
 * @param {number[]} at (points)
 * @param {ArrayLike<number>} probabilities (wordings · points), NaN where nothing was measured
 * @param {number} wordings
 * @param {boolean} log
 * @returns {[number, number][][]}
 */
export function curvesOf(at, probabilities, wordings, log) {
  return Array.from({ length: wordings }, (_, w) =>
    at.flatMap((x, i) => {
      const p = probabilities[w * at.length + i]
      if (Number.isNaN(p)) return []
      return [/** @type {[number, number]} */ ([x, log ? Math.max(LEAST, Math.log10(p)) : p])]
    }))
}

/**
 * Ticks for the horizontal axis: shares in per cent, or numbers of layers and heads with "none" before the first.
 * @param {number[]} at
 * @param {string} kind "share" or "index"
 * @param {string} none
 */
export function ticksOf(at, kind, none) {
  const last = at[at.length - 1]
  if (kind === "share") return [0, 0.25, 0.5, 0.75, 1].map((share) => ({ at: share * last, text: short(share * last) }))
  const step = Math.max(1, Math.ceil(at.length / 10))
  return at.filter((x) => x < 0 || x % step === 0).map((x) => ({ at: x, text: x < 0 ? none : String(x) }))
}

/** @param {number} share */
function short(share) {
  return `${Number((share * 100).toPrecision(3))}%`
}

/**
 * @param {HTMLElement} root
 * @param {import("../knowledge.js").Header} header
 * @param {any} arrays
 * @param {{chosen: number, log: boolean}} shown
 * @param {{choose: (index: number) => void, log: () => void}} on
 */
export function renderDrift(root, header, arrays, { chosen, log }, on) {
  const { labels, rows } = header
  const { at, kind, title, note } = /** @type {NonNullable<typeof header.curves>} */ (header.curves)
  text(root, "h2", "drift-title", "", fill(labels.drift_title, { answer: header.answer }))
  const scale = part(root, "scale", () => h("button", { type: "button", class: "nt-chip" }, labels.log))
  set(scale, { "aria-pressed": log ? "true" : "false", onclick: on.log })
  const points = curvesOf(at, arrays.probabilities, rows.length, log)
  const highest = Math.max(0.01, ...points.flat().map(([, y]) => (log ? 0 : y)))
  const top = scaleFor(highest)
  const none = labels.none
  const place = (/** @type {number} */ x) => (kind === "share" ? short(x) : x < 0 ? none : String(x))
  renderCurves(root, "drift", {
    series: points.map((one, i) => ({
      name: `${i + 1} · ${clipped(String(rows[i][0]))}`, points: one, lit: i === chosen, faint: chosen >= 0 && i !== chosen,
    })),
    x: { min: at[0], max: at[at.length - 1], title, ticks: ticksOf(at, kind, none) },
    y: log
      ? { min: LEAST, max: 0, title: labels.chance_log, ticks: [0, -1, -2, -3, -4, -5].map((y) => ({ at: y, text: `${10 ** (y + 2)}%` })) }
      : { min: 0, max: top, title: labels.chance, ticks: [0, top / 2, top].map((y) => ({ at: y, text: percent(y) })) },
    alt: fill(labels.drift_alt, { count: rows.length, axis: title }),
    height: 320,
    say: (x) => `${title}: ${place(x)}${ranksAt(arrays.ranks, at, rows.length, x, labels)}`,
    value: (y) => percent(log ? 10 ** y : y),
    choose: on.choose,
  })
  text(root, "p", "note", "ntk-note", note)
}

/**
 * @param {ArrayLike<number>} ranks
 * @param {number[]} at
 * @param {number} wordings
 * @param {number} x
 * @param {Record<string, string>} labels
 */
function ranksAt(ranks, at, wordings, x, labels) {
  const index = at.indexOf(x)
  const found = Array.from({ length: wordings }, (_, w) => ranks[w * at.length + index]).map((r) => (r > 0 ? whole(r) : "–"))
  return ` · ${fill(labels.ranks, { ranks: found.join(", ") })}`
}

/** @param {string} wording */
function clipped(wording) {
  const line = wording.replace(/\s+/g, " ")
  return line.length > TEXT_LENGTH ? `…${line.slice(-TEXT_LENGTH)}` : line
}
