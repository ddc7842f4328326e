import assert from "node:assert/strict"
import { test } from "node:test"
import { onReturn } from "../../assets/js/frame.js"
import { ask, written } from "../../assets/js/lib/line.js"

const names = ["prompt", "step", "layer"]

test("an answer's address replaces the link's own values and leaves others alone", () => {
  const now = "http://host/generate?prompt=a+b&step=1&tour=3"
  const next = new URL(written(now, { names, query: { prompt: "a b", layer: "2" } }))
  assert.deepEqual(Object.fromEntries(next.searchParams), { prompt: "a b", tour: "3", layer: "2" })
  assert.equal(next.pathname, "/generate")
})

test("the same values give the same address, however they were written", () => {
  const nothing = { names: [], query: {} }
  const now = "http://host/generate?prompt=a%20b"
  assert.equal(written(now, { names, query: { prompt: "a b" } }), written(now, nothing))
})

test("a line without an answer or a connection leads back to the usual way", async () => {
  globalThis.document = { baseURI: "http://host/generate" }
  const asked = []
  globalThis.fetch = async (url, options) => (asked.push([String(url), options.body]), { ok: true, status: 204 })
  assert.equal(await ask({ token: "abc", event: "act", at: 1 }, { kind: "next" }), null)
  assert.deepEqual(asked, [["http://host/line/abc", '{"kind":"next"}']])
  globalThis.fetch = async () => { throw new TypeError("offline") }
  assert.equal(await ask({ token: "abc", event: "act", at: 1 }, 1), null)
})

test("the page is drawn again once the server is back, and only then", () => {
  const app = { dataset: { testConnectionState: "CONNECTED" } }
  globalThis.document = { querySelector: () => app }
  let changed = () => {}
  globalThis.MutationObserver = class {
    constructor(seen) { changed = seen }
    observe() {}
  }
  let drawn = 0
  onReturn(() => drawn++)
  for (const [state, times] of [["CONNECTED", 0], ["PINGING_SERVER", 0], ["CONNECTED", 1], ["CONNECTED", 1]]) {
    app.dataset.testConnectionState = state
    changed()
    assert.equal(drawn, times)
  }
})
