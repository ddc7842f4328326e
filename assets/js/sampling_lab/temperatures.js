// @ts-check
/** One context at several temperatures side by side, and the chances of the favourites along the temperature. */
import { text } from "../generate/bars.js"
import { percent } from "../generate/format.js"
import { renderCurves } from "../lib/curves.js"
import { h, part, set } from "../lib/dom.js"
import { HIGHEST, LOWEST, TEMPERATURES, columns, curveTemperatures } from "./numbers.js"
import { renderCells, statistics } from "./stages.js"

const LINES = 5
const ROWS = 8
const MARKS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]

/** @typedef {{key: string, names: string[], columns: import("./numbers.js").Column[], series: import("../lib/curves.js").Series[]}} Known */

/**
 * What depends on the context and the penalty alone: computed once, not while a slider moves.
 * @param {Known | null} known
 * @param {string} key the penalty; the caller forgets `known` when the context changes
 * @param {{logits: Float32Array, previous: number[], penalty: number, ids: number[], names: string[]}} of
 * @returns {Known}
 */
export function temperatures(known, key, { logits, previous, penalty, ids, names }) {
  if (known?.key === key) return known
  const curve = columns(logits, previous, penalty, ids.slice(0, LINES), curveTemperatures())
  return {
    key,
    names,
    columns: columns(logits, previous, penalty, ids.slice(0, ROWS), TEMPERATURES),
    series: curve[0].shares.map((_, i) => ({
      name: names[i],
      points: curve.map((column) => /** @type {[number, number]} */ ([column.temperature, column.shares[i]])),
    })),
  }
}

/**
 * @param {HTMLElement} root
 * @param {Known} known
 * @param {{labels: Record<string, string>, vocabulary: number}} shown
 */
export function renderColumns(root, known, { labels, vocabulary }) {
  const { names } = known
  text(root, "h2", "temperatures-title", "", labels.temperatures_title)
  text(root, "p", "temperatures-sub", "nt-muted", labels.temperatures_sub)
  const row = part(root, "temperatures", () => h("div", { class: "ntl-stages ntl-temperatures", role: "group", tabindex: "0" }))
  set(row, { "aria-label": labels.temperatures_title })
  for (const column of known.columns) {
    const title = column.temperature === 0 ? labels.greedy_column : `T = ${column.temperature}`
    const card = part(row, `t${column.temperature}`, () => h("section", { class: "ntl-stage" }, h("h3", {}, title)))
    set(card, { "aria-label": title })
    const cells = column.shares.map((share) => ({ share, ghost: 0, removed: "", here: false }))
    const restCount = vocabulary - cells.length
    renderCells(card, cells, { names, labels, drawn: -1, scale: 1, rest: column.rest, restCount })
    statistics(card, labels, [
      ["entropy", labels.bits.replace("{bits}", column.entropyBits.toFixed(2))],
      ["choices", column.choices.toFixed(column.choices < 1000 ? 2 : 0)],
    ])
  }
}

/**
 * @param {HTMLElement} root
 * @param {Known} known
 * @param {{labels: Record<string, string>, temperature: number}} shown
 */
export function renderLimit(root, known, { labels, temperature }) {
  text(root, "h2", "limit-title", "", labels.limit_title)
  text(root, "p", "limit-sub", "nt-muted", labels.limit_sub)
  const inside = temperature >= LOWEST && temperature <= HIGHEST
  renderCurves(root, "limit", {
    series: known.series,
    x: { min: LOWEST, max: HIGHEST, log: true, title: labels.limit_x, ticks: MARKS.map((at) => ({ at, text: String(at) })) },
    y: { min: 0, max: 1, title: labels.limit_y, ticks: [0, 0.25, 0.5, 0.75, 1].map((at) => ({ at, text: percent(at) })) },
    alt: labels.limit_alt,
    mark: { at: inside ? temperature : temperature < LOWEST ? LOWEST : HIGHEST, text: `T = ${temperature.toFixed(2)}` },
    say: (x) => `T = ${x.toFixed(2)}`,
    value: percent,
    tokens: true,
  })
}
