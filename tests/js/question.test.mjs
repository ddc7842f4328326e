import assert from "node:assert/strict"
import { test } from "node:test"
import { known, verdict } from "../../assets/js/lib/question.js"

const labels = { right: "Right.", wrong: "Not quite: {answer}.", shown: "It is {answer}." }
const asked = { id: "q", ask: "?", choices: ["a", "$& b"], answer: 1, why: "", given: null, revealed: false, labels }
const open = { id: "q", given: null, revealed: false }

test("a click here is kept until the page says the same", () => {
  const clicked = { id: "q", given: 0, revealed: true }
  assert.deepEqual(known(clicked, asked), clicked)
  assert.deepEqual(known(open, { ...asked, given: 1, revealed: true }), { id: "q", given: 1, revealed: true })
})

test("another question is open again", () => {
  assert.deepEqual(known({ id: "other", given: 0, revealed: true }, asked), open)
})

test("right, wrong and shown are told apart, the answer as it is written", () => {
  assert.deepEqual(verdict({ ...open, given: 1 }, asked), { name: "right", text: "Right." })
  assert.deepEqual(verdict({ ...open, given: 0 }, asked), { name: "wrong", text: "Not quite: $& b." })
  assert.deepEqual(verdict(open, { ...asked, choices: [], answer: 46080 }), { name: "shown", text: "It is 46,080." })
})
