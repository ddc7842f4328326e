// @ts-check
/** The cell and the expert that the page looks at, told by one of its components to the others in the browser. */

/** @typedef {{layer: number, position: number, expert: number | null}} Place */

/** @type {Place} */
let current = { layer: 0, position: 0, expert: null }
/** @type {Set<(place: Place) => void>} */
const listeners = new Set()

export function place() {
  return current
}

/** @param {Partial<Place>} change */
export function move(change) {
  const next = { ...current, ...change }
  if (next.layer === current.layer && next.position === current.position && next.expert === current.expert) return
  current = next
  for (const listener of listeners) listener(current)
}

/** @param {(place: Place) => void} listener */
export function listen(listener) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

let held = false

/**
 * While the learner moves and the server has not been told yet, what the server says about the place is old.
 * @param {boolean} [value]
 */
export function hold(value) {
  if (value !== undefined) held = value
  return held
}
