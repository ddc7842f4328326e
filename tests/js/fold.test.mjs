import assert from "node:assert/strict"
import { test } from "node:test"
import { columnAt, fold } from "../../assets/js/lib/fold.js"

const all = (layout) => layout.columns.map((column) => column.position)

test("few columns all show, with a gap between the prompt and what was generated", () => {
  const layout = fold(5, 600, 3, 4, 7)
  assert.deepEqual(all(layout), [0, 1, 2, 3, 4])
  assert.equal(layout.hidden, 0)
  assert.equal(layout.columns[3].x, layout.columns[2].x + layout.columns[2].width + 7)
})

test("columns narrow before any is hidden, and never leave the width", () => {
  for (const count of [1, 10, 55, 56]) {
    const layout = fold(count, 350, Math.ceil(count / 2), count - 1, 7)
    const end = layout.columns.at(-1)
    assert.equal(layout.columns.length, count)
    assert.ok(end.x + end.width <= 350.001)
  }
})

test("many columns fold in the middle and keep the first, the newest and the chosen one", () => {
  for (const chosen of [0, 3, 4, 200, 511]) {
    const layout = fold(512, 600, 500, chosen, 7)
    const shown = all(layout)
    assert.ok(shown.includes(0) && shown.includes(chosen))
    assert.equal(shown.length + layout.hidden, 512)
    assert.deepEqual(shown, [...new Set(shown)].sort((a, b) => a - b))
    const end = layout.columns.at(-1)
    assert.ok(end.x + end.width <= 600)
  }
  assert.ok(all(fold(512, 600, 500, 511, 7)).includes(511))
})

test("a click in a gap chooses nothing", () => {
  const layout = fold(4, 600, 2, 0, 20)
  assert.equal(columnAt(layout, layout.columns[1].x + 1), 1)
  assert.equal(columnAt(layout, layout.columns[2].x - 5), null)
  assert.equal(columnAt(layout, 599), null)
})
