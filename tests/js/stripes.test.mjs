import assert from "node:assert/strict"
import { test } from "node:test"
import { indexAt, scaleOf, shade, strongest } from "../../assets/js/lib/stripes.js"

test("zero is the middle of the ramp, the scale its ends, and beyond stays there", () => {
  assert.ok([127, 128].includes(shade(0, 2)))
  assert.deepEqual([-2, 2, -9, 9].map((value) => shade(value, 2)), [0, 255, 0, 255])
  assert.equal(shade(NaN, 2), 127)
})

test("each number has its own pixels when there is room", () => {
  const seen = Array.from({ length: 6 }, (_, x) => strongest([1, -2, 3], x, 6))
  assert.deepEqual(seen, [1, 1, -2, -2, 3, 3])
})

test("with more numbers than pixels the largest in size is shown, and none is skipped", () => {
  const values = [0.1, -5, 0.2, 1, 0, 0.3]
  assert.deepEqual([0, 1].map((x) => strongest(values, x, 2)), [-5, 1])
})

test("the pointer finds the number that is drawn under it", () => {
  assert.equal(indexAt(0, 300, 576), 0)
  assert.equal(indexAt(299.9, 300, 576), 575)
  assert.equal(indexAt(150, 300, 3), 1)
  assert.equal(indexAt(-1, 300, 3), null)
  assert.equal(indexAt(300, 300, 3), null)
})

test("one huge number does not set the scale; a vector of zeros has one all the same", () => {
  const many = Float32Array.from({ length: 1000 }, (_, i) => (i === 7 ? 900 : (i % 10) / 10))
  assert.ok(scaleOf(many) < 1)
  assert.equal(scaleOf(new Float32Array(5)), 1)
  assert.equal(scaleOf([]), 1)
})
