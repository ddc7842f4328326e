import assert from "node:assert/strict"
import test from "node:test"
import { chanceOf, choices, moment, score, start, waits } from "../../assets/js/generate/guess.js"

const header = (changes = {}, state = {}) => ({
  run: "x", prompt: 1, tokens: [[3, "Hi"], [7, " a"], [9, " b"]],
  names: { ids: [40, 2, 31, 5, 8, 1], texts: ["a", "b", "c", "d", "e", "f"] },
  state: { step: 1, ahead: 0, stop: null, ...state }, ...changes,
})

test("off, nothing waits", () => {
  assert.equal(waits(start(), header()), false)
})

test("on, a step waits until it was guessed, and the next one waits anew", () => {
  const guessing = { ...start(), on: true }
  assert.equal(waits(guessing, header()), true)
  guessing.told.set(moment(header()), null)
  assert.equal(waits(guessing, header()), false)
  assert.equal(waits(guessing, header({}, { step: 2 })), true)
  assert.equal(waits(guessing, header({ run: "y" })), true)
})

test("what stands in the text already, or ends it, is not asked", () => {
  const guessing = { ...start(), on: true }
  assert.equal(waits(guessing, header({}, { ahead: 1 })), false)
  assert.equal(waits(guessing, header({}, { stop: "end-of-text" })), false)
})

test("the choices are the likeliest tokens in the order of their ids, and the message is not changed", () => {
  const message = header()
  assert.deepEqual(choices(message), [2, 5, 8, 31, 40])
  assert.equal(message.names.ids[0], 40)
})

test("the score counts guesses alone: favourites and the mean rank", () => {
  const guessing = { on: true, told: new Map([["a", 1], ["b", 4], ["c", null]]) }
  assert.deepEqual(score(guessing), { guessed: 2, right: 1, rank: 2.5 })
  assert.deepEqual(score(start()), { guessed: 0, right: 0, rank: 0 })
})

test("a chance is taken over the whole vocabulary", () => {
  const logits = Float32Array.from([0.5, 0.3, 0.2].map((p) => Math.log(p) + 7))
  assert.ok(Math.abs(chanceOf(logits, 1) - 0.3) < 1e-6)
})
