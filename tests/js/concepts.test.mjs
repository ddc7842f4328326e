import assert from "node:assert/strict"
import test from "node:test"
import { curve, firstOpen, isSeen } from "../../assets/js/concepts.js"

const idea = (number, page) => ({ number, page: page && [page, page, page] })
const IDEAS = [idea(1, "generate"), idea(5, "tokens"), idea(35, null)]
const box = (left, top) => ({ left, right: left + 100, top, bottom: top + 20 })

test("an idea is seen when its page was visited, and never when it has none", () => {
  const seen = new Set(["generate", "null"])
  assert.deepEqual(IDEAS.map((one) => isSeen(one, seen)), [true, false, false])
})

test("the map begins at the first idea that was not seen, and at the start when all were", () => {
  assert.equal(firstOpen(IDEAS, new Set(["generate"])), 5)
  assert.equal(firstOpen([IDEAS[0]], new Set(["generate"])), 1)
})

test("a line leaves at the side that faces the other box", () => {
  assert.match(curve(box(0, 0), box(200, 40)), /^M100 10 C.* 200 50$/)
  assert.match(curve(box(200, 0), box(0, 40)), /^M200 10 C.* 100 50$/)
})

test("a line between boxes of one column runs along their left edge", () => {
  const path = curve(box(50, 0), box(50, 60))
  assert.match(path, /^M50 10 C/)
  assert.match(path, / 50 70$/)
  assert.ok(Number(path.match(/C([\d.]+)/)[1]) < 50)
})
