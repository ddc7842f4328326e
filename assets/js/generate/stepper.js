// @ts-check
/** The buttons, the scrubber and the keys: what moves the run. */
import { h, part, set } from "../lib/dom.js"
import { put } from "./bars.js"
import { fill } from "./format.js"

export const SPEEDS = [
  { name: "speed_slow", wait: 2500 },
  { name: "speed_normal", wait: 1000 },
  { name: "speed_fast", wait: 120 },
]
const LEAVE_ALONE = "input,textarea,select,canvas,[contenteditable],[role=slider],[role=grid],[role=combobox],[role=menu]"

/** @typedef {{forward: () => void, back: () => void, play: () => void, reset: () => void,
 *   jump: (step: number) => void, speed: (level: number) => void}} Moves */
/** @typedef {{before: boolean, playing: boolean, busy: boolean, speed: number, canNext: boolean}} Mode */

/**
 * @param {HTMLElement} root
 * @param {import("./view-model.js").Header} header
 * @param {Mode} mode
 * @param {Moves} moves
 */
export function renderStepper(root, header, mode, moves) {
  const { labels, state } = header
  const row = part(root, "buttons", () => h("div", { class: "ntg-buttons", role: "toolbar", "aria-label": labels.title }))
  button(row, "forward", "primary", mode.before ? labels.prefill : labels.next, "→", !mode.canNext, moves.forward)
  button(row, "back", "", labels.back, "←", mode.before, moves.back)
  const play = button(row, "play", "", mode.playing ? labels.pause : labels.play, labels.key_space, !mode.canNext && !mode.playing, moves.play)
  play.setAttribute("aria-pressed", String(mode.playing))
  button(row, "reset", "", labels.reset, "", mode.before && state.ahead === 0, moves.reset)
  speed(row, labels, mode.speed, moves.speed)
  scrubber(root, header, mode, moves)
}

/**
 * @param {HTMLElement} row
 * @param {string} name
 * @param {string} className
 * @param {string} label
 * @param {string} key
 * @param {boolean} disabled
 * @param {() => void} act
 */
function button(row, name, className, label, key, disabled, act) {
  const element = part(row, name, () =>
    h("button", { type: "button", class: `nt-button ${className}` }, h("span", {}), key ? h("kbd", {}, key) : null))
  put(/** @type {HTMLElement} */ (element.firstElementChild), label)
  // Not `disabled`: a button that is disabled under the pointer loses the focus, and with it the learner's place.
  set(element, { "aria-disabled": String(disabled), onclick: () => disabled || act() })
  return element
}

/**
 * @param {HTMLElement} row
 * @param {Record<string, string>} labels
 * @param {number} level
 * @param {(level: number) => void} choose
 */
function speed(row, labels, level, choose) {
  const group = part(row, "speed", () =>
    h("span", { class: "ntg-speed", role: "group", "aria-label": labels.speed },
      h("span", { class: "nt-muted" }, labels.speed),
      ...SPEEDS.map(({ name }) => h("button", { type: "button", class: "nt-chip" }, labels[name]))))
  const chips = [...group.children].slice(1)
  chips.forEach((chip, i) => set(chip, { "aria-pressed": String(i === level), onclick: () => choose(i) }))
}

/**
 * Position 0 of the scrubber is the moment before the prefill, position k + 1 the run with k tokens generated.
 * @param {HTMLElement} root
 * @param {import("./view-model.js").Header} header
 * @param {Mode} mode
 * @param {Moves} moves
 */
function scrubber(root, header, mode, moves) {
  const { labels, state } = header
  const total = state.step + state.ahead
  const field = part(root, "scrubber", () =>
    h("label", { class: "ntg-scrub" },
      h("input", { type: "range", min: 0, step: 1, name: "step", "aria-label": labels.scrub_name }),
      h("output", { class: "nt-muted" })))
  const [input, output] = /** @type {any[]} */ ([...field.children])
  input.max = String(total + 1)
  const position = String(mode.before ? 0 : state.step + 1)
  if (!mode.busy && input.value !== position) input.value = position
  const said = mode.before ? labels.scrub_before : fill(labels.scrub, { step: state.step, total })
  put(output, said)
  input.setAttribute("aria-valuetext", said)
  input.style.setProperty("--filled", `${(Number(input.value) / (total + 1)) * 100}%`)
  input.onchange = () => moves.jump(Number(input.value) - 1)
}

/**
 * → next, ← back, space play; nothing while the learner types, drags a slider or has a button in focus by key.
 * @param {KeyboardEvent} event
 * @param {Moves} moves
 */
export function onKey(event, moves) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
  const target = /** @type {Element | undefined} */ (event.composedPath()[0])
  if (target instanceof Element && target.closest(LEAVE_ALONE)) return
  const act = { ArrowRight: moves.forward, ArrowLeft: moves.back, " ": moves.play }[event.key]
  if (!act) return
  if (event.key === " " && target instanceof Element && target.matches("button:focus-visible,a:focus-visible,summary")) return
  event.preventDefault()
  if (!event.repeat || event.key !== " ") act()
}
