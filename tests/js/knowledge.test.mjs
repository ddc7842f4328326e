// Curves of the knowledge laboratory: what is not measured yet leaves no point.
import assert from "node:assert/strict"
import { test } from "node:test"
import { curvesOf, ticksOf } from "../../assets/js/knowledge/drift.js"

test("a point that is not measured yet is left out", () => {
  const curves = curvesOf([0, 0.1, 0.2], [0.5, NaN, 0.25, 1, 0.5, NaN], 2, false)
  assert.deepEqual(curves, [[[0, 0.5], [0.2, 0.25]], [[0, 1], [0.1, 0.5]]])
})

test("the logarithmic scale ends at its least value", () => {
  assert.deepEqual(curvesOf([0, 1], [0.01, 0], 1, true), [[[0, -2], [1, -5]]])
})

test("an axis of layers begins with none and is not crowded", () => {
  const ticks = ticksOf([-1, ...Array(30).keys()], "index", "none")
  assert.equal(ticks[0].text, "none")
  assert.ok(ticks.length <= 11)
  assert.equal(ticksOf([0, 0.1, 0.3], "share", "none")[2].text, "15%")
})
