// The Experts page's reading of a routing, against small cases worked out by hand.
import assert from "node:assert/strict"
import { test } from "node:test"
import { cellAt, chosenAt, columnWidth, inCommon, isNarrow, pieces, routingOf } from "../../assets/js/experts/numbers.js"
import { hold, listen, move, place } from "../../assets/js/experts/place.js"

const shaped = (values, shape) => Object.assign(Float32Array.from(values), { shape })

// Two layers with a router (1 and 3), two tokens, three experts, two chosen.
function small() {
  return routingOf({ routers: [1, 3] }, {
    probabilities: shaped([0.1, 0.6, 0.3, 0.5, 0.2, 0.3, 0.2, 0.2, 0.6, 0.1, 0.1, 0.8], [2, 2, 3]),
    indices: shaped([1, 2, 2, 0, 2, 0, 2, 1], [2, 2, 2]),
    weights: shaped([0.7, 0.3, 0.4, 0.6, 0.75, 0.25, 0.9, 0.1], [2, 2, 2]),
    gate: shaped([0.5, 0.25, 1, 0], [2, 2]),
  })
}

test("the chosen experts come heaviest first, and a dense layer has none", () => {
  const weights = chosenAt(small(), 1, 1).map(({ expert, weight }) => [expert, Number(weight.toFixed(3))])
  assert.deepEqual(weights, [[0, 0.6], [2, 0.4]])
  assert.equal(chosenAt(small(), 0, 0), null)
})

test("a cell holds the whole distribution, the runner-up and the shared gate of its own layer and token", () => {
  const cell = cellAt(small(), 3, 0)
  assert.deepEqual(cell.order, [2, 0, 1])
  assert.equal(cell.runnerUp, 1)
  assert.equal(cell.gate, 1)
  assert.equal(cellAt(small(), 1, 1).gate, 0.25)
  assert.equal(cellAt(small(), 2, 0), null)
})

test("a runner-up may score higher than a chosen one, and there is none when all are chosen", () => {
  const passed = routingOf({ routers: [0] }, {
    probabilities: shaped([0.5, 0.2, 0.3], [1, 1, 3]), indices: shaped([1], [1, 1, 1]), weights: shaped([1], [1, 1, 1]),
  })
  assert.equal(cellAt(passed, 0, 0).runnerUp, 0)
  assert.equal(cellAt(passed, 0, 0).gate, null)
  const all = routingOf({ routers: [0] }, {
    probabilities: shaped([0.5, 0.5], [1, 1, 2]), indices: shaped([0, 1], [1, 1, 2]), weights: shaped([0.5, 0.5], [1, 1, 2]),
  })
  assert.equal(cellAt(all, 0, 0).runnerUp, null)
})

test("a wide cell is cut by weight, a narrow one shows the first alone", () => {
  const chosen = [{ expert: 4, weight: 0.75 }, { expert: 1, weight: 0.25 }]
  assert.deepEqual(pieces(chosen, 40).map(({ x, width }) => [x, width]), [[0, 30], [30, 10]])
  assert.deepEqual(pieces(chosen, 6), [{ expert: 4, x: 0, width: 6 }])
  assert.deepEqual(pieces([{ expert: 4, weight: 0 }, { expert: 1, weight: 0 }], 20).map(({ width }) => width), [10, 10])
})

test("an expert that is looked for is seen where it was chosen, however narrow the cell", () => {
  const chosen = [{ expert: 4, weight: 0.75 }, { expert: 1, weight: 0.25 }]
  assert.deepEqual(pieces(chosen, 6, 1), [{ expert: 1, x: 0, width: 6 }])
  assert.deepEqual(pieces(chosen, 6, 2), [{ expert: 4, x: 0, width: 6 }])
  assert.deepEqual(pieces(chosen, 40, 1).map(({ expert }) => expert), [4, 1])
  assert.deepEqual([isNarrow(6), isNarrow(40)], [true, false])
})

test("columns fit the room, stay visible in a long text, and spread out on demand", () => {
  assert.equal(columnWidth(10, 300, false), 30)
  assert.equal(columnWidth(512, 1000, false), 3)
  assert.equal(columnWidth(512, 1000, true), 34)
  assert.equal(columnWidth(1, 1000, false), 96)
})

test("experts in common are counted whatever their order", () => {
  assert.equal(inCommon([{ expert: 1, weight: 1 }, { expert: 2, weight: 1 }], [{ expert: 2, weight: 1 }, { expert: 5, weight: 1 }]), 1)
})

test("listeners hear of a new place once, and not of the same one", () => {
  let heard = 0
  const forget = listen(() => heard++)
  move({ layer: 4, position: 2 })
  move({ layer: 4, position: 2 })
  move({ expert: 3 })
  assert.equal(heard, 2)
  assert.deepEqual(place(), { layer: 4, position: 2, expert: 3 })
  forget()
  move({ layer: 0 })
  assert.equal(heard, 2)
  assert.equal(hold(true), true)
  assert.equal(hold(), true)
  hold(false)
})
