// @ts-check
/** What frames every page: presenter mode, the keys that work everywhere, the list of keys, and shared words. */
import { h, memory, part, set } from "./lib/dom.js"
import { nameFigureRows } from "./lib/figure_row.js"
import { act, charactersWork, isTaken, letCharactersWork } from "./lib/keys.js"
import { leave } from "./lib/leaving.js"

export const styles = ["frame.css"]

const LIST = [
  ["P", "key_present"], ["Esc", "key_escape"], ["→ ←", "key_arrows"], ["] [", "key_brackets"],
  ["Page ↓ ↑", "key_pages"], ["1 – 9", "key_digits"], ["F", "key_full"], ["?", "key_help"],
]
const STEPS = { ArrowRight: "nt_step_next", ArrowLeft: "nt_step_back" }

/** @typedef {{present: boolean, emit: (event: string, payload?: any) => void, dialog: HTMLDialogElement | null,
 *   listener: (event: KeyboardEvent) => void, watch?: MutationObserver, theme?: string}} Memory */

/**
 * @param {HTMLElement} element
 * @param {any} header present, labels
 * @param {any} _arrays
 * @param {import("./lib/loader.js").Emit} emit `present` with true or false; `page` with −1 or 1; `theme`
 */
export function render(element, header, _arrays, emit) {
  const m = memory(element, () => {
    /** @type {Memory} */
    const made = { present: false, emit, dialog: null, listener: (event) => onKey(event, made) }
    // On the window: a page's own keys, which listen on the document, come first.
    window.addEventListener("keydown", made.listener)
    made.watch = onReturn(() => made.emit("present", made.present))
    return made
  })
  const { labels } = header
  const theme = element.dataset.ntTheme
  if (m.theme && m.theme !== theme) emit("theme", theme) // charts that the server draws have its colours
  Object.assign(m, { emit, present: header.present, theme })
  mark(m.present)
  document.documentElement.toggleAttribute("data-nt-dark", element.dataset.ntTheme === "dark")
  nameFigureRows(labels)
  const box = part(element, "box", () => h("div", { class: "nt-frame" }))
  const present = part(box, "present", () => h("button", { type: "button" }, "▶"))
  const word = header.present ? labels.present_end : labels.present
  present.textContent = header.present ? "✕" : "▶"
  set(present, { "aria-label": word, title: word, onclick: () => toggle(m) })
  const keys = part(box, "keys", () => h("button", { type: "button" }, "?"))
  set(keys, { "aria-label": labels.keys, title: labels.keys, onclick: () => m.dialog?.showModal() })
  m.dialog = list(element, labels)
}

/** @param {HTMLElement} element */
export function destroy(element) {
  const { listener, watch } = memory(element, () => ({ listener: () => {}, watch: undefined }))
  window.removeEventListener("keydown", listener)
  watch?.disconnect()
}

/**
 * After a restart the server knows this page's address, but no part of the page until all of it is drawn again.
 * @param {() => void} draw
 */
export function onReturn(draw) {
  const app = /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stApp]"))
  const connected = () => app?.dataset.testConnectionState === "CONNECTED"
  let before = true
  const watch = new MutationObserver(() => {
    if (connected() && !before) draw()
    before = connected()
  })
  if (app) watch.observe(app, { attributeFilter: ["data-test-connection-state"] })
  return watch
}

/** @param {boolean} present */
function mark(present) {
  const root = document.documentElement
  if (present) root.dataset.ntPresent = "1"
  else delete root.dataset.ntPresent
}

/** @param {Memory} m */
function toggle(m) {
  m.present = !m.present
  mark(m.present)
  m.emit("present", m.present)
}

/**
 * @param {HTMLElement} element
 * @param {Record<string, string>} labels
 */
function list(element, labels) {
  const dialog = /** @type {HTMLDialogElement} */ (part(element, "dialog", () => h("dialog", { class: "nt-keys" })))
  set(dialog, { "aria-label": labels.keys_title })
  part(dialog, "title", () => h("h2")).textContent = labels.keys_title
  const rows = part(dialog, "rows", () => h("dl"))
  rows.replaceChildren(...LIST.flatMap(([key, word]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, labels[word])]))
  part(dialog, "note", () => h("p", { class: "nt-muted" })).textContent = labels.keys_note
  const choice = part(dialog, "choice", () => h("label", { class: "nt-keys-choice" }))
  const box = /** @type {HTMLInputElement} */ (part(choice, "box", () => h("input", { type: "checkbox" })))
  set(box, { onchange: () => letCharactersWork(box.checked) })
  box.checked = charactersWork()
  part(choice, "word", () => h("span")).textContent = labels.keys_characters
  const close = part(dialog, "close", () => h("button", { type: "button", class: "nt-button" }))
  close.textContent = labels.close
  set(close, { onclick: () => dialog.close() })
  return dialog
}

/**
 * What a key means: the name of a move, or null.
 * @param {string} key
 * @param {boolean} present
 */
export function moveOf(key, present) {
  if (/^[1-9]$/.test(key)) return `choice-${key}`
  if (key === "]" || (present && key === "PageDown")) return "on"
  if (key === "[" || (present && key === "PageUp")) return "back"
  if (key === "Escape") return present ? "present" : null
  return { p: "present", P: "present", f: "full", F: "full", "?": "keys", ArrowRight: "step", ArrowLeft: "step" }[key] ?? null
}

/**
 * @param {KeyboardEvent} event
 * @param {Memory} m
 */
function onKey(event, m) {
  const chord = (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph")
  if (event.defaultPrevented || chord || isTaken(event) || m.dialog?.open) return
  if (event.key.length === 1 && !charactersWork()) return
  const move = moveOf(event.key, m.present)
  if (move === null || event.repeat || !carryOut(move, event.key, m)) return
  event.preventDefault()
}

/**
 * @param {string} move
 * @param {string} key
 * @param {Memory} m
 * @returns {boolean} whether anything was done
 */
function carryOut(move, key, m) {
  if (move.startsWith("choice-")) return act(move)
  if (move === "on" && (act("stop-next") || act("stop-stop"))) return true
  if (move === "back" && act("stop-back")) return true
  if (move === "on" || move === "back") {
    if (!m.present) return false
    m.emit("page", move === "on" ? 1 : -1)
    leave()
    return true
  }
  if (move === "step") return step(STEPS[/** @type {"ArrowRight" | "ArrowLeft"} */ (key)])
  if (move === "keys") m.dialog?.showModal()
  else if (move === "full") fullScreen()
  else if (key !== "Escape" || !document.fullscreenElement) toggle(m)
  return true
}

/**
 * The page's own button for a step, where it has one that is Streamlit's.
 * @param {string} name
 */
function step(name) {
  const button = /** @type {HTMLButtonElement | null} */ (document.querySelector(`.st-key-${name} button`))
  button?.click()
  return button !== null
}

function fullScreen() {
  if (document.fullscreenElement) document.exitFullscreen()
  else document.documentElement.requestFullscreen?.()
}
