// @ts-check
/**
 * A component's own line to the server: one event, answered with the next message, without a run of the page's
 * script. `core/components/lines.py` is the other end.
 */

/** @typedef {{token: string, event: string, at: number}} Line */
/** @typedef {{names: string[], query: Record<string, string>}} Address */

/**
 * @param {Line} line
 * @param {any} payload
 * @returns {Promise<Uint8Array | null>} null where the server has no answer on this line
 */
export async function ask(line, payload) {
  try {
    const reply = await fetch(new URL(`line/${line.token}`, document.baseURI), {
      method: "POST", body: JSON.stringify(payload), headers: { "Content-Type": "application/json" },
    })
    return reply.status === 200 ? new Uint8Array(await reply.arrayBuffer()) : null
  } catch {
    return null // no connection: the usual way says so
  }
}

/**
 * The address with a link's values in place of those that it had; other values stay.
 * @param {string} now
 * @param {Address} address
 */
export function written(now, { names, query }) {
  const url = new URL(now)
  url.search = url.searchParams.toString() // one way of writing, so that the same values compare equal
  for (const name of names) {
    if (name in query) url.searchParams.set(name, query[name])
    else url.searchParams.delete(name)
  }
  return url.href
}

/** @param {Address | null | undefined} address */
export function showAddress(address) {
  if (!address) return
  const next = written(location.href, address)
  if (next !== written(location.href, { names: [], query: {} })) history.pushState(history.state, "", next)
}
