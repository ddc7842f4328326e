"""The Experts page's numbers against plain counting and plain torch that know nothing of the lessons."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from core.components.base import pack
from core.components.experts import read_numbers
from core.engine.model import LoadedModel
from core.engine.routing import Routing
from core.lessons.experts import (
    Choices,
    agreement,
    cell,
    choices_of,
    choices_of_text,
    load,
    load_evenness,
    router_error,
    shared_tokens,
    taken_by,
)
from core.lessons.experts_added import addition
from tests.unit import tiny

PROMPT = tiny.prompt_ids(9)
RULES = {
    "mixtral": "renormalised", "qwen2_moe": "as_is", "olmoe": "as_is", "qwen3_moe": "renormalised",
    "phimoe": "own", "granitemoe": "renormalised", "glm4_moe": "renormalised", "deepseek_v3": "scaled",
    "gpt_oss": "renormalised",
}  # fmt: skip


@pytest.fixture(scope="module", params=list(tiny.MOE))
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return LoadedModel(request.param, None, tiny.build(request.param), None)


def traced(model: LoadedModel, steps: int = 2) -> Any:
    tip = model.prefill(PROMPT)
    for token in range(5, 5 + steps):
        tip = model.step(tip, token)
    return model.trace(tip)


def choices(model: LoadedModel) -> Choices:
    found = choices_of(traced(model))
    assert found is not None
    return found


def by_hand(scores: list[list[list[float]]], indices: Any, weights: Any) -> Choices:
    """Choices with given probabilities: their logarithms are logits of that softmax."""
    logits = np.log(np.array(scores, dtype=np.float32))
    routing = Routing((3,), "softmax", logits, np.array(indices), np.array(weights, np.float32), None)
    return Choices(routing, routing.probabilities)


def test_each_familys_rule_is_recognised(model: LoadedModel) -> None:
    rule, factor = choices(model).weight_rule
    assert rule == RULES[model.name]
    if rule == "scaled":
        assert factor == pytest.approx(model.hf_model.config.routed_scaling_factor, rel=1e-4)


def test_the_router_check_is_small_and_notices_a_wrong_number(model: LoadedModel) -> None:
    trace = traced(model)
    found = choices_of(trace)
    assert found is not None
    layer = found.layers[-1]
    assert router_error(model, trace, found, layer) < 1e-4
    broken = traced(model)
    wrong = choices_of(broken)
    assert wrong is not None
    wrong.routing.logits[-1, 0, 0] += 0.5
    assert router_error(model, broken, wrong, layer) == pytest.approx(0.5, abs=1e-3)


def test_what_the_experts_added_is_what_the_layer_added(model: LoadedModel) -> None:
    trace = traced(model)
    found = choices_of(trace)
    assert found is not None
    layer, position = found.layers[-1], 4
    added = addition(model, trace, found, layer, position)
    assert added is not None and added.error <= 1e-5
    view = trace.layer(layer)
    assert added.total == pytest.approx(float(np.linalg.norm(view.mlp_added[position])), rel=1e-3)
    shared = [part for part in added.parts if part.expert is None]
    assert bool(shared) == (view.router.shared is not None)
    assert {p.expert for p in added.parts} - {None} == set(found.routing.indices[-1, position].tolist())


def test_the_effect_on_a_logit_is_the_last_norm_held_still() -> None:
    """In the last layer nothing comes after: taking a part away moves the logit by its effect, norm held."""
    model = LoadedModel("mixtral", None, tiny.build("mixtral"), None)
    trace = traced(model)
    found = choices_of(trace)
    assert found is not None
    last, position = found.layers[-1], trace.n_positions - 1
    added = addition(model, trace, found, last, position)
    assert added is not None
    stream = torch.from_numpy(trace.residual(model.shape.n_layers)[position])
    view = trace.layer(last)
    parts = {
        int(e): row for e, row in zip(view.router.indices[position], view.expert_out(position), strict=True)
    }
    norm: Any = model.roles.final_norm
    factor = norm.weight / torch.sqrt((stream**2).mean() + norm.variance_epsilon)
    head: Any = model.roles.lm_head
    for part in added.parts:
        assert part.expert is not None
        lost = (torch.from_numpy(parts[part.expert]) * factor) @ head.weight[added.token_id]
        assert part.effect == pytest.approx(float(lost.detach()), rel=1e-3, abs=1e-4)


def test_a_cell_names_the_chosen_ones_by_weight_and_the_next_in_line() -> None:
    found = by_hand([[[0.1, 0.5, 0.15, 0.25]]], [[[3, 1]]], [[[0.3, 0.7]]])
    here = cell(found, 3, 0)
    assert here is not None
    assert here.order == (1, 3, 2, 0) and here.runner_up == 2
    assert [expert for expert, _ in here.chosen] == [1, 3]
    assert here.probability(2) == pytest.approx(0.15)
    assert cell(found, 2, 0) is None


def test_probability_that_goes_nowhere_is_counted() -> None:
    found = by_hand([[[0.1, 0.5, 0.15, 0.25]]], [[[1, 3]]], [[[0.5, 0.25]]])
    assert found.weight_rule[0] == "as_is" and found.unused == pytest.approx(0.25, abs=1e-6)


def test_load_is_the_share_of_all_choices() -> None:
    indices = [[[0, 1], [0, 2], [0, 1]]]
    found = by_hand([[[0.25] * 4] * 3], indices, [[[0.5, 0.5]] * 3])
    assert load(found).tolist() == [[3 / 6, 2 / 6, 1 / 6, 0]]
    assert load(found, 1, 2).tolist() == [[0.5, 0, 0.5, 0]]
    assert load_evenness(np.array([[0.25] * 4, [1.0, 0, 0, 0]])) == pytest.approx([1, 0])
    assert taken_by(found, 3, 1).tolist() == [0.5, 0, 0.5] and not taken_by(found, 0, 1).any()


def test_loads_of_a_real_router_add_up(model: LoadedModel) -> None:
    found = choices(model)
    shares = load(found)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    total = found.n_positions * found.routing.indices.shape[-1]
    counts = [(found.routing.indices[0] == expert).sum() for expert in range(found.n_experts)]
    np.testing.assert_allclose(shares[0] * total, counts)


def test_words_in_common_pair_their_last_places() -> None:
    assert shared_tokens((5, 7, 5, 9), (9, 5, 5)) == [(2, 2), (3, 0)]
    assert shared_tokens((1,), (2,)) == []


def test_agreement_counts_shared_experts() -> None:
    a = by_hand([[[0.25] * 4] * 2], [[[0, 1], [2, 3]]], [[[0.5, 0.5]] * 2])
    assert agreement(a, 0, a, 0) == 1 and agreement(a, 0, a, 1) == 0
    b = by_hand([[[0.25] * 4]], [[[1, 3]]], [[[0.5, 0.5]]])
    assert agreement(a, 0, b, 0) == 0.5


def test_another_text_is_read_once_and_only_a_few_are_kept(model: LoadedModel) -> None:
    first = choices_of_text(model, (3, 4))
    assert choices_of_text(model, (3, 4)) is first
    for token in range(5, 14):
        choices_of_text(model, (token,))
    assert choices_of_text(model, (3, 4)) is not first


def test_only_whole_numbers_come_from_the_browser() -> None:
    assert read_numbers({"layer": 2, "position": -1, "expert": True}, "layer", "position", "expert") == {
        "layer": 2
    }
    assert read_numbers("x", "layer") == {}


def test_a_message_for_512_tokens_stays_small() -> None:
    shape = (28, 512, 8)
    arrays = {"p": np.zeros(shape, np.float32), "i": np.zeros((28, 512, 2), np.uint8)}
    assert len(pack(json.loads("{}"), arrays)) < 600_000
