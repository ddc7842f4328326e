// @ts-check
/** The head that is open, told by one component of the page to the other without a way over the server. */

/** @typedef {{layer: number, head: number}} Place */

/** @type {Place} */
let current = { layer: -1, head: -1 }
/** @type {Set<(place: Place) => void>} */
const listeners = new Set()

export function place() {
  return current
}

/**
 * @param {number} layer
 * @param {number} head
 */
export function open(layer, head) {
  if (current.layer === layer && current.head === head) return
  current = { layer, head }
  for (const listener of listeners) listener(current)
}

/**
 * @param {(place: Place) => void} listener
 */
export function listen(listener) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
