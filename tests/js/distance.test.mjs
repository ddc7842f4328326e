import assert from "node:assert/strict"
import { test } from "node:test"
import { roundTicks } from "../../assets/js/distance.js"

test("ticks are round values inside the ends", () => {
  assert.deepEqual(roundTicks(0, 31).map((tick) => tick.at), [0, 10, 20, 30])
  const ticks = roundTicks(-7.3, 4.1)
  assert.ok(ticks.every(({ at }) => at >= -7.3 && at <= 4.1) && ticks.some(({ at }) => at === 0))
  assert.deepEqual(roundTicks(0, 0.5).map((tick) => tick.text).slice(0, 2), ["0", "0.1"])
  assert.ok(roundTicks(0, 0).length >= 1, "a flat line has a tick as well")
})
