// @ts-check
/** Where the nodes of a tree stand: depth to the right, the likeliest child straight on, the others below it. */

/** @typedef {[number, number, number, string, number, number, number, number]} Row number, parent, token id, text,
 *   probability after the parent, log-probability of the path (nats), rank, 1 where the token ends the text */
/** @typedef {{number: number, parent: number | null, row: Row | null, depth: number, line: number, children: number[],
 *   hidden: number, place: number, siblings: number}} Item `line`: its row on the screen; `hidden`: nodes folded away
 *   below it; `place` of `siblings`: its rank among the children of its parent, from 1 */

/**
 * Children of every node, the likeliest first.
 * @param {Row[]} rows
 * @returns {Map<number, number[]>}
 */
export function childrenOf(rows) {
  /** @type {Map<number, number[]>} */
  const children = new Map()
  const chance = new Map(rows.map((row) => [row[0], row[4]]))
  for (const row of rows) children.set(row[1], [...(children.get(row[1]) ?? []), row[0]])
  for (const list of children.values()) list.sort((a, b) => (chance.get(b) ?? 0) - (chance.get(a) ?? 0) || a - b)
  return children
}

/**
 * The visible nodes from the root (number 0) on, in reading order, and how many lines and columns they take.
 * @param {Row[]} rows
 * @param {Set<number>} folded nodes whose descendants are hidden
 * @returns {{items: Item[], lines: number, columns: number}}
 */
export function layout(rows, folded) {
  const children = childrenOf(rows)
  const byNumber = new Map(rows.map((row) => [row[0], row]))
  /** @type {Item[]} */
  const items = []
  let lines = 0
  let columns = 0
  /** @type {{number: number, parent: number | null, depth: number, first: boolean, place: number, siblings: number}[]} */
  const waiting = [{ number: 0, parent: null, depth: 0, first: false, place: 1, siblings: 1 }]
  while (waiting.length > 0) {
    const { number, parent, depth, first, place, siblings } = /** @type {typeof waiting[0]} */ (waiting.pop())
    if (!first) lines += 1
    columns = Math.max(columns, depth + 1)
    const below = children.get(number) ?? []
    const closed = folded.has(number) && below.length > 0
    items.push({
      number, parent, depth, place, siblings, row: byNumber.get(number) ?? null, line: lines - 1,
      children: closed ? [] : below, hidden: closed ? count(number, children) : 0,
    })
    if (closed) continue
    for (let i = below.length - 1; i >= 0; i--) {
      waiting.push({ number: below[i], parent: number, depth: depth + 1, first: i === 0, place: i + 1, siblings: below.length })
    }
  }
  return { items, lines, columns }
}

/**
 * How many nodes hang below `number`.
 * @param {number} number
 * @param {Map<number, number[]>} children
 */
function count(number, children) {
  let found = 0
  const waiting = [number]
  while (waiting.length > 0) {
    const below = children.get(/** @type {number} */ (waiting.pop())) ?? []
    found += below.length
    waiting.push(...below)
  }
  return found
}

/**
 * Where an arrow key leads: ← the parent, → the likeliest child, ↑ and ↓ the node above or below at the same depth
 * (a sibling, or the next branch's node where there is no further one), Home the prompt, End the run's place.
 * @param {Item[]} items in reading order
 * @param {number} from
 * @param {string} key
 * @param {number} cursor
 * @returns {number | null} null when the key leads nowhere
 */
export function follow(items, from, key, cursor) {
  const at = items.find((item) => item.number === from)
  if (!at) return items.length > 0 ? 0 : null
  if (key === "ArrowLeft") return at.parent
  if (key === "ArrowRight") return at.children[0] ?? null
  if (key === "Home") return 0
  if (key === "End") return items.some((item) => item.number === cursor) ? cursor : null
  const level = items.filter((item) => item.depth === at.depth)
  const next = level[level.indexOf(at) + (key === "ArrowUp" ? -1 : 1)]
  return next ? next.number : null
}

/**
 * The nodes to fold so that only those on `path` and their children stay open.
 * @param {Row[]} rows
 * @param {number[]} path
 */
export function foldOthers(rows, path) {
  const kept = new Set(path)
  return new Set([...childrenOf(rows).keys()].filter((number) => !kept.has(number)))
}
