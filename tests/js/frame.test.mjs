import assert from "node:assert/strict"
import { test } from "node:test"
import { moveOf } from "../../assets/js/frame.js"
import { act, offer } from "../../assets/js/lib/keys.js"
import { arrive, isLeaving, leave } from "../../assets/js/lib/leaving.js"
import { moveList } from "../../assets/js/tour_bar.js"

test("keys mean a move; paging and Escape only while presenting", () => {
  assert.deepEqual(["p", "?", "3", "]", "[", "ArrowRight", "x", "0"].map((key) => moveOf(key, false)),
    ["present", "keys", "choice-3", "on", "back", "step", null, null])
  assert.deepEqual(["PageDown", "PageUp", "Escape"].map((key) => moveOf(key, false)), [null, null, null])
  assert.deepEqual(["PageDown", "PageUp", "Escape"].map((key) => moveOf(key, true)), ["on", "back", "present"])
})

test("a move is done while somebody offers it", () => {
  let done = 0
  assert.equal(act("stop-next"), false)
  offer("stop-next", () => done++)
  assert.equal(act("stop-next"), true)
  offer("stop-next", null)
  assert.equal(act("stop-next"), false)
  assert.equal(done, 1)
})

test("a page that is being left is quiet until the next one is here", () => {
  leave()
  assert.equal(isLeaving(), true)
  arrive()
  assert.equal(isLeaving(), false)
})

test("the bar offers what makes sense at the first stop, the last one, and on another page", () => {
  const shown = (header) => moveList(header).filter(([, , hidden]) => !hidden).map(([name, word]) => `${name}:${word}`)
  assert.deepEqual(shown({ waiting: "", first: true, last: false }), ["next:next", "leave:leave"])
  assert.deepEqual(shown({ waiting: "", first: false, last: true }), ["next:finish", "back:back", "leave:leave"])
  assert.deepEqual(shown({ waiting: "there", first: false, last: false }), ["stop:to_stop", "leave:leave"])
})
