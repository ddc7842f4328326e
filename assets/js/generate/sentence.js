// @ts-check
/** The sentence at the top: what is happening in this very step, in plain words. Pure. */
import { duration, fill, marked, percent, whole } from "./format.js"
import { textAt } from "./view-model.js"

/**
 * @param {import("./view-model.js").Header} header
 * @param {boolean} before the learner looks at the moment before the prefill
 * @returns {{title: string, sub: string}}
 */
export function sentence(header, before) {
  const { labels, state, prompt } = header
  const last = header.tokens[prompt + state.step - 1]
  const values = {
    count: whole(prompt),
    next: state.step + 1,
    step: state.step,
    layers: header.layers,
    ahead: state.ahead,
    limit: state.limit ?? "",
    time: duration(state.pass_s * 1000),
    token: last ? quoted(header, prompt + state.step - 1) : "",
    probability: "",
  }
  const say = (/** @type {string} */ key, more = {}) => ({
    title: fill(labels[key], { ...values, ...more }),
    sub: fill(labels[`${key.startsWith("now_stop") ? "now_stop" : key}_sub`], { ...values, ...more }),
  })
  if (before) return say("now_before")
  if (state.ahead > 0) return say("now_back", { token: quoted(header, prompt + state.step) })
  if (state.stop === "end-of-text") return say("now_stop_eos")
  if (state.stop === "token-limit") return say("now_stop_limit")
  if (state.stop === "context-limit") return say("now_stop_context")
  if (state.step === 0) return say("now_prefill")
  const [probability, , forced] = header.chosen[state.step - 1]
  return say(forced ? "now_forced" : "now_step", { probability: percent(probability) })
}

/**
 * A token of the text in quotation marks.
 * @param {import("./view-model.js").Header} header
 * @param {number} index
 */
export function quoted(header, index) {
  return `“${marked(textAt(header, index) ?? "")}”`
}

/**
 * The name of a candidate: its text with visible spaces, or its id when the message does not name it.
 * @param {Record<string, string>} labels
 * @param {number} id
 * @param {string | null} text
 */
export function candidateName(labels, id, text) {
  return text === null ? fill(labels.unnamed, { id }) : marked(text)
}
