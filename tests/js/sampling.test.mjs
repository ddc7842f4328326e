// The browser's pipeline gives what Python gives, on the shared fixture, and is fast enough to follow a slider.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  choose, cumulativeTop, pipeline, prepare, REMOVERS, spread, topIds, uniform,
} from "../../assets/js/lib/sampling.js";

const fixture = JSON.parse(readFileSync(new URL("../fixtures/sampling.json", import.meta.url), "utf8"));
const OFF = { temperature: 1, top_k: 0, top_p: 1, min_p: 0, repetition_penalty: 1 };

const close = (actual, expected, where, tolerance = 1e-12) =>
  assert.ok(Math.abs(actual - expected) <= tolerance, `${where}: ${actual} is not ${expected}`);

/** Repeatable logits with a bell-like spread. */
function someLogits(size, seed, scale = 3) {
  return Float32Array.from({ length: size }, (_, i) => {
    let sum = -6;
    for (let j = 0; j < 12; j++) sum += uniform(seed, i, j);
    return sum * scale;
  });
}

for (const { counters, value } of fixture.uniform) {
  test(`uniform(${counters}) is the same number as in Python`, () => assert.equal(uniform(...counters), value));
}

for (const expected of fixture.cases) {
  test(`fixture: ${expected.name}`, () => {
    const logits = expected.logits.map((value) => (value === null ? -Infinity : value));
    const result = pipeline(logits, expected.params, expected.previous_ids);
    expected.stages.forEach((stage, i) => {
      const ours = result.stages[i];
      assert.equal(ours.name, stage.name);
      assert.equal(ours.kept, stage.kept, `${stage.name} kept`);
      close(ours.mass, stage.mass, `${stage.name} mass`);
      stage.probabilities.forEach((p, id) => close(ours.probabilities[id], p, `${stage.name} of token ${id}`));
      close(spread(ours.probabilities).entropy, stage.entropy, `${stage.name} entropy`);
      close(spread(ours.probabilities).effectiveChoices, stage.effective_choices, "effective choices", 1e-9);
    });
    assert.deepEqual([...result.removedBy].map((code) => REMOVERS[code]), expected.removed_by);
    const { ids, cumulative } = cumulativeTop(result, logits.length);
    assert.deepEqual([...ids], expected.order.slice(0, ids.length));
    cumulative.forEach((sum, i) => close(sum, expected.cumulative[i], `cumulative ${i}`));
    for (const draw of expected.draws) {
      const ours = choose(result, draw.u);
      assert.equal(ours.tokenId, draw.token_id, `u = ${draw.u}`);
      close(ours.lower, draw.lower, "lower");
      close(ours.upper, draw.upper, "upper");
    }
  });
}

test("what is prepared once serves every setting and is never written to", () => {
  const logits = someLogits(500, 3);
  logits[7] = -Infinity;
  const prepared = prepare(logits);
  const settings = [{ ...OFF, temperature: 0 }, { ...OFF, top_k: 5, repetition_penalty: 1.3 }, { ...OFF, top_p: 0.5, min_p: 0.1 }, OFF];
  for (const params of [...settings, ...settings]) {
    assert.deepEqual(pipeline(logits, params, [1, 2], prepared), pipeline(logits, params, [1, 2]));
  }
});

test("every draw falls where the sorted cumulative line says", () => {
  const logits = someLogits(2000, 4).map((value) => Math.round(value * 4) / 4); // many ties
  const result = pipeline(logits, { ...OFF, temperature: 1.5, top_p: 0.97 });
  const { ids, cumulative } = cumulativeTop(result, 2000);
  for (let i = 0; i < 500; i++) {
    const u = uniform(8, i);
    assert.equal(choose(result, u).tokenId, ids[cumulative.findIndex((sum) => sum > u)]);
  }
});

test("top-p on many ties keeps what a full sort keeps", () => {
  const logits = someLogits(3000, 5).map((value) => Math.round(value * 2) / 2);
  for (const p of [0, 0.3, 0.9, 0.9999]) {
    const whole = pipeline(logits, OFF).probabilities;
    const order = [...whole.keys()].sort((a, b) => whole[b] - whole[a] || a - b);
    const kept = new Set();
    let mass = 0;
    for (const id of order) {
      kept.add(id);
      mass += whole[id];
      if (mass >= p - 1e-9) break;
    }
    const { removedBy } = pipeline(logits, { ...OFF, top_p: p });
    assert.deepEqual(new Set([...removedBy.keys()].filter((id) => removedBy[id] === 0)), kept, `p = ${p}`);
  }
});

test("topIds takes ties by id and no more than there are", () => {
  assert.deepEqual([...topIds([1, 5, 1, 5, 1], 4)], [1, 3, 0, 2]);
  assert.deepEqual([...topIds([2, 1], 9)], [0, 1]);
  assert.deepEqual([...topIds([2, 1], 0)], []);
});

test("numbers that are no distribution are refused", () => {
  for (const logits of [[NaN, 1], [Infinity, 1], [-Infinity, -Infinity], []]) {
    assert.throws(() => pipeline(logits, OFF), RangeError);
  }
  assert.throws(() => choose(pipeline([1, 2], OFF), 1), RangeError);
  assert.throws(() => uniform(-1, 0), RangeError);
});

test("a whole vocabulary costs a few exponentials per token, not a sort", () => {
  const logits = someLogits(49152, 1);
  const settings = { ...OFF, temperature: 0.8, top_k: 500, top_p: 0.95, min_p: 0.01, repetition_penalty: 1.1 };
  const best = (work) => {
    let least = Infinity;
    for (let i = 0; i < 30; i++) {
      const began = performance.now();
      work();
      least = Math.min(least, performance.now() - began);
    }
    return least;
  };
  const ours = best(() => choose(pipeline(logits, settings, [1, 2, 3]), 0.5));
  const sorting = best(() => Float64Array.from(logits).sort());
  // A ratio, because machines differ: measured near 1; a comparator sort of the ids is above 6.
  assert.ok(ours < 4 * sorting, `${ours.toFixed(2)} ms against ${sorting.toFixed(2)} ms for one plain sort`);
});
