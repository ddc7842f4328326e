// @ts-check
/** What the step cost and where the run stands: cache, time, entropy, stop reason. */
import { h, part } from "../lib/dom.js"
import { put } from "./bars.js"
import { bytes, duration, fill, whole } from "./format.js"

/**
 * @param {HTMLElement} root
 * @param {import("./view-model.js").Header} header
 * @param {import("./view-model.js").Distribution} shown
 */
export function renderFacts(root, header, shown) {
  const { labels, state, prompt } = header
  const count = prompt + state.step
  fact(root, "cache", labels.cache, bytes(state.kv_bytes), fill(labels.cache_step, { bytes: bytes(state.kv_step_bytes) }),
    fill(labels.cache_sub, { count: whole(count), each: bytes(state.kv_bytes / count) }))
  growth(root, header)
  fact(root, "time", labels.time, duration(state.pass_s * 1000), "",
    state.step === 0 ? fill(labels.time_prefill, { count: whole(state.pass_tokens) }) : labels.time_decode)
  fact(root, "entropy", labels.entropy, fill(labels.entropy_value, { bits: shown.entropyBits.toFixed(2) }), "",
    fill(labels.entropy_sub, { choices: shown.choices.toFixed(1), model: shown.modelBits.toFixed(2) }))
  const stopped = { "end-of-text": labels.stop_eos, "token-limit": labels.stop_limit, "context-limit": labels.stop_context }
  const limit = state.limit ?? ""
  fact(root, "stop", labels.stop, fill(state.stop ? stopped[/** @type {keyof stopped} */ (state.stop)] : labels.stop_none, { limit }),
    "", fill(labels.stop_none_sub, { step: state.step, limit }))
}

/**
 * @param {HTMLElement} root
 * @param {string} name
 * @param {string} title
 * @param {string} value
 * @param {string} more
 * @param {string} sub
 */
function fact(root, name, title, value, more, sub) {
  const box = part(root, name, () =>
    h("div", { class: "ntg-fact" }, h("h3", {}), h("p", {}, h("b", {}), " ", h("span", {})), h("p", { class: "nt-muted" })))
  const [head, line, small] = /** @type {HTMLElement[]} */ ([...box.children])
  put(head, title)
  put(/** @type {HTMLElement} */ (line.children[0]), value)
  put(/** @type {HTMLElement} */ (line.children[1]), more)
  put(small, sub)
}

/**
 * The cache to scale: one column a token, the prompt's columns, the generated ones, and the newest.
 * @param {HTMLElement} root
 * @param {import("./view-model.js").Header} header
 */
function growth(root, header) {
  const { state, prompt } = header
  const box = /** @type {HTMLElement} */ (part(root, "cache", () => h("div", {})))
  const strip = part(box, "growth", () =>
    h("div", { class: "ntg-growth", "aria-hidden": "true" }, h("i", { class: "given" }), h("i", { class: "made" }), h("i", { class: "new" })))
  const room = Math.max(prompt + (state.limit ?? state.step + state.ahead), 1)
  const newest = state.step > 0 ? 1 : 0
  const widths = [prompt, state.step - newest, newest]
  widths.forEach((width, i) => {
    /** @type {HTMLElement} */ (strip.children[i]).style.width = `${(width / room) * 100}%`
  })
}
