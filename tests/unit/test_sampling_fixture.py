"""The fixture that holds Python and the browser to the same numbers, and transformers to both.

``python -m tests.unit.test_sampling_fixture`` writes it anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from core.decoding.sampling import REMOVERS, SamplingParams, choose, pipeline, uniform

FIXTURE = Path(__file__).parents[1] / "fixtures" / "sampling.json"
COUNTERS = [
    (0, 0, 0),
    (0, 0, 1),
    (0, 1, 0),
    (1, 0, 0),
    (42, 7, 3),
    (2**32, 5, 0),
    (2**53 - 1, 2**32 - 1, 9999),
]


def cases() -> list[tuple[str, list[float], SamplingParams, list[int]]]:
    """(name, logits, params, previous ids): the edge rules and a few ordinary settings."""
    rng = np.random.default_rng(7)
    some = np.round(rng.normal(size=48) * 3, 3).tolist()
    split = np.log([0.5, 0.3, 0.2]).tolist()
    ties = [1.0, 2.0, 2.0, 0.5, 2.0, 1.0]

    def settings(**changed: Any) -> SamplingParams:
        off: dict[str, Any] = {"temperature": 1.0, "top_k": 0, "top_p": 1.0}
        return SamplingParams(**(off | changed))

    return [
        ("nothing on", some, settings(), []),
        ("defaults", some, SamplingParams(), [3, 5, 5]),
        ("everything on", some, SamplingParams(1.4, 20, 0.9, 0.05, 1.3, 9), list(range(0, 48, 3))),
        ("greedy", some, settings(temperature=0), []),
        ("integer temperature", some, settings(temperature=2), []),
        ("low temperature", some, settings(temperature=0.05), []),
        ("top-k beyond the vocabulary", some, settings(top_k=1000), []),
        ("top-p zero keeps one", some, settings(top_p=0.0), []),
        ("the token that crosses p is kept", split, settings(top_p=0.6), []),
        ("mass that reaches p exactly is enough", split, settings(top_p=0.8), []),
        ("top-k keeps ties with the k-th", ties, settings(top_k=2), []),
        ("top-p takes ties by id", ties, settings(top_p=0.4), []),
        ("greedy takes the first of ties", ties, settings(temperature=0), []),
        ("min-p one keeps the highest", ties, settings(min_p=1.0), []),
        ("penalty below one", some, settings(repetition_penalty=0.8), [1, 2, 99]),
        ("impossible tokens", [1.0, float("-inf"), 0.0, float("-inf")], settings(top_p=0.99), [1]),
    ]


def build() -> dict[str, Any]:
    """What Python's own code gives for every case."""
    return {
        "uniform": [{"counters": list(c), "value": uniform(*c)} for c in COUNTERS],
        "cases": [_case(*case) for case in cases()],
    }


def _case(name: str, logits: list[float], params: SamplingParams, previous: list[int]) -> dict[str, Any]:
    result = pipeline(np.array(logits), params, previous)
    draws = [choose(result, u) for u in (0.0, 0.25, 0.5, 0.9, 0.999999)]
    return {
        "name": name,
        "logits": [None if value == float("-inf") else value for value in logits],  # JSON has no infinity
        "params": params.to_json(),
        "previous_ids": previous,
        "stages": [
            {
                "name": stage.name,
                "probabilities": stage.probabilities.tolist(),
                "mass": stage.mass,
                "kept": stage.kept,
                "entropy": stage.entropy,
                "effective_choices": stage.effective_choices,
            }
            for stage in result.stages
        ],
        "removed_by": [REMOVERS[code] for code in result.removed_by],
        "order": result.order.tolist(),
        "cumulative": result.cumulative.tolist(),
        "draws": [{"u": d.u, "token_id": d.token_id, "lower": d.lower, "upper": d.upper} for d in draws],
    }


def assert_same(ours: Any, stored: Any, where: str) -> None:
    if isinstance(ours, dict):
        assert set(ours) == set(stored), where
        for key in ours:
            assert_same(ours[key], stored[key], f"{where}.{key}")
    elif isinstance(ours, list):
        assert len(ours) == len(stored), where
        for index, (a, b) in enumerate(zip(ours, stored, strict=True)):
            assert_same(a, b, f"{where}[{index}]")
    elif isinstance(ours, float):
        assert ours == pytest.approx(stored, rel=1e-12, abs=1e-15), where
    else:
        assert ours == stored, where


def test_the_fixture_is_what_the_code_gives() -> None:
    assert_same(build(), json.loads(FIXTURE.read_text(encoding="utf-8")), "fixture")


def decided_by_transformers() -> list[Any]:
    """Every case but the two where its result hangs on its sort or on the last digit of a sum."""
    stored = json.loads(FIXTURE.read_text(encoding="utf-8"))["cases"]
    undecided = ("top-p takes ties by id", "mass that reaches p exactly is enough")
    return [pytest.param(case, id=case["name"]) for case in stored if case["name"] not in undecided]


@pytest.mark.parametrize("case", decided_by_transformers())
def test_the_fixture_is_what_transformers_gives(case: dict[str, Any]) -> None:
    theirs = transformers_probabilities(
        [float("-inf") if value is None else value for value in case["logits"]],
        SamplingParams.from_json(case["params"]),
        case["previous_ids"],
    )
    np.testing.assert_allclose(case["stages"][-1]["probabilities"], theirs, atol=1e-12)


def transformers_probabilities(
    logits: list[float], params: SamplingParams, previous: list[int]
) -> np.ndarray:
    """The final probabilities by transformers' processors in float64; greedy is not one of its warpers."""
    scores = torch.tensor([logits], dtype=torch.float64)
    if params.greedy:
        return torch.nn.functional.one_hot(scores.argmax(-1), len(logits))[0].numpy()
    chain = LogitsProcessorList()
    if params.repetition_penalty != 1 and previous:
        chain.append(RepetitionPenaltyLogitsProcessor(float(params.repetition_penalty)))
    chain.append(TemperatureLogitsWarper(float(params.temperature)))
    if params.top_k:
        chain.append(TopKLogitsWarper(params.top_k))
    if params.top_p < 1:
        chain.append(TopPLogitsWarper(params.top_p))
    if params.min_p > 0:
        chain.append(MinPLogitsWarper(params.min_p))
    return chain(torch.tensor([previous], dtype=torch.long), scores).softmax(-1)[0].numpy()


if __name__ == "__main__":
    FIXTURE.write_text(json.dumps(build(), indent=1) + "\n", encoding="utf-8")
