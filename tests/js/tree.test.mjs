import assert from "node:assert/strict"
import { test } from "node:test"
import { marks, shownStep } from "../../assets/js/tree/beams.js"
import { childrenOf, foldOthers, follow, layout } from "../../assets/js/tree/layout.js"
import { size } from "../../assets/js/tree/panels.js"
import { columns, openingOf, partsAt } from "../../assets/js/what_if/lanes.js"

// number, parent, token id, text, probability, path's log p, rank, ends
const ROWS = [
  [1, 0, 11, " a", 0.2, -1.6, 2, 0], [2, 0, 12, " b", 0.7, -0.36, 1, 0], [3, 2, 13, " c", 0.5, -1, 1, 0],
  [4, 2, 14, " d", 0.4, -1.2, 2, 0], [5, 4, 15, " e", 0.9, -1.3, 1, 1], [6, 1, 16, " f", 0.3, -2.8, 1, 0],
]
const numbers = (items) => items.map((item) => item.number)

test("the likeliest child stands straight on, the others below it, each on a line of its own", () => {
  const { items, lines, columns: wide } = layout(ROWS, new Set())
  assert.deepEqual(numbers(items), [0, 2, 3, 4, 5, 1, 6])
  assert.deepEqual(items.map((item) => item.line), [0, 0, 0, 1, 1, 2, 2])
  assert.deepEqual(items.map((item) => item.depth), [0, 1, 2, 2, 3, 1, 2])
  assert.deepEqual([lines, wide], [3, 4])
  assert.deepEqual(childrenOf(ROWS).get(0), [2, 1])
})

test("no two nodes share a place, also in a tree of 400", () => {
  const rows = Array.from({ length: 400 }, (_, i) => [i + 1, Math.floor(i / 3), i, "x", 1 / (1 + (i % 7)), -1, 1, 0])
  const { items } = layout(rows, new Set())
  assert.equal(items.length, 401)
  assert.equal(new Set(items.map((item) => `${item.line}/${item.depth}`)).size, 401)
})

test("a folded node hides all below it and counts them", () => {
  const { items, lines } = layout(ROWS, new Set([2]))
  assert.deepEqual(numbers(items), [0, 2, 1, 6])
  assert.equal(items[1].hidden, 3)
  assert.equal(lines, 2)
  assert.deepEqual([...foldOthers(ROWS, [0, 1])].sort(), [2, 4])
})

test("arrow keys lead to parent, likeliest child and neighbours, and reach every node", () => {
  const { items } = layout(ROWS, new Set())
  assert.equal(follow(items, 4, "ArrowLeft", 0), 2)
  assert.equal(follow(items, 0, "ArrowLeft", 0), null)
  assert.equal(follow(items, 2, "ArrowRight", 0), 3)
  assert.equal(follow(items, 3, "ArrowDown", 0), 4)
  assert.equal(follow(items, 4, "ArrowDown", 0), 6)
  assert.equal(follow(items, 6, "ArrowDown", 0), null)
  assert.equal(follow(items, 1, "ArrowUp", 0), 2)
  assert.equal(follow(items, 5, "Home", 3), 0)
  assert.equal(follow(items, 5, "End", 3), 3)
  const reached = new Set([0])
  const waiting = [0]
  while (waiting.length) {
    const from = waiting.pop()
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
      const to = follow(items, from, key, 0)
      if (to !== null && !reached.has(to)) {
        reached.add(to)
        waiting.push(to)
      }
    }
  }
  assert.equal(reached.size, items.length)
})

test("beams mark the ways to kept ones and what was dropped since", () => {
  const beam = (number, parent) => ({ number, parent })
  const header = {
    nodes: ROWS,
    beams: { steps: [
      { index: 0, kept: [beam(2, 0), beam(1, 0)], finished: [], last: false },
      { index: 1, kept: [beam(3, 2), beam(4, 2)], finished: [], last: false },
    ] },
  }
  assert.deepEqual([...marks(header, { step: null })].sort(), [[1, "dropped"], [2, "kept"], [3, "kept"], [4, "kept"]])
  assert.deepEqual([...marks(header, { step: 0 })].sort(), [[1, "kept"], [2, "kept"]])
  assert.equal(shownStep({ steps: [] }, { step: 0 }), null)
})

test("the growth that is announced is the sum of its levels", () => {
  assert.equal(size(3, 3), 39)
  assert.equal(size(1, 12), 12)
})

test("lanes stand place under place after openings of different lengths", () => {
  const token = (id, given) => [id, "t", 0.5, 1, given]
  const found = {
    a: [token(1, 1), token(5, 0), token(6, 0)], b: [token(2, 1), token(3, 1), token(5, 0), token(7, 0)],
    places: [[0.5, true], [0.25, false], [1, null]], meeting: null, surprise: [1, 1],
  }
  const shown = columns(found)
  assert.deepEqual(shown.map((c) => [c.a?.[0] ?? null, c.b?.[0] ?? null]), [[null, 2], [1, 3], [5, 5], [6, 7]])
  assert.deepEqual(shown.map((c) => c.kl), [null, null, 0.5, 0.25])
  assert.equal(partsAt(found), 2)
  assert.equal(openingOf(found.b), 2)
  assert.equal(partsAt({ ...found, places: [[0, true]] }), null)
})
