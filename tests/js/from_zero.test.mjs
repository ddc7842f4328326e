// The From zero page: which checkpoint is shown, where a head's weights lie, and text that holds any byte.
import assert from "node:assert/strict"
import { test } from "node:test"
import { shownAt } from "../../assets/js/from_zero.js"
import { offset } from "../../assets/js/from_zero/heads.js"
import { pairs, stepTicks } from "../../assets/js/from_zero/loss.js"
import { printable } from "../../assets/js/from_zero/sample.js"

test("the newest checkpoint is shown until one is chosen, and a shorter run has no later one", () => {
  assert.equal(shownAt(null, 3), 2)
  assert.equal(shownAt(1, 3), 1)
  assert.equal(shownAt(7, 3), 2)
  assert.equal(shownAt(null, 0), -1)
})

test("a head's weights lie one after the other, checkpoint by checkpoint", () => {
  assert.equal(offset([5, 2, 4, 3, 3], 0, 0, 1), 9)
  assert.equal(offset([5, 2, 4, 3, 3], 1, 1, 2), (8 + 4 + 2) * 9)
})

test("steps are marked at round numbers, never more than a few", () => {
  for (const last of [1, 3, 40, 197, 400, 2000, 12345]) {
    const ticks = stepTicks(last)
    assert.equal(ticks[0].at, 0)
    assert.ok(ticks.length <= 6 && ticks[ticks.length - 1].at <= last, String(last))
  }
  assert.deepEqual(stepTicks(400).map((tick) => tick.text), ["0", "100", "200", "300", "400"])
})

test("points pair steps with values", () => {
  assert.deepEqual(pairs([0, 10], [3, 2]), [[0, 3], [10, 2]])
})

test("control characters are seen, line breaks stay, and nothing else changes", () => {
  assert.equal(printable("a\u0000b\u001b\n<b>\u007f"), "a\u2400b\u241b\n<b>\u2421")
})
