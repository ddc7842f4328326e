// @ts-check
/** Many draws: how often each token came beside how often it should, and the distance between the two. */
import { put, text } from "../generate/bars.js"
import { fill, percent, whole } from "../generate/format.js"
import { renderCurves } from "../lib/curves.js"
import { h, part, set } from "../lib/dom.js"
import { drawIds, tally, totalVariation } from "../lib/draws.js"
import { uniforms } from "../lib/randomness.js"
import { scaleFor } from "../generate/view-model.js"
import { DRAW_STEPS, MOST_DRAWS, drawsAt } from "./numbers.js"

/** @typedef {import("../lib/sampling.js").Pipeline} Pipeline */
/** @typedef {{id: number, count: number, seen: number, expected: number}} Row */
/** @typedef {{rows: Row[], restSeen: number, restExpected: number, distance: number, distinct: number,
 *   path: [number, number][]}} Sampled */

const CHECKPOINTS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]

/** @type {{key: string, numbers: Float64Array} | null} the same seed and step are asked for at every frame */
let latest = null

/**
 * @param {number} seed
 * @param {number} step
 */
function numbersOf(seed, step) {
  const key = `${seed} ${step}`
  if (latest?.key !== key) latest = { key, numbers: uniforms(seed, step, MOST_DRAWS) }
  return latest.numbers
}

/**
 * Draw `count` tokens. Draw 0 is the one that the run itself takes at this step.
 * @param {Pipeline} result
 * @param {number[]} shownIds
 * @param {{seed: number, step: number, count: number}} how
 * @returns {Sampled}
 */
export function sample(result, shownIds, { seed, step, count }) {
  const ids = drawIds(result, numbersOf(seed, step).subarray(0, count))
  const counts = tally(ids, count)
  const rows = shownIds.map((id) => {
    const seen = counts.get(id) ?? 0
    return { id, count: seen, seen: seen / count, expected: result.probabilities[id] }
  })
  const marks = [...CHECKPOINTS.filter((n) => n < count), count]
  return {
    rows,
    restSeen: 1 - rows.reduce((sum, row) => sum + row.count, 0) / count,
    restExpected: Math.max(0, 1 - rows.reduce((sum, row) => sum + row.expected, 0)),
    distance: totalVariation(result.probabilities, counts),
    distinct: counts.size,
    path: marks.map((n) => [n, totalVariation(result.probabilities, tally(ids, n))]),
  }
}

/**
 * @param {HTMLElement} root
 * @param {Sampled} sampled
 * @param {{names: string[], labels: Record<string, string>, position: number, playing: boolean, scale: number,
 *   greedy: boolean}} shown
 * @param {{draws: (position: number) => void, play: () => void}} on
 */
export function renderSamples(root, sampled, shown, on) {
  const { labels } = shown
  const count = drawsAt(shown.position)
  text(root, "h2", "samples-title", "", labels.samples_title)
  text(root, "p", "samples-sub", "nt-muted", shown.greedy ? labels.samples_greedy : labels.samples_sub)
  controls(root, shown, count, on)
  const list = part(root, "samples", () => h("ol", { class: "ntl-samples" }))
  const entries = [...sampled.rows.map((row, i) => ({ name: shown.names[i], seen: row.seen, expected: row.expected })),
    { name: labels.others_plain, seen: sampled.restSeen, expected: sampled.restExpected }]
  while (list.children.length > entries.length) list.lastElementChild?.remove()
  while (list.children.length < entries.length) list.append(entry())
  entries.forEach((one, i) => dress(/** @type {HTMLElement} */ (list.children[i]), one, count, shown.scale))
  text(root, "p", "samples-key", "nt-muted", labels.samples_key)
  const values = { count: whole(count), distance: percent(sampled.distance), distinct: whole(sampled.distinct) }
  text(root, "p", "samples-distance", "", fill(labels.samples_distance, values))
  const top = scaleFor(Math.max(...sampled.path.map(([, distance]) => distance)))
  renderCurves(root, "path", {
    series: [{ name: labels.distance, points: sampled.path, lit: true }],
    x: {
      min: 1, max: MOST_DRAWS, log: true, title: labels.draws,
      ticks: [1, 10, 100, 1000, 10_000].map((at) => ({ at, text: whole(at) })),
    },
    y: { min: 0, max: top, title: labels.distance_axis, ticks: [0, top / 2, top].map((at) => ({ at, text: percent(at) })) },
    alt: fill(labels.distance_alt, values),
    height: 170,
    say: (x) => fill(labels.after_draws, { count: whole(x) }),
    value: percent,
  })
}

/**
 * @param {HTMLElement} root
 * @param {{labels: Record<string, string>, position: number, playing: boolean}} shown
 * @param {number} count
 * @param {{draws: (position: number) => void, play: () => void}} on
 */
function controls(root, { labels, position, playing }, count, on) {
  const line = part(root, "samples-controls", () =>
    h("div", { class: "ntl-draws" },
      h("button", { type: "button", class: "nt-button primary" }),
      h("label", {},
        h("span", {}, labels.draws), h("output", {}),
        h("input", { type: "range", min: 0, max: DRAW_STEPS, step: 1, name: "draws" }))))
  const [play, label] = /** @type {HTMLElement[]} */ ([...line.children])
  put(play, playing ? labels.pause : labels.play_draws)
  set(play, { onclick: () => on.play() })
  const [, output, input] = /** @type {any[]} */ ([...label.children])
  put(output, whole(count))
  if (input.value !== String(position)) input.value = String(position)
  input.setAttribute("aria-valuetext", whole(count))
  input.style.setProperty("--filled", `${(position / DRAW_STEPS) * 100}%`)
  input.oninput = () => on.draws(Number(input.value))
}

function entry() {
  return h("li", {},
    h("span", { class: "ntl-name nt-mono" }),
    h("span", { class: "ntl-track" }, h("i", { class: "ntl-fill" }), h("i", { class: "ntl-expected" })),
    h("span", { class: "ntl-value" }), h("span", { class: "ntl-value nt-muted" }))
}

/**
 * @param {HTMLElement} item
 * @param {{name: string, seen: number, expected: number}} one
 * @param {number} count
 * @param {number} scale
 */
function dress(item, one, count, scale) {
  const [label, track, times, share] = /** @type {HTMLElement[]} */ ([...item.children])
  const [bar, tick] = /** @type {HTMLElement[]} */ ([...track.children])
  put(label, one.name)
  bar.style.transform = `scaleX(${Math.min(1, one.seen / scale)})`
  tick.style.left = `${Math.min(1, one.expected / scale) * 100}%`
  put(times, `${whole(one.seen * count)} ×`)
  put(share, percent(one.seen))
}
