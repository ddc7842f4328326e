// @ts-check
/** What keys may do on this page: components offer moves by name, the frame's keyboard calls them. */

/** @type {Map<string, () => void>} */
const moves = new Map()

/**
 * @param {string} name for example `stop-next`
 * @param {(() => void) | null} act null takes the offer back
 */
export function offer(name, act) {
  if (act) moves.set(name, act)
  else moves.delete(name)
}

/**
 * Do a move if somebody offers it; says whether.
 * @param {string} name
 */
export function act(name) {
  const found = moves.get(name)
  found?.()
  return !!found
}

/**
 * Whether the key belongs to what has the focus: a field, a slider, a grid with keys of its own.
 * @param {Event} event
 */
export function isTaken(event) {
  const target = event.composedPath()[0]
  return target instanceof Element && target.closest(FIELDS) !== null
}

const FIELDS = "input:not([readonly]),textarea,select,[contenteditable],[role=slider],[role=grid],[role=application],[role=combobox],[role=menu],[role=listbox]"

const OFF = "nt-keys-off"

/** Whether letters, digits and signs work as keys. Whoever speaks to the machine, or slips, can turn them off. */
export function charactersWork() {
  try {
    return localStorage.getItem(OFF) === null
  } catch {
    return true
  }
}

/**
 * Kept in this browser.
 * @param {boolean} on
 */
export function letCharactersWork(on) {
  try {
    if (on) localStorage.removeItem(OFF)
    else localStorage.setItem(OFF, "1")
  } catch {
    // without storage they go on working
  }
}
