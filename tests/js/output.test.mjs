import assert from "node:assert/strict"
import { test } from "node:test"
import { histogram, largestDifference, products, range, softmax } from "../../assets/js/output/numbers.js"
import { number } from "../../assets/js/lib/numbers.js"

const near = (a, b, by = 1e-12) => assert.ok(Math.abs(a - b) <= by, `${a} is not ${b}`)

test("softmax sums to one and follows the definition", () => {
  const { probabilities, total, largest } = softmax([1, 2, 3], 0)
  const below = Math.exp(1) + Math.exp(2) + Math.exp(3)
  ;[1, 2, 3].forEach((z, i) => near(probabilities[i], Math.exp(z) / below))
  near(total, below / Math.exp(3))
  assert.equal(largest, 3)
})

test("adding a constant to every logit moves no probability", () => {
  const logits = Float32Array.from({ length: 5000 }, (_, i) => 10 * Math.sin(i * 1.7))
  const before = softmax(logits, 0).probabilities
  for (const constant of [-15, -0.5, 7, 15]) near(largestDifference(softmax(logits, constant).probabilities, before), 0, 1e-13)
  assert.ok(largestDifference(softmax(logits.map((z) => z * 2), 0).probabilities, before) > 1e-4)
})

test("the written products and the rest make the dot product", () => {
  const made = products([1, -2, 3, 0.5], [2, 4, 1, 2], 2)
  assert.deepEqual(made.order, [1, 2])
  near(made.sum, -2)
  near(made.rest, 3)
})

test("the histogram counts every finite logit once, those at the ends too", () => {
  const counts = histogram([0, 0.4, 1, 2, 2, -Infinity], 0, 2, 2)
  assert.deepEqual([...counts], [2, 3])
  assert.deepEqual(range([3, -1, -Infinity, NaN]), { low: -1, high: 3 })
  assert.deepEqual([...histogram([5, 5], 5, 5, 3)], [2, 0, 0])
})

test("numbers have a true minus and no false zero", () => {
  assert.deepEqual([0, -0.04254, 1234.5, 3.1e-7, NaN, -390.3368].map((n) => number(n)), ["0", "−0.0425", "1,230", "3.10e−7", "–", "−390"])
})
