"""The Attention page's numbers against plain torch and numpy that know nothing of the lessons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.engine.model import LoadedModel
from core.lessons.attention import (
    added_by_heads,
    contributions,
    first_keys,
    frozen_norm,
    group_of,
    head_facts,
    heads_sum_error,
    softmax,
    weighted_sum_error,
)
from core.lessons.attention_experiment import SwitchedOff, compare, comparison
from tests.unit import tiny

PROMPT = tiny.prompt_ids(9)
FAMILIES = ["llama", "gpt2", "gemma3_text", "qwen3", "olmo2", "granite", "mixtral", "olmo"]


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return LoadedModel(request.param, None, tiny.build(request.param), None)


def traced(model: LoadedModel, steps: int = 2) -> Any:
    tip = model.prefill(PROMPT)
    for token in range(5, 5 + steps):
        tip = model.step(tip, token)
    return model.trace(tip)


def test_the_head_alone_gives_the_attention_modules_output(model: LoadedModel) -> None:
    """Softmax over the keys that ``first_key`` allows, with torch: the same as the module's own output."""
    view = traced(model).layer(1)
    for head in range(model.shape.n_heads):
        facts = head_facts(view, head)
        scores = torch.from_numpy(facts.q @ facts.k.T) * facts.scale
        if facts.softcap is not None:
            scores = torch.tanh(scores / facts.softcap) * facts.softcap
        total = len(scores)
        column = torch.arange(total)[None]
        hidden = (column > torch.arange(total)[:, None]) | (
            column < torch.from_numpy(facts.first_key)[:, None]
        )
        weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
        np.testing.assert_allclose(weights.numpy() @ facts.v, view.head_out(head), atol=2e-5)


def test_the_check_lines_are_small_and_notice_a_wrong_value(model: LoadedModel) -> None:
    trace = traced(model)
    view = trace.layer(1)
    assert weighted_sum_error(trace, view, 2) < 1e-4
    assert heads_sum_error(trace, view) < 1e-4
    wrong = model.trace(model.prefill(PROMPT))
    spoiled = wrong.layer(1)
    spoiled.v = spoiled.v + 1
    assert weighted_sum_error(wrong, spoiled, 2) > 0.1


def test_all_heads_together_add_what_attention_added(model: LoadedModel) -> None:
    view = traced(model).layer(1)
    bias = 0 if view.out_bias is None else view.out_bias  # it belongs to no head
    for position in (0, 4, view.n_positions - 1):
        total = added_by_heads(view, position).sum(axis=0)
        np.testing.assert_allclose(total + bias, view.attn_added[position], atol=2e-5)


def test_direct_effects_are_what_the_frozen_norm_and_the_lm_head_make_of_the_vector(
    model: LoadedModel,
) -> None:
    """Taking the vector out of the last residual, statistics held still, moves the score by the effect."""
    trace = traced(model)
    view, position = trace.layer(1), trace.n_positions - 1
    found = contributions(model, trace, view, position)
    assert found.effects is not None
    norm: Any = model.roles.final_norm
    x = torch.from_numpy(trace.residual(model.shape.n_layers)[position]).double()
    gain = norm.weight.detach().double() if getattr(norm, "weight", None) is not None else torch.ones(len(x))
    if model.name == "gemma3_text":
        gain = 1 + gain
    bias = getattr(norm, "bias", None)
    shift = bias.detach().double() if bias is not None else 0.0
    mean = x.mean() if model.shape.norm == "layer" else 0.0
    size = torch.sqrt(((x - mean) ** 2).mean() + model.shape.norm_eps)

    def score(vector: torch.Tensor) -> np.ndarray:
        offset = vector.mean() if model.shape.norm == "layer" else 0.0
        normed = (vector - offset) / size * gain + shift
        return model.lm_head_rows(found.token_ids).astype(np.float64) @ normed.numpy()

    assert (
        np.abs(
            norm(x.float()[None])[0].detach().numpy() @ model.lm_head_rows(found.token_ids).T - score(x)
        ).max()
        < 1e-3
    )
    for head, added in enumerate(added_by_heads(view, position)):
        moved = score(x) - score(x - torch.from_numpy(added).double())
        np.testing.assert_allclose(found.effects[head], moved, atol=1e-4)


def test_the_likeliest_tokens_are_those_of_the_position(model: LoadedModel) -> None:
    trace = traced(model)
    for position in (3, trace.n_positions - 1):
        found = contributions(model, trace, trace.layer(0), position)
        logits = torch.from_numpy(trace.logits_at(position)).double()
        expected = torch.softmax(logits, dim=-1)[list(found.token_ids)].numpy()
        np.testing.assert_allclose(found.probabilities, expected, atol=1e-5)
        assert found.token_ids[0] == int(logits.argmax())
        np.testing.assert_allclose(found.residual, np.linalg.norm(trace.residual(0)[position]), rtol=1e-5)


def test_an_unknown_norm_gives_no_effect_rather_than_a_wrong_one() -> None:
    model = LoadedModel("llama", None, tiny.build("llama"), None)
    trace = traced(model)
    residual = trace.residual(model.shape.n_layers)[4]
    assert frozen_norm(model, residual, trace.final_norm()[4]) is not None
    assert frozen_norm(model, residual, trace.final_norm()[4] + 1) is None


def test_a_mask_with_holes_is_refused() -> None:
    assert first_keys(np.tril(np.ones((3, 3), dtype=bool))).tolist() == [0, 0, 0]
    holes = np.tril(np.ones((3, 3), dtype=bool))
    holes[2, 1] = False
    with pytest.raises(ValueError, match="window"):
        first_keys(holes)


def test_query_heads_share_key_value_heads_in_order() -> None:
    assert group_of(9, 3) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert group_of(4, 4) == [0, 1, 2, 3]


# -- experiments -----------------------------------------------------------------------------------------


def test_an_experiment_changes_the_distribution_and_never_the_run(model: LoadedModel) -> None:
    trace = traced(model)
    logits = trace.tip.logits.copy()
    off = SwitchedOff(frozenset({(1, 0)}), frozenset({0}))
    found = compare(model, trace, off)
    assert np.array_equal(trace.tip.logits, logits) and trace.tip.experiment is None
    np.testing.assert_allclose(found.before, softmax(logits)[list(found.token_ids)])
    assert found.moved > 1e-4
    assert compare(model, trace, off) is found


def test_a_head_off_is_the_model_with_that_heads_columns_of_w_o_at_zero() -> None:
    model = LoadedModel("llama", None, tiny.build("llama"), None)
    trace = traced(model, steps=0)
    found = compare(model, trace, SwitchedOff(frozenset({(1, 2)})))
    other: Any = tiny.build("llama")
    with torch.no_grad():
        other.model.layers[1].self_attn.o_proj.weight[:, 2 * 8 : 3 * 8] = 0
        logits = other(torch.tensor([PROMPT])).logits[0, -1].double()
    expected = torch.softmax(logits, dim=-1)[list(found.token_ids)].numpy()
    np.testing.assert_allclose(found.after, expected, atol=1e-6)


def test_two_distributions_side_by_side() -> None:
    found = comparison(np.log(np.array([0.7, 0.2, 0.1])), np.log(np.array([0.1, 0.2, 0.7])))
    assert found.moved == pytest.approx(0.6)
    assert found.favourites == (0, 2)
    assert found.rest_before == pytest.approx(0)
    many = comparison(np.zeros(100), np.zeros(100))
    assert many.moved == 0 and many.rest_before == pytest.approx(0.92)


def test_switching_twice_is_switching_back() -> None:
    off = SwitchedOff().toggled_head(3, 1).toggled_layer(2)
    assert off.heads == {(3, 1)} and off.layers == {2}
    assert not off.toggled_head(3, 1).toggled_layer(2)
    assert not off.inside(n_layers=2, n_heads=1)
