// Shifted targets and the two worlds: what the rows say, before anything is drawn.
import assert from "node:assert/strict"
import { test } from "node:test"
import { context, keyed, nats } from "../../assets/js/targets/list.js"
import { band } from "../../assets/js/targets/mask.js"
import { rowOf, spoken } from "../../assets/js/targets/rows.js"
import { partedText, prefixes, startAt } from "../../assets/js/targets/worlds.js"

const labels = {
  row_said: "{position} {known} {target} {p} {rank} {loss} {favourite} {favourite_p}", row_last: "last {known}",
  not_scored_control: "out", together_still: "same {count}", parted_at: "{position} {reference} {own}", parted_after: "after {same}", parted_end: "end {position}",
}
const header = { tokens: ["<s>", " a", " b"], texts: ["<s>", " a", " b"], kinds: ["control", "text", "control"], end: null, names: { 7: " x" }, labels }
const arrays = { log_p: [Math.log(0.25), Math.log(0.5)], ranks: [3, 1], favourites: [7, 7], favourite_p: [0.5, 0.5], scored: [1, 0] }

test("the target of a row is the token after it, and the last row has none", () => {
  assert.equal(rowOf(header, arrays, 0).target, " a")
  assert.equal(rowOf(header, arrays, 1).target, " b")
  assert.equal(rowOf(header, arrays, 2), null)
  assert.ok(Math.abs(rowOf(header, arrays, 0).loss - Math.log(4)) < 1e-12)
})

test("with the end of the text scored, the last row's target is that token", () => {
  const longer = { log_p: [0, 0, Math.log(0.1)], ranks: [1, 1, 2], favourites: [7, 7, 7], favourite_p: [1, 1, 0.5], scored: [1, 1, 1] }
  const row = rowOf({ ...header, end: "<end>" }, longer, 2)
  assert.deepEqual([row.target, row.kind], ["<end>", "end"])
})

test("a row is told as a sentence, with why it does not count", () => {
  assert.equal(spoken(header, rowOf(header, arrays, 0), 0), "0 <s> ·a 25.0% 3 1.39 ·x 50.0%")
  assert.ok(spoken(header, rowOf(header, arrays, 1), 1).endsWith(" out"))
  assert.equal(spoken(header, null, 2), "last ·b")
})

test("only the end of a long beginning is shown", () => {
  assert.deepEqual(context(["one", " two", " three"], 2, 4), { before: "… two", last: " three" })
  assert.deepEqual(context(["one", " two"], 1), { before: "one", last: " two" })
  assert.deepEqual(context(["one"], 0), { before: "", last: "one" })
})

test("keys stay inside the list", () => {
  assert.equal(keyed("ArrowDown", 4, 5), 4)
  assert.equal(keyed("ArrowUp", 3, 5), 2)
  assert.equal(keyed("Home", 3, 5), 0)
  assert.equal(keyed("End", 0, 5), 4)
  assert.equal(keyed("x", 0, 5), null)
})

test("losses are short and never a false zero", () => {
  assert.deepEqual([0, 0.26, 3, 21.35, 0.0004, 1e-7, NaN].map(nats), ["0.00", "0.26", "3.00", "21.4", "0.0004", "< 0.0001", "–"])
})

test("the rows of the mask fill the picture", () => {
  assert.deepEqual(band(3, 4, 200), { from: 150, size: 50 })
  assert.equal(band(0, 1000, 200).size, 1)
})

const place = (position, reference, own) => ({ position, reference, own, true_loss: 1, own_loss: 1, kl: 0, true_top: [], own_top: [] })
const worlds = { given: ["A"], places: [place(1, " b", " b"), place(2, " c", " d"), place(3, " e", " f")], parted: 2, labels }

test("both worlds have the prefix that they had", () => {
  assert.deepEqual(prefixes(worlds, 2), { truth: ["A", " b", " c"], own: ["A", " b", " d"] })
  assert.equal(startAt(worlds), 2)
  assert.equal(startAt({ ...worlds, parted: null }), 0)
})

test("where they part is said with both tokens", () => {
  assert.equal(partedText(worlds), "2 ·c ·d")
  assert.equal(partedText({ ...worlds, places: [...worlds.places, place(4, " g", " h")], parted: 4 }), "after 3")
  assert.equal(partedText({ ...worlds, parted: null }), "same 3")
  assert.equal(partedText({ ...worlds, places: [place(1, " b", null)], parted: 1 }), "end 1")
  assert.equal(partedText({ ...worlds, places: [] }), "")
})
