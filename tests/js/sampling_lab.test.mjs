// The laboratory in the browser gives Python's numbers: stages, many draws, distance; and greedy is the cold limit.
import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { neighbour, stops } from "../../assets/js/lib/curves.js"
import { drawIds, tally, totalVariation } from "../../assets/js/lib/draws.js"
import { uniform, uniforms } from "../../assets/js/lib/randomness.js"
import { choose, pipeline } from "../../assets/js/lib/sampling.js"
import { DRAW_STEPS, MOST_DRAWS, columns, curveTemperatures, drawsAt, stageViews } from "../../assets/js/sampling_lab/numbers.js"
import { sample } from "../../assets/js/sampling_lab/samples.js"

const fixture = JSON.parse(readFileSync(new URL("../fixtures/sampling_lab.json", import.meta.url), "utf8"))
const PLAIN = { temperature: 1, top_k: 0, top_p: 1, min_p: 0, repetition_penalty: 1, seed: 0 }
const FOUR = [0.5, 0.3, 0.15, 0.05].map(Math.log)
const near = (a, b, tolerance = 1e-9) => assert.ok(Math.abs(a - b) <= tolerance, `${a} is not ${b}`)
/** Python rounds halves to even. */
const rounded = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x))
const logits = Float64Array.from({ length: fixture.size }, (_, i) => {
  let sum = 0
  for (let j = 0; j < 4; j++) sum += uniform(3, i, j) - 0.5
  return rounded(16 * sum) / 8
})

for (const expected of fixture.cases) {
  test(`fixture: ${expected.name}`, () => {
    const result = pipeline(logits, expected.params, fixture.previous)
    const views = stageViews(result, [0, 1, 2])
    expected.stages.forEach((stage, i) => {
      near(views[i].kept, stage.kept, 0)
      near(views[i].mass, stage.mass)
      near(views[i].entropyBits, stage.entropy_bits)
      near(views[i].perplexity, stage.perplexity, 1e-6)
      near(views[i].choices, stage.choices, 1e-6)
    })
    const ids = drawIds(result, uniforms(expected.params.seed, fixture.step, fixture.draws))
    const counts = tally(ids, fixture.draws)
    assert.deepEqual(Object.fromEntries([...counts].sort(([a], [b]) => a - b)), expected.counts)
    near(totalVariation(result.probabilities, counts), expected.distance)
  })
}

test("drawing many is drawing one by one, in the likely part and behind it", () => {
  const result = pipeline(logits, { ...PLAIN, temperature: 4 })
  const numbers = uniforms(2, 9, 200)
  const few = numbers.filter((u) => u < 0.1)
  assert.deepEqual([...drawIds(result, numbers)], [...numbers].map((u) => choose(result, u).tokenId))
  assert.deepEqual([...drawIds(result, few)], [...few].map((u) => choose(result, u).tokenId))
})

test("a removed token stays as an outline and is marked where it went", () => {
  const result = pipeline(FOUR, { ...PLAIN, top_p: 0.75 })
  const views = stageViews(result, [0, 1, 2, 3])
  const at = (name) => views.find((view) => view.name === name)
  near(at("top_k").cells[2].share, 0.15)
  assert.deepEqual(at("top_p").cells[2], { share: 0, ghost: at("tempered").cells[2].share, removed: "top_p", here: true })
  assert.equal(at("min_p").cells[2].here, false)
  near(at("min_p").cells[2].ghost, 0.15)
  near(at("top_p").cells[0].share, 0.5) // before renormalising the bars keep their height
  near(at("final").cells[0].share, 0.625)
  assert.equal(at("final").cells[2].ghost, 0)
  assert.equal(at("top_p").taken, 2)
})

test("bars and the rest are what is left in every stage", () => {
  const result = pipeline(logits, { ...PLAIN, temperature: 1.3, top_k: 40, top_p: 0.9, min_p: 0.02 }, fixture.previous)
  for (const view of stageViews(result, [7, 8, 9])) {
    const shown = view.cells.reduce((sum, cell) => sum + cell.share, 0)
    near(shown + view.rest, view.name === "final" ? 1 : view.mass)
  }
})

test("greedy is where low temperatures lead, and high ones make all equal", () => {
  const [greedy, cold, hot] = columns(FOUR, [], 1, [0, 1], [0, 0.05, 1000])
  assert.deepEqual(greedy.shares, [1, 0])
  near(cold.shares[0], 1, 1e-4)
  near(hot.shares[0], 0.25, 1e-3)
  near(hot.choices, 4, 1e-3)
  const along = columns(FOUR, [], 1, [0], curveTemperatures()).map((column) => column.shares[0])
  along.slice(1).forEach((share, i) => assert.ok(share <= along[i]))
})

test("the penalty of the settings reaches the temperatures", () => {
  const [column] = columns([2, 1.9], [0], 2, [0, 1], [1])
  near(column.shares[0], Math.exp(1) / (Math.exp(1) + Math.exp(1.9)))
})

test("the number of draws goes from 1 to 10,000 and never falls", () => {
  const all = Array.from({ length: DRAW_STEPS + 1 }, (_, i) => drawsAt(i))
  assert.equal(all[0], 1)
  assert.equal(all[DRAW_STEPS], MOST_DRAWS)
  all.slice(1).forEach((count, i) => assert.ok(count >= all[i] && Number.isInteger(count)))
})

test("shares of the shown tokens and of the rest are all draws", () => {
  const result = pipeline(FOUR, PLAIN)
  const sampled = sample(result, [0, 1], { seed: 3, step: 0, count: 1000 })
  const shown = sampled.rows.reduce((sum, row) => sum + row.seen, 0)
  near(shown + sampled.restSeen, 1)
  near(sampled.restExpected, 0.2)
  near(sampled.path.at(-1)[1], sampled.distance)
  assert.ok(sampled.distance < 0.05)
  assert.equal(sampled.path[0][0], 1)
})

test("the distance is 1 without draws and 0 when shares equal chances", () => {
  const half = Float64Array.from([0.5, 0.5])
  assert.equal(totalVariation(half, new Map()), 1)
  assert.equal(totalVariation(half, new Map([[0, 3], [1, 3]])), 0)
  assert.equal(totalVariation(half, new Map([[0, 4]])), 0.5)
})

test("the arrow keys read a chart from point to point and stay inside", () => {
  const chart = { series: [{ name: "a", points: [[1, 0], [3, 0]] }, { name: "b", points: [[2, 0]] }] }
  assert.deepEqual(stops(chart), [1, 2, 3])
  assert.equal(neighbour(chart, null, 1), 1)
  assert.equal(neighbour(chart, 1, 1), 2)
  assert.equal(neighbour(chart, 3, 1), 3)
  assert.equal(neighbour({ series: [] }, null, 1), null)
})
