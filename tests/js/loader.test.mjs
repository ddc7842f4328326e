import assert from "node:assert/strict"
import { test } from "node:test"
import { decode } from "../../assets/js/lib/loader.js"
import { luminance, lookup, parse } from "../../assets/js/lib/theme.js"
import { visible } from "../../assets/js/lib/dom.js"

/** The writing side of core/components/base.py in a few lines. */
function message(header, floats) {
  const text = new TextEncoder().encode(
    JSON.stringify({ header, arrays: [{ type: "float32", shape: [1, floats.length], offset: 0, name: "x" }] }),
  )
  const start = Math.ceil((4 + text.length) / 8) * 8
  const bytes = new Uint8Array(start + 4 * floats.length)
  new DataView(bytes.buffer).setUint32(0, text.length, true)
  bytes.set(text, 4)
  bytes.set(new Uint8Array(new Float32Array(floats).buffer), start)
  return bytes
}

test("header and arrays come back, by number and by name", () => {
  const { header, arrays } = decode(message({ token: "<b>é🍕" }, [1.5, -2, 3]))
  assert.equal(header.token, "<b>é🍕")
  assert.deepEqual([...arrays[0]], [1.5, -2, 3])
  assert.equal(arrays.x, arrays[0])
  assert.deepEqual(arrays.x.shape, [1, 3])
})

test("a message at an odd offset of a larger buffer is read just the same", () => {
  const inner = message({}, [7, 8])
  const outer = new Uint8Array(inner.length + 3)
  outer.set(inner, 3)
  assert.deepEqual([...decode(outer.subarray(3)).arrays[0]], [7, 8])
})

test("colours are read in each way a browser writes them", () => {
  assert.deepEqual(parse("#fff"), [255, 255, 255])
  assert.deepEqual(parse("#0072b2"), [0, 114, 178])
  assert.deepEqual(parse("rgb(1, 2, 3)"), [1, 2, 3])
  assert.ok(luminance("#12161c") < 0.4 && luminance("#fcfaf6") > 0.4)
  const table = lookup(["#000000", "#ff0000"])
  assert.deepEqual([table[0], table[255]], [[0, 0, 0], [255, 0, 0]])
})

test("spaces, line breaks and tabs can be seen", () => {
  assert.equal(visible(" a\n\tb\r"), "·a↵⇥b␍")
})
