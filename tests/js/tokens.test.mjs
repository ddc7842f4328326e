import assert from "node:assert/strict"
import { test } from "node:test"

import { fill, hex, readable } from "../../assets/js/tokens/bytes.js"
import { pairOf, symbolsAfter } from "../../assets/js/tokens/merge.js"

const bytes = (text) => [...new TextEncoder().encode(text)]
const letters = [..."lower"].map(bytes)
const merges = [[3, 0], [7, 3], [9, 0]] // lo, er, low

test("each merge joins the pair at its place and marks what it made", () => {
  const texts = (count) => symbolsAfter(letters, merges, count).map((s) => new TextDecoder().decode(Uint8Array.from(s.bytes)))
  assert.deepEqual(texts(0), ["l", "o", "w", "e", "r"])
  assert.deepEqual(texts(1), ["lo", "w", "e", "r"])
  assert.deepEqual(texts(2), ["lo", "w", "er"])
  assert.deepEqual(texts(3), ["low", "er"])
  assert.deepEqual(symbolsAfter(letters, merges, 2).map((s) => s.fresh), [false, false, true])
})

test("the pair of a merge is what stands there before it", () => {
  assert.deepEqual(pairOf(letters, merges, 2), { rank: 9, left: bytes("lo"), right: bytes("w") })
  assert.equal(pairOf(letters, merges, 3), null)
})

test("bytes that are no whole character, or cannot be seen, are shown as numbers", () => {
  assert.deepEqual(readable(bytes(" the\n")), { text: "·the↵" })
  assert.deepEqual(readable([0xf0, 0x9f]), { badges: ["F0", "9F"] })
  assert.deepEqual(readable(bytes("\u200b")), { badges: ["E2", "80", "8B"] })
  assert.deepEqual(readable([0]), { badges: ["00"] })
  assert.deepEqual(readable(bytes("\u200d")), { badges: ["E2", "80", "8D"] })
  assert.deepEqual(readable(bytes("👩\u200d👧")), { text: "👩\u200d👧" })
  assert.deepEqual(hex([0, 255]), ["00", "FF"])
})

test("places of a text are filled literally", () => {
  assert.equal(fill("{a} of {b}", { a: "<b>", b: 2 }), "<b> of 2")
})
