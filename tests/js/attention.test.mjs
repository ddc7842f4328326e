// The Attention page's arithmetic against small cases worked out by hand.
import assert from "node:assert/strict"
import { test } from "node:test"
import { allowed, dot, headOf, row, shownKeys, tables, weightedSum } from "../../assets/js/attention/numbers.js"
import { table } from "../../assets/js/attention/keep.js"
import { arrange, ranked, slotAt } from "../../assets/js/attention/tiles.js"

const shaped = (values, shape) => Object.assign(Float32Array.from(values), { shape })

function small(changes = {}) {
  const arrays = {
    q: shaped([1, 0, 0, 2, 1, 1], [3, 2]),
    k: shaped([2, 0, 0, 3, 1, -1], [3, 2]),
    v: shaped([1, 10, 100], [3, 1]),
    first: Int32Array.from(changes.first ?? [0, 0, 0]),
  }
  return headOf({ scale: 0.5, softcap: null, sink: null, ...changes }, arrays)
}

test("scores are dot products times the scale, and later keys get exactly nothing", () => {
  const head = small()
  const one = row(head, 1)
  assert.deepEqual([...one.raw], [0, 6, -2])
  assert.deepEqual([...one.scores], [0, 3, -1])
  const power = Math.exp(3)
  assert.ok(Math.abs(one.weights[1] - power / (1 + power)) < 1e-12)
  assert.equal(one.weights[2], 0)
  assert.ok(!allowed(head, 1, 2))
  assert.equal(dot(head, 2, 0), 2)
})

test("the weighted sum mixes the values that are in sight", () => {
  const out = weightedSum(small(), row(small(), 1).weights)
  const power = Math.exp(3)
  assert.ok(Math.abs(out[0] - (1 + 10 * power) / (1 + power)) < 1e-5)
})

test("a window hides early keys, a sink takes weight and gives nothing, a soft-cap bends the scores", () => {
  const windowed = row(small({ first: [0, 0, 2] }), 2)
  assert.deepEqual([...windowed.weights], [0, 0, 1])
  const sunk = row(small({ sink: 0 }), 0)
  assert.ok(Math.abs(sunk.weights[0] - Math.E / (Math.E + 1)) < 1e-12)
  assert.ok(Math.abs(row(small({ softcap: 2 }), 1).scores[1] - 2 * Math.tanh(1.5)) < 1e-12)
})

test("every row of the table of weights adds up to one", () => {
  const { weights } = tables(small())
  for (let query = 0; query < 3; query++) {
    const sum = weights.subarray(query * 3, query * 3 + 3).reduce((a, b) => a + b, 0)
    assert.ok(Math.abs(sum - 1) < 1e-6)
  }
})

test("a long row lists its heaviest keys in the order of the text", () => {
  assert.deepEqual(shownKeys(Float64Array.from([0.1, 0.5, 0, 0.4]), 0, 3, 2), [1, 3])
  assert.deepEqual(shownKeys(Float64Array.from([0.1, 0.9]), 0, 1, 5), [0, 1])
})

test("the saved table holds every pair in sight once, and a token with a quote stays one cell", () => {
  const head = small()
  const lines = table(head, tables(head), ["a", 'b"', ","]).trim().split("\r\n")
  assert.equal(lines.length, 1 + 6)
  assert.ok(lines[2].startsWith('1,"b""",0,"a",0,'))
})

const header = { layers: 3, done: 3, heads: 4, groups: [0, 0, 1, 1], measures: ["a", "b"], size: 5 }

test("every head has one place, on wide and on narrow screens, and is found there again", () => {
  for (const width of [1100, 60]) {
    const layout = arrange({ ...header, layers: 30 }, width, [])
    assert.equal(layout.slots.length, 120)
    for (const slot of layout.slots) {
      assert.deepEqual(slotAt(layout, slot.x + layout.tile / 2, slot.y + layout.tile / 2), slot)
    }
    assert.equal(layout.brackets.length, 2)
  }
})

test("layer 0 is at the bottom when layers stand below each other", () => {
  const { slots } = arrange({ ...header, layers: 30 }, 300, [])
  const y = (layer) => slots.find((slot) => slot.layer === layer).y
  assert.ok(y(0) > y(29))
})

test("sorting puts the strongest head first, the most focused one when little is much", () => {
  const measures = Float32Array.from(Array.from({ length: 24 }, (_, i) => (i % 2 ? 24 - i : i)))
  assert.deepEqual(ranked(measures, header, 0, false)[0], { layer: 2, head: 3, value: 22 })
  assert.deepEqual(ranked(measures, header, 1, true)[0], { layer: 2, head: 3, value: 1 })
})
