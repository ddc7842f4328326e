"""The laboratory's numbers against independent computations, and the fixture that holds the browser to them.

``python -m tests.unit.test_sampling_lab`` writes the fixture anew.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.components.sampling_lab import read_params, read_place
from core.decoding.params import SamplingParams
from core.decoding.randomness import uniform
from core.decoding.sampling import Pipeline, choose, draw_counts, pipeline
from core.lessons.sampling_lab import (
    coldest_error,
    place,
    renormalisation_error,
    stage_numbers,
    total_variation,
    worked,
)
from tests.unit.test_sampling_fixture import assert_same

FIXTURE = Path(__file__).parents[1] / "fixtures" / "sampling_lab.json"
SETTINGS = {
    "as they come": SamplingParams(),
    "all on": SamplingParams(1.3, 40, 0.9, 0.02, 1.4, 11),
    "flat, nothing cut": SamplingParams(3.0, 0, 1.0, 0.0, 1.0, 5),
    "greedy": SamplingParams(0.0),
}
SIZE, DRAWS, STEP = 3000, 2000, 4
PREVIOUS = [3, 14, 15, 92, 65]


def some_logits() -> np.ndarray:
    """(SIZE,) logits from the counters, rounded so that many tie: the same numbers in the browser's test."""
    return np.array([round(16 * sum(uniform(3, i, j) - 0.5 for j in range(4))) / 8 for i in range(SIZE)])


def made(params: SamplingParams) -> Pipeline:
    return pipeline(some_logits(), params, PREVIOUS)


def build() -> dict[str, Any]:
    cases = []
    for name, params in SETTINGS.items():
        result = made(params)
        counts = draw_counts(result, DRAWS, params.seed, STEP)
        cases.append(
            {
                "name": name,
                "params": params.to_json(),
                "stages": [stage_numbers(stage) for stage in result.stages],
                "counts": {str(i): int(counts[i]) for i in np.flatnonzero(counts)},
                "distance": total_variation(result, DRAWS, params.seed, STEP),
            }
        )
    return {"size": SIZE, "draws": DRAWS, "step": STEP, "previous": PREVIOUS, "cases": cases}


def test_the_fixture_is_what_the_code_gives() -> None:
    assert_same(build(), json.loads(FIXTURE.read_text(encoding="utf-8")), "fixture")


@pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)
def test_many_draws_are_single_draws_counted(params: SamplingParams) -> None:
    result = made(params)
    singly = [choose(result, uniform(params.seed, STEP, i)).token_id for i in range(300)]
    assert np.array_equal(np.bincount(singly, minlength=SIZE), draw_counts(result, 300, params.seed, STEP))


@pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)
def test_one_softmax_over_the_kept_tokens_is_the_final_distribution(params: SamplingParams) -> None:
    result = made(params)
    assert renormalisation_error(result) < 1e-12
    broken = Pipeline(params, result.previous_ids, result.stages, np.roll(result.removed_by, 1))
    assert params.temperature == 3.0 or renormalisation_error(broken) > 1e-6  # where nothing is cut all stay


def test_the_formula_works_out_one_token_by_hand() -> None:
    logits = np.log([0.5, 0.3, 0.15, 0.05])
    params = SamplingParams(temperature=0.5, top_p=0.9, repetition_penalty=1.0)
    numbers = worked(pipeline(logits, params))
    assert numbers is not None and numbers.token_id == 1
    powers = [0.5**2, 0.3**2, 0.15**2, 0.05**2]  # p to the power of 1/T
    assert numbers.tempered == pytest.approx(0.3**2 / sum(powers))
    assert numbers.mass == pytest.approx((0.5**2 + 0.3**2) / sum(powers))
    assert numbers.final == pytest.approx(0.3**2 / (0.5**2 + 0.3**2))
    assert numbers.above / numbers.below == pytest.approx(numbers.tempered)


def test_a_lonely_favourite_is_worked_out_itself_and_greedy_is_not() -> None:
    logits = np.array([0.0, 3.0, 1.0])
    alone = worked(pipeline(logits, SamplingParams(top_p=0.0)))
    assert alone is not None and alone.token_id == 1 and alone.final == pytest.approx(1.0)
    assert worked(pipeline(logits, SamplingParams(temperature=0.0))) is None


def test_low_temperatures_come_near_to_greedy() -> None:
    result = pipeline(np.array([1.0, 0.5, 0.0]), SamplingParams())
    expected = 1 - 1 / (1 + math.exp(-50) + math.exp(-100))
    assert coldest_error(result) == pytest.approx(expected, abs=1e-15)
    tie = pipeline(np.array([1.0, 1.0]), SamplingParams())
    assert coldest_error(tie) == pytest.approx(0.5)


def test_a_place_inside_the_prompt_has_no_draw_and_one_after_it_has_its_step() -> None:
    run = SimpleNamespace(prompt_ids=(5, 6, 7), steps=("a", "b"))
    inside = place(run, 1)
    assert (inside.prefix, inside.step, inside.given, inside.ahead) == (2, 0, True, 0)
    last = place(run, 2)
    assert (last.prefix, last.step, last.given, last.ahead) == (3, 0, False, 2)
    newest = place(run, 4)
    assert (newest.step, newest.given, newest.ahead) == (2, False, 0)


def test_what_the_browser_sends_is_checked() -> None:
    good = SamplingParams(0.5, 3, 0.9, 0.1, 1.2, 7)
    assert read_params(good.to_json()) == good
    bad = [None, "x", {"temperature": "hot"}, {"temperature": -1}, {"top_p": 2}, {"what": 1}, {"seed": 1e400}]
    assert [read_params(payload) for payload in bad] == [None] * len(bad)
    assert read_place({"position": 2}, 3) == 2
    assert [read_place(p, 3) for p in ({"position": 3}, {"position": True}, {"position": "1"}, None)] == [
        None
    ] * 4


if __name__ == "__main__":
    FIXTURE.write_text(json.dumps(build(), indent=1) + "\n", encoding="utf-8")
