import assert from "node:assert/strict"
import { test } from "node:test"
import { Generate } from "../../assets/js/generate.js"
import { bytes, duration, fill, marked, percent } from "../../assets/js/generate/format.js"
import { shade } from "../../assets/js/generate/ribbon.js"
import { sentence } from "../../assets/js/generate/sentence.js"
import { SETTINGS } from "../../assets/js/generate/settings.js"
import { distribution, scaleFor } from "../../assets/js/generate/view-model.js"
import { uniform } from "../../assets/js/lib/sampling.js"

const PLAIN = { temperature: 1, top_k: 0, top_p: 1, min_p: 0, repetition_penalty: 1, seed: 0 }
const LOGITS = Float32Array.from([0.5, 0.3, 0.15, 0.05].map(Math.log))

function header(changes = {}) {
  return {
    run: "x", prompt: 2, layers: 3, position: 1, answered: 0, notice: "", params: PLAIN,
    tokens: [[3, "Hi"], [0, " a"]], chosen: [],
    names: { ids: [0, 1, 2, 3], texts: [" a", " b", "\n", "Hi"] },
    state: { step: 0, ahead: 0, limit: 5, stop: null, kv_bytes: 10, kv_step_bytes: 5, pass_tokens: 2, pass_s: 0.05 },
    labels: new Proxy({}, { get: (_, key) => `${String(key)} {token} {next} {time}` }),
    ...changes,
  }
}

const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`)

test("bars and the rest together are the whole distribution", () => {
  const shown = distribution(header(), LOGITS, PLAIN, 2)
  near(shown.bars[0].probability, 0.5)
  near(shown.restMass, 0.2)
  assert.equal(shown.restCount, 2)
  near(shown.bars.reduce((sum, bar) => sum + bar.probability, shown.restMass), 1)
})

test("a candidate that a filter removed stays in its place and names the filter", () => {
  const shown = distribution(header(), LOGITS, { ...PLAIN, top_p: 0.6 }, 4)
  assert.deepEqual(shown.bars.map((bar) => bar.removed), ["", "", "top_p", "top_p"])
  near(shown.bars[2].model, 0.15)
  near(shown.bars[0].probability, 0.625)
  near(shown.keptMass, 0.8)
  assert.equal(shown.kept, 2)
})

test("the model's own mark does not move with the temperature while the bar does", () => {
  const cold = distribution(header(), LOGITS, { ...PLAIN, temperature: 0.5 }, 4)
  near(cold.bars[0].model, 0.5)
  near(cold.bars[0].probability, 0.25 / (0.25 + 0.09 + 0.0225 + 0.0025))
})

test("a repeated token sinks in the list under the repetition penalty", () => {
  const shown = distribution(header(), LOGITS, { ...PLAIN, repetition_penalty: 2 }, 4)
  assert.equal(shown.bars[0].id, 1)
  assert.equal(shown.bars[1].id, 0)
})

test("the needle falls into the segment of the token that is drawn", () => {
  for (let seed = 0; seed < 40; seed += 1) {
    const shown = distribution(header(), LOGITS, { ...PLAIN, seed }, 4)
    assert.equal(shown.u, uniform(seed, 0))
    const hit = shown.segments.find((part) => shown.u >= part.from && shown.u < part.to)
    assert.equal(hit.id, shown.drawnId)
  }
})

test("temperature zero is greedy: one bar left, the others marked so", () => {
  const shown = distribution(header(), LOGITS, { ...PLAIN, temperature: 0 }, 4)
  assert.equal(shown.greedy, true)
  assert.equal(shown.drawnId, 0)
  assert.deepEqual(shown.bars.map((bar) => bar.removed), ["", "greedy", "greedy", "greedy"])
  near(shown.entropyBits, 0)
})

test("after going back the recorded choice is marked", () => {
  const state = { ...header().state, ahead: 1 }
  const back = header({ state, tokens: [[3, "Hi"], [0, " a"], [2, "\n"]], chosen: [[0.15, 3, 1]] })
  const shown = distribution(back, LOGITS, PLAIN, 4)
  assert.equal(shown.recordedId, 2)
  assert.equal(shown.recordedForced, true)
  assert.deepEqual(shown.bars.filter((bar) => bar.recorded).map((bar) => bar.id), [2])
})

test("the sentence follows the step", () => {
  const start = (changes, before = false) => sentence(header(changes), before).title.split(" ")[0]
  const state = header().state
  const one = { tokens: [[3, "Hi"], [0, " a"], [2, "\n"]], chosen: [[0.1, 2, 0]] }
  assert.equal(start({}, true), "now_before")
  assert.equal(start({}), "now_prefill")
  assert.equal(start({ ...one, state: { ...state, step: 1 } }), "now_step")
  assert.equal(start({ ...one, chosen: [[0.1, 2, 1]], state: { ...state, step: 1 } }), "now_forced")
  assert.equal(start({ ...one, state: { ...state, ahead: 1 } }), "now_back")
  assert.equal(start({ ...one, state: { ...state, step: 1, stop: "end-of-text" } }), "now_stop_eos")
  assert.equal(start({ ...one, state: { ...state, step: 1, stop: "token-limit" } }), "now_stop_limit")
  assert.match(sentence(header({ ...one, state: { ...state, step: 1 } }), false).title, /“↵”/)
})

test("each setting's slider reads back the value it shows", () => {
  for (const { steps, toPosition, toValue, name } of SETTINGS) {
    for (let p = 0; p <= steps; p += 1) assert.equal(toPosition(toValue(p)), p, `${name} at ${p}`)
  }
})

test("numbers are written as people read them", () => {
  assert.deepEqual([0, 0.00001, 0.0004, 0.0312, 0.772, 0.99999, 1].map(percent),
    ["0%", "< 0.01%", "0.04%", "3.1%", "77.2%", "> 99.9%", "100%"])
  assert.deepEqual([512, 46080, 230400, 999_600, 5e6].map(bytes), ["512 bytes", "46.1 KB", "230 KB", "1 MB", "5 MB"])
  assert.deepEqual([5.25, 51.6, 1240].map(duration), ["5.3 ms", "52 ms", "1.24 s"])
})

test("white space and invisible characters are seen, everything else is literal", () => {
  assert.equal(marked(" a\n\t<b>\u200b\u00a0"), "·a↵⇥<b>U+200B⍽")
  assert.equal(fill("{a} {b} {a}", { a: "$&" }), "$& {b} $&")
})

test("shades and scales grow with the probability", () => {
  assert.deepEqual([0, 0.1, 0.5, 0.6, 0.95].map(shade), [0, 1, 2, 3, 4])
  assert.deepEqual([0.05, 0.3, 0.77, 1].map(scaleFor), [0.1, 0.4, 0.8, 1])
})

test("a step that the server lost in a restart is waited for no longer", () => {
  const waiting = (session) => {
    const page = Object.create(Generate.prototype)
    Object.assign(page, { header: header({ session: "a" }), params: PLAIN, waiting: 7, waitingFor: "next" })
    Object.assign(page, { paint() {}, playOn() {} })
    page.receive(header({ session }), LOGITS)
    return page.waiting
  }
  assert.equal(waiting("a"), 7)
  assert.equal(waiting("b"), 0)
})
