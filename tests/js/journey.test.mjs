import assert from "node:assert/strict"
import { test } from "node:test"
import { along, loopPath, measure, placeAt, rowTop } from "../../assets/js/journey/geometry.js"
import { lensOf } from "../../assets/js/journey/lenses.js"
import { Film, lengthOf, momentAt } from "../../assets/js/journey/motion.js"

const grid = (more = {}) =>
  measure({ width: 700, count: 7, layers: 30, prompt: 5, chosen: 6, lane: null, open: true, ...more })

test("every cell is found again where it is drawn", () => {
  for (const lane of [null, 0, 12, 29]) {
    const geo = grid({ lane })
    for (const column of geo.columns) {
      for (let layer = 0; layer < 30; layer++) {
        const place = placeAt(geo, column.x + column.width / 2, rowTop(geo, layer) + geo.row / 2)
        assert.deepEqual(place, { position: column.position, layer })
      }
    }
  }
})

test("the lane for the arcs lies right below the chosen row and covers no cell", () => {
  const geo = grid({ lane: 12 })
  assert.ok(Math.abs(rowTop(geo, 11) - (rowTop(geo, 12) + geo.row + geo.laneHeight)) < 1e-9)
  assert.equal(placeAt(geo, geo.columns[0].x + 3, rowTop(geo, 12) + geo.row + 5).layer, null)
})

test("everything stays inside the width, and the newest column is always there", () => {
  for (const width of [330, 500, 700, 1100]) {
    for (const count of [1, 5, 14, 40, 512]) {
      const geo = grid({ width, count, prompt: count, chosen: count - 1 })
      assert.equal(geo.columns.at(-1).position, count - 1)
      assert.ok(geo.slot.x + geo.slot.width <= width && geo.loopX <= width, `${width} ${count}`)
      assert.equal(geo.columns.length + geo.hidden, count)
    }
  }
})

test("prompt and generated tokens are two groups", () => {
  const { columns } = grid()
  const gaps = columns.slice(1).map((column, i) => column.x - columns[i].x - columns[i].width)
  assert.ok(gaps[4] > 10)
  assert.ok(gaps.every((gap, i) => i === 4 || Math.abs(gap) < 1e-6))
})

test("the way of a choice begins at its prediction and ends at the next token's place", () => {
  const geo = grid()
  const path = loopPath(geo, 6, geo.slot.x + geo.slot.width)
  assert.deepEqual(along(path, 0), path[0])
  assert.deepEqual(along(path, 1), path[3])
  assert.ok(path[0][1] < geo.body && path[3][1] > geo.token)
})

test("a step's film draws, carries, rises and ends; held it stands still", () => {
  const whole = lengthOf("step", 1)
  const phases = [0, 0.3, 0.7, 1].map((share) => momentAt("step", share * whole, 1).phase)
  assert.deepEqual(phases, ["draw", "carry", "rise", "end"])
  const film = new Film("step", 1)
  film.frame(0, 1)
  film.frame(200, 1)
  film.held = true
  assert.equal(film.frame(5000, 1).phase, "draw")
  assert.equal(film.elapsed, 200)
})

test("another speed goes on at the same place of the film", () => {
  const film = new Film("step", 1)
  film.frame(0, 1)
  const before = film.frame(700, 1)
  const after = film.frame(700, 0)
  assert.equal(after.phase, before.phase)
  assert.ok(Math.abs(after.share - before.share) < 1e-9)
})

test("the lens of what a layer would say reads the block's output, one row above its input", () => {
  const labels = { said_say: "{token} {chance}", said_unknown: "?" }
  const lens = { name: "say", rows: [0, 1, 2], positions: [0, 3], names: [[7, " a"], [8, "b"]] }
  const ids = Int32Array.of(8, 8, 7, -1, 8, 7)
  const chances = Float32Array.of(0, 0, 0.25, 0, 0.5, 1)
  const shown = lensOf({ labels, journey: { lens } }, { say_ids: ids, say_chances: chances })
  assert.equal(shown.label(0, 0), "·a")
  assert.equal(shown.said(0, 0), "“·a” 25.0%")
  assert.equal(shown.label(1, 3), "·a")
  assert.equal(shown.shade(1, 3), 255)
  assert.equal(shown.shade(0, 3), null)
  assert.equal(shown.said(0, 1), "?")
})
