"""Experiments change what they say and nothing else, and the model is the same afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from core.engine.experiment import Experiment, ForcedExpert
from core.engine.model import LoadedModel
from tests.unit import tiny

PROMPT = tiny.prompt_ids(9)


def load(family: str) -> LoadedModel:
    return LoadedModel(family, None, tiny.build(family), None)


@pytest.fixture(scope="module", params=["llama", "gpt2", "gemma3_text", "phi", "qwen2_moe"])
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return load(request.param)


def test_an_empty_experiment_is_the_model_itself(model: LoadedModel) -> None:
    assert Experiment().is_empty()
    assert np.array_equal(model.prefill(PROMPT, Experiment()).logits, model.prefill(PROMPT).logits)


def test_a_head_switched_off_adds_nothing_and_others_in_its_layer_stay(model: LoadedModel) -> None:
    plain = model.trace(model.prefill(PROMPT)).layer(1)
    off = model.trace(model.prefill(PROMPT, Experiment(heads_off=frozenset({(1, 2)})))).layer(1)
    np.testing.assert_allclose(off.attn_out, plain.attn_out - plain.head_contribution(2), atol=2e-5)
    assert not np.array_equal(off.resid_out, plain.resid_out)


def test_a_layer_switched_off_passes_its_input_through(model: LoadedModel) -> None:
    trace = model.trace(model.prefill(PROMPT, Experiment(layers_off=frozenset({1}))))
    assert np.array_equal(trace.residual(1), trace.residual(2))
    assert not np.array_equal(trace.residual(0), trace.residual(1))


def test_attention_or_mlp_switched_off_adds_nothing(model: LoadedModel) -> None:
    trace = model.trace(
        model.prefill(PROMPT, Experiment(attention_off=frozenset({1}), mlp_off=frozenset({1})))
    )
    np.testing.assert_allclose(trace.residual(1), trace.residual(2), atol=1e-6)


def test_experiments_leave_the_model_as_it_was(model: LoadedModel) -> None:
    before, print_before = model.prefill(PROMPT).logits, model.fingerprint
    model.prefill(
        PROMPT, Experiment(heads_off=frozenset({(0, 0)}), layers_off=frozenset({2}), experts_per_token=1)
    )
    assert np.array_equal(model.prefill(PROMPT).logits, before)
    assert load(model.name).fingerprint == print_before


def test_steps_and_replays_stay_inside_the_experiment(model: LoadedModel) -> None:
    experiment = Experiment(heads_off=frozenset({(0, 1)}))
    tip = model.step(model.prefill(PROMPT, experiment), 5)
    assert tip.experiment is experiment
    trace = model.trace(tip)
    assert np.array_equal(trace.layer(0).resid_out, trace.residual(1))


def test_neurons_switched_off_are_zero_in_the_activation() -> None:
    model = load("llama")
    off = frozenset({(1, 4), (1, 70)})
    plain = model.trace(model.prefill(PROMPT)).layer(1)
    view = model.trace(model.prefill(PROMPT, Experiment(neurons_off=off))).layer(1)
    assert plain.act is not None
    kept = plain.act.copy()
    kept[:, [4, 70]] = 0
    down = model.weight(1, "mlp.down_proj.weight")
    np.testing.assert_allclose(view.mlp_out, kept @ down.T, atol=1e-5)


@pytest.mark.parametrize("family", ["mixtral", "qwen2_moe", "olmoe", "gpt_oss", "deepseek_v3"])
def test_forced_expert_takes_the_slot_with_the_slots_weight(family: str) -> None:
    model = load(family)
    layer = 2
    plain = model.trace(model.prefill(PROMPT)).layer(layer).router
    assert plain is not None
    unused = next(e for e in range(model.shape.n_experts) if e not in plain.indices[4])
    forced = Experiment(experts_forced=(ForcedExpert(layer, unused, slot=0, position=4),))
    router = model.trace(model.prefill(PROMPT, forced)).layer(layer).router
    assert router is not None
    assert router.indices[4, 0] == unused
    assert np.array_equal(router.indices[:4], plain.indices[:4])
    np.testing.assert_allclose(router.weights, plain.weights, atol=1e-6)


@pytest.mark.parametrize("family", ["mixtral", "qwen2_moe"])
def test_expert_off_and_top_k_change_the_router(family: str) -> None:
    model = load(family)
    plain = model.trace(model.prefill(PROMPT)).layer(1).router
    assert plain is not None
    victim = int(plain.indices[0, 0])
    off = model.trace(model.prefill(PROMPT, Experiment(experts_off=frozenset({(1, victim)})))).layer(1).router
    assert off is not None
    assert not off.weights[off.indices == victim].any()
    wide = model.trace(model.prefill(PROMPT, Experiment(experts_per_token=4))).layer(1).router
    assert wide is not None and wide.indices.shape == (len(PROMPT), 4)
