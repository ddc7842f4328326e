// @ts-check
/**
 * Guess first: while it is on, the numbers of a step wait until the learner has guessed the model's favourite. Off,
 * it is one button. The choices are the model's own likeliest tokens in the order of their ids, which tells nothing.
 */
import { h, part, set } from "../lib/dom.js"
import { renderQuestion } from "../lib/question.js"
import { put } from "./bars.js"
import { fill, percent, whole } from "./format.js"
import { candidateName } from "./sentence.js"

const CHOICES = 5

/** @typedef {import("./view-model.js").Header} Header */
/**
 * @typedef {{ on: boolean, told: Map<string, number | null> }} Guessing `told`: by moment, the model's rank of the
 *   guessed token; null for one who only wanted to see
 */

/** @returns {Guessing} */
export function start() {
  return { on: false, told: new Map() }
}

/**
 * Names the moment that is guessed at: a run and all tokens so far.
 * @param {Header} header
 */
export function moment(header) {
  const ids = header.tokens.slice(header.prompt, header.prompt + header.state.step).map((token) => token[0])
  return `${header.run}\n${ids.join(",")}`
}

/**
 * Whether the numbers of this step are to stay hidden. What is ahead in the text is known already.
 * @param {Guessing} guessing
 * @param {Header} header
 */
export function waits(guessing, header) {
  const { ahead, stop } = header.state
  return guessing.on && ahead === 0 && stop === null && !guessing.told.has(moment(header))
}

/**
 * The ids to choose from, the likeliest among them, in the order of their ids.
 * @param {Header} header `names.ids` are likeliest first
 */
export function choices(header) {
  return header.names.ids.slice(0, CHOICES).sort((a, b) => a - b)
}

/**
 * How many guesses, how many of them the model's favourite, and the mean rank of the guessed tokens.
 * @param {Guessing} guessing
 */
export function score(guessing) {
  const ranks = [...guessing.told.values()].filter((rank) => rank !== null)
  const sum = ranks.reduce((all, rank) => all + rank, 0)
  return { guessed: ranks.length, right: ranks.filter((rank) => rank === 1).length, rank: ranks.length ? sum / ranks.length : 0 }
}

/**
 * The switch, and while it is on the question of this step.
 * @param {HTMLElement} root
 * @param {Header} header
 * @param {Float32Array} logits
 * @param {Guessing} guessing
 * @param {() => void} repaint
 */
export function renderGuess(root, header, logits, guessing, repaint) {
  const { labels } = header
  const row = part(root, "row", () => h("div", { class: "ntg-guess-row" }))
  const button = part(row, "switch", () => h("button", { type: "button", class: "nt-chip" }))
  put(button, labels.guess_first)
  set(button, {
    "aria-pressed": String(guessing.on),
    onclick: () => {
      guessing.on = !guessing.on
      repaint()
    },
  })
  const line = part(row, "score", () => h("span", { class: "nt-muted", role: "status" }))
  const now = score(guessing)
  put(line, guessing.on && now.guessed
    ? fill(labels.guess_score, { guessed: now.guessed, right: now.right, rank: now.rank.toFixed(1) }) : "")
  const shown = guessing.on && (waits(guessing, header) || guessing.told.has(moment(header)))
  const box = part(root, "ask", () => h("div", { class: "nt-predict" }))
  box.hidden = !shown
  if (!shown) box.replaceChildren()
  else ask(box, header, logits, guessing, repaint)
}

/**
 * @param {HTMLElement} box
 * @param {Header} header
 * @param {Float32Array} logits
 * @param {Guessing} guessing
 * @param {() => void} repaint
 */
function ask(box, header, logits, guessing, repaint) {
  const { labels, names } = header
  const ids = choices(header)
  const key = moment(header)
  const told = guessing.told.get(key)
  const name = (/** @type {number} */ rank) => candidateName(labels, names.ids[rank - 1], names.texts[rank - 1])
  const chance = (/** @type {number} */ rank) => percent(chanceOf(logits, names.ids[rank - 1]))
  const asked = {
    id: key,
    ask: fill(labels.guess_ask, { next: header.state.step + 1 }),
    choices: ids.map((id) => candidateName(labels, id, names.texts[names.ids.indexOf(id)])),
    answer: ids.indexOf(names.ids[0]),
    why: "",
    given: told ? ids.indexOf(names.ids[told - 1]) : null,
    revealed: told !== undefined,
    labels: Object.fromEntries(["answers", "show", "check", "number", "right", "wrong", "shown"]
      .map((word) => [word, labels[`predict_${word}`]])),
  }
  if (asked.revealed) {
    const rank = told ?? 1
    asked.why = fill(rank === 1 ? labels.guess_why : labels.guess_why_other, { first: chance(1), rank: whole(rank), guess: chance(rank), token: name(rank) })
  }
  renderQuestion(box, asked, (given) => {
    guessing.told.set(key, given === null ? null : names.ids.indexOf(ids[given]) + 1)
    repaint()
  })
}

/**
 * The model's own probability of one token, over the whole vocabulary.
 * @param {Float32Array} logits
 * @param {number} id
 */
export function chanceOf(logits, id) {
  let most = -Infinity
  for (const logit of logits) if (logit > most) most = logit
  let sum = 0
  for (const logit of logits) sum += Math.exp(logit - most)
  return Math.exp(logits[id] - most) / sum
}
