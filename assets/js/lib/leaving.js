// @ts-check
/**
 * While a component's event leads to another page, the others keep quiet: an event of a page that is being left
 * would cut the next page's run short and leave it half drawn.
 */

const LONGEST_MS = 5000

let until = 0

/** Another page is on its way. */
export function leave() {
  until = performance.now() + LONGEST_MS
}

/** The next page is here: its first component has opened. */
export function arrive() {
  until = 0
}

export function isLeaving() {
  return performance.now() < until
}
