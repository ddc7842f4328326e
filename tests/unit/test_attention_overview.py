"""The overview of all heads: pictures and measures against loops over the layer views' own weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from core.engine.model import LoadedModel
from core.lessons.attention_overview import MASKED, MEASURES, block_size, is_complete, overview
from tests.unit import tiny

REPEATED = [5, 9, 30, 5, 9, 31, 5, 9]


def load(family: str) -> LoadedModel:
    overrides = {} if family == "gpt2" else {"max_position_embeddings": 512}
    return LoadedModel(family, None, tiny.build(family, **overrides), None)


@pytest.fixture(scope="module", params=["llama", "gpt2", "gemma3_text", "gpt_oss"])
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return load(request.param)


def traced(model: LoadedModel, ids: list[int], steps: int) -> Any:
    tip = model.prefill(ids[: len(ids) - steps])
    for token in ids[len(ids) - steps :]:
        tip = model.step(tip, token)
    return model.trace(tip)


def full(model: LoadedModel, trace: Any, budget_s: float = math.inf) -> Any:
    return overview(trace, model.shape.n_layers, model.shape.n_heads, budget_s)


def expected_measures(weights: np.ndarray, mask: np.ndarray, ids: list[int]) -> dict[str, float]:
    """Row by row, as the definitions read."""
    rows: dict[str, list[float]] = {name: [] for name in MEASURES}
    for i in range(len(ids)):
        if i >= 2:
            rows["previous"].append(weights[i, i - 1])
            rows["first"].append(weights[i, 0])
            rows["itself"].append(weights[i, i])
        same = [j for j in range(i) if ids[j] == ids[i]]
        if same:
            rows["same"].append(sum(weights[i, j] for j in same))
        after = [j + 1 for j in same if j + 1 < i]
        if after:
            rows["induction"].append(sum(weights[i, j] for j in after))
        if i >= 1:
            shares = weights[i] / weights[i].sum()
            bits = -sum(p * math.log2(p) for p in shares if p > 0)
            choices = mask[i].sum()
            rows["spread"].append(bits / math.log2(choices) if choices > 1 else 0.0)
    return {name: float(np.mean(values)) if values else math.nan for name, values in rows.items()}


def test_measures_are_what_their_definitions_say(model: LoadedModel) -> None:
    trace = traced(model, REPEATED, steps=2)
    found = full(model, trace)
    for layer in range(model.shape.n_layers):
        view = trace.layer(layer)
        for head in range(model.shape.n_heads):
            expected = expected_measures(view.weights(head), view.mask, REPEATED)
            np.testing.assert_allclose(found.measures[layer, head], list(expected.values()), atol=2e-5)


def test_pictures_are_the_weights_and_later_tokens_are_outside_the_scale(model: LoadedModel) -> None:
    trace = traced(model, REPEATED, steps=3)
    found = full(model, trace)
    later = np.triu(np.ones((len(REPEATED),) * 2, dtype=bool), 1)
    for layer in range(model.shape.n_layers):
        for head in range(model.shape.n_heads):
            picture = found.cells[layer, head]
            assert (picture[later] == MASKED).all()
            weights = trace.layer(layer).weights(head)
            np.testing.assert_allclose((picture[~later] / 254.0) ** 2, weights[~later], atol=0.005)


@pytest.mark.parametrize(("length", "steps"), [(40, 3), (140, 2)])
def test_a_long_text_is_pooled_to_the_largest_weight_of_each_block(length: int, steps: int) -> None:
    model = load("llama")
    ids = tiny.prompt_ids(length)
    trace = traced(model, ids, steps)
    found = full(model, trace)
    block, size = found.block, found.cells.shape[-1]
    assert size <= 32 and block == block_size(length, 32)
    prompt = length - steps
    looked_at = [i for i in range(length) if i >= prompt or i % found.stride == 0]
    assert found.stride == (1 if length == 40 else 2)
    for layer, head in ((0, 0), (2, 5)):
        weights = trace.layer(layer).weights(head)
        largest = np.zeros((size, size))
        for i in looked_at:
            for j in range(i + 1):
                cell = i // block, j // block
                largest[cell] = max(largest[cell], weights[i, j])
        seen = np.tril(np.ones((size, size), dtype=bool))
        np.testing.assert_allclose((found.cells[layer, head][seen] / 254.0) ** 2, largest[seen], atol=0.005)


def test_one_more_token_costs_only_its_own_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load("llama")
    tip = model.prefill(REPEATED)
    full(model, model.trace(tip))
    longer = model.trace(model.step(tip, 7))
    asked: list[Any] = []
    real = longer.record
    monkeypatch.setattr(longer, "record", lambda of, layer: asked.append((of, layer)) or real(of, layer))
    full(model, longer)
    assert [of for of, _ in asked] == [longer.tip] * model.shape.n_layers
    full(model, longer)
    assert len(asked) == model.shape.n_layers


def test_it_stops_when_its_time_is_over_and_goes_on_later() -> None:
    model = load("llama")
    trace = traced(model, REPEATED, steps=0)
    counts = [full(model, trace, budget_s=0.0).done for _ in range(4)]
    assert counts == [1, 2, 3, 3] and is_complete(trace, model.shape.n_layers)


def test_one_token_alone_has_a_picture_and_no_measures() -> None:
    model = load("llama")
    found = full(model, traced(model, [5], steps=0))
    assert found.cells.shape[-1] == 1 and (found.cells == 254).all()
    assert np.isnan(found.measures).all() and not found.rows.any()


def test_the_triangle_holds_each_cell_on_and_below_the_diagonal_once() -> None:
    model = load("llama")
    found = full(model, traced(model, REPEATED, steps=0))
    packed = found.triangle()
    assert packed.shape[-1] == 8 * 9 // 2
    assert packed[1, 2, 0] == found.cells[1, 2, 0, 0] and packed[1, 2, 4] == found.cells[1, 2, 2, 1]
