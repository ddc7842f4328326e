// @ts-check
/** The pages that were visited in this browser: their names alone, kept in its own storage. */

const KEY = "nt-visited"

/** @returns {Set<string>} */
export function visited() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "[]")
    return new Set(Array.isArray(kept) ? kept.filter((name) => typeof name === "string") : [])
  } catch {
    return new Set() // storage is shut, or holds something else
  }
}

/** @param {string} page */
export function remember(page) {
  const known = visited()
  if (known.has(page)) return
  try {
    localStorage.setItem(KEY, JSON.stringify([...known, page]))
  } catch {
    // Storage is shut: the session's own list is enough.
  }
}
