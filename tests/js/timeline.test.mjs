import assert from "node:assert/strict"
import { test } from "node:test"
import { bins, range, shades } from "../../assets/js/kv_cache/pool.js"
import { passAt, rowHeights, rowOf, span, ticks } from "../../assets/js/timeline/layout.js"

test("every token has its own row, below the one before it", () => {
  for (const [prompt, made] of [[1, 0], [7, 8], [1024, 64], [3, 400]]) {
    const heights = rowHeights(prompt, made)
    let y = 0
    for (let at = 0; at < prompt + made; at++) {
      const row = rowOf(at, prompt, heights)
      assert.ok(Math.abs(row.y - y) < 1e-6)
      y += row.height
    }
  }
  assert.ok(1024 * rowHeights(1024, 0).prompt <= 220)
})

test("ticks are round, start at nothing and do not go past the end", () => {
  assert.deepEqual(ticks(1, 5).map((at) => at.toFixed(1)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"])
  assert.ok(ticks(3.07, 8).every((at) => at <= 3.07))
  assert.deepEqual(ticks(0, 5), [0])
})

test("a point in time belongs to the pass that runs then, its choice included", () => {
  const passes = [{ from: 0.1, seconds: 1, choose: 0.1 }, { from: 1.2, seconds: 0.5, choose: null }].map((one) => ({ start: 0, end: 1, ...one }))
  assert.deepEqual([0, 0.5, 1.19, 1.3, 99].map((at) => passAt(passes, at)), [0, 0, 0, 1, 1])
})

test("times are written with three digits", () => {
  assert.deepEqual([0.0000397, 0.0663, 1.0134, 12.36].map(span), ["40 µs", "66.3 ms", "1.01 s", "12.4 s"])
})

test("columns share a cell only where the width is short", () => {
  assert.equal(bins(11, 600).together, 1)
  const many = bins(1024, 340)
  assert.ok(many.together > 1 && many.count * many.together >= 1024 && many.cell >= 3)
})

test("shared cells show the largest, dropped ones nothing, and the last layer is on top", () => {
  const lengths = [-1, -1, 1, 3, 2, 2, 2, 2] // two layers of four columns
  const cells = shades(lengths, 2, 4, { together: 2, count: 2 }, { low: 1, high: 3 })
  assert.deepEqual([...cells], [148, 148, -1, 255])
})

test("a single huge length does not pale the others, and dropped ones are not counted", () => {
  const lengths = [-1, ...Array.from({ length: 200 }, (_, i) => 1 + i / 200), 900]
  const limits = range(lengths)
  assert.ok(limits.low >= 1 && limits.high < 3)
})
