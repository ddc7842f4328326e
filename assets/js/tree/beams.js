// @ts-check
/** Beam search on the same tree: its settings, and for each step the beams that were kept, pruned and finished. */
import { fill, marked } from "../generate/format.js"
import { h, part, set } from "../lib/dom.js"
import { button, choice, line, renderProgress } from "./panels.js"

/** @typedef {{width: number, tokens: number, rule: string, penalty: number, step: number | null}} Wish */

/**
 * @param {HTMLElement} root
 * @param {any} header
 * @param {Wish} wish
 * @param {() => void} repaint
 * @param {(kind: string, more?: any) => void} send
 */
export function renderBeams(root, header, wish, repaint, send) {
  const { labels, beams } = header
  line(root, "h3", "title", labels.beam_title)
  line(root, "p", "sub", labels.beam_sub, "nt-muted")
  const pick = (/** @type {"width"|"tokens"|"rule"|"penalty"} */ name) => (/** @type {any} */ value) => {
    Object.assign(wish, { [name]: value })
    repaint()
  }
  const numbers = (/** @type {number[]} */ list) => list.map((n) => ({ value: n, text: String(n).replace("-", "−") }))
  choice(root, "width", labels.beam_width, numbers([1, 2, 3, 4, 5]), wish.width, pick("width"))
  choice(root, "tokens", labels.beam_tokens, numbers([4, 8, 12, 20]), wish.tokens, pick("tokens"))
  choice(root, "rule", labels.beam_rule, ["sum", "mean", "length_penalty"].map((rule) => ({ value: rule, text: labels[`rule_${rule}`] })),
    wish.rule, pick("rule"))
  const penalty = part(root, "penalty-box", () => h("div"))
  penalty.hidden = wish.rule !== "length_penalty"
  choice(penalty, "penalty", labels.beam_penalty, numbers([-1, 0.5, 1.5, 2]), wish.penalty, pick("penalty"))
  const acts = part(root, "acts", () => h("div", { class: "ntt-acts" }))
  const { width, tokens, rule } = wish
  button(acts, "search", labels.beam_start, () => {
    wish.step = null
    send("beam", { width, tokens, rule, penalty: wish.penalty })
  }, header.job !== null, "nt-button primary")
  button(acts, "clear", labels.beam_clear, () => send("clear")).hidden = beams === null
  renderProgress(root, "beam", header, send)
  const report = part(root, "report", () => h("div", { class: "ntt-report" }))
  report.hidden = !beams || beams.steps.length === 0
  if (!report.hidden) renderReport(report, header, wish, repaint, send)
}

/**
 * The step that is looked at: the chosen one, else the newest.
 * @param {any} beams
 * @param {Wish} wish
 */
export function shownStep(beams, wish) {
  if (!beams || beams.steps.length === 0) return null
  const last = beams.steps.length - 1
  return beams.steps[Math.min(wish.step ?? last, last)]
}

/**
 * How each node stands in the step that is looked at: `kept` on the way to a kept beam, `dropped` when an earlier
 * step had kept it.
 * @param {any} header
 * @param {Wish} wish
 * @returns {Map<number, string>}
 */
export function marks(header, wish) {
  /** @type {Map<number, string>} */
  const found = new Map()
  const step = shownStep(header.beams, wish)
  if (!step) return found
  const parents = new Map(header.nodes.map((/** @type {any} */ row) => [row[0], row[1]]))
  for (const earlier of header.beams.steps.slice(0, step.index + 1)) {
    for (const beam of earlier.kept) if (beam.number !== null) found.set(beam.number, "dropped")
  }
  const alive = step.last ? step.finished : step.kept
  for (const beam of alive) {
    let at = beam.number ?? beam.parent
    while (at) {
      found.set(at, "kept")
      at = parents.get(at) ?? 0
    }
  }
  return found
}

/**
 * @param {HTMLElement} root
 * @param {any} header
 * @param {Wish} wish
 * @param {() => void} repaint
 * @param {(kind: string, more?: any) => void} send
 */
function renderReport(root, header, wish, repaint, send) {
  const { labels, beams } = header
  const step = shownStep(beams, wish)
  const count = beams.steps.length
  const bar = part(root, "steps", () => h("div", { class: "ntt-acts" }))
  const go = (/** @type {number} */ index) => {
    wish.step = index
    repaint()
  }
  button(bar, "back", labels.beam_back, () => go(step.index - 1), step.index === 0)
  line(bar, "span", "which", fill(labels.beam_step, { step: step.index + 1, count }))
  button(bar, "forward", labels.beam_forward, () => go(step.index + 1), step.index === count - 1)
  const { exponent } = beams.settings
  const rule = fill(labels[`says_${beams.settings.rule}`], { exponent: String(exponent).replace("-", "−") })
  line(root, "p", "rule", rule, "ntt-note")
  const groups = part(root, "groups", () => h("div", { class: "ntt-groups" }))
  group(groups, "kept", step.last ? labels.beam_kept_last : labels.beam_kept, step.kept, labels, send)
  group(groups, "finished", labels.beam_finished, step.finished, labels, send)
  group(groups, "pruned", labels.beam_pruned, step.pruned, labels, send)
  line(root, "p", "over", step.last ? labels.beam_over : "", "ntt-note")
}

/**
 * @param {HTMLElement} root
 * @param {string} name
 * @param {string} title
 * @param {any[]} beams
 * @param {any} labels
 * @param {(kind: string, more?: any) => void} send
 */
function group(root, name, title, beams, labels, send) {
  const box = part(root, name, () => h("section", { class: `ntt-group ${name}` }))
  line(box, "h4", "title", fill(title, { count: beams.length }))
  const list = part(box, "list", () => h("ol"))
  while (list.children.length > beams.length) list.lastElementChild?.remove()
  while (list.children.length < beams.length) {
    list.append(h("li", {}, h("button", { type: "button", class: "ntt-beam" },
      h("span", { class: "nt-mono" }), h("small"))))
  }
  beams.forEach((beam, i) => {
    const press = /** @type {HTMLElement} */ (list.children[i].firstElementChild)
    const [text, score] = press.children
    text.textContent = marked(beam.text)
    const end = beam.end ? ` · ${labels[`end_${beam.end.replaceAll("-", "_")}`]}` : ""
    score.textContent = fill(labels.beam_score, {
      score: beam.score.toFixed(3).replace("-", "−"), sum: beam.log_probability.toFixed(3).replace("-", "−"), count: beam.count,
    }) + end
    set(press, { onclick: () => send("take", { node: beam.parent, value: beam.token_id }) })
  })
}
