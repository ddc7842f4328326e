"""What the Experts page must hold for every family: choices, weights, and a layer's output by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.engine.experiment import Experiment, ForcedExpert
from core.engine.model import LoadedModel
from core.engine.routing import Routing
from core.engine.trace import Trace
from tests.unit import tiny

PROMPT = tiny.prompt_ids(9)
CHOSEN = [17, 3, 99]


@pytest.fixture(scope="module", params=list(tiny.MOE))
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return LoadedModel(request.param, None, tiny.build(request.param), None)


@pytest.fixture(scope="module")
def trace(model: LoadedModel) -> Trace:
    tip = model.prefill(PROMPT)
    for token in CHOSEN:
        tip = model.step(tip, token)
    return model.trace(tip)


def routing_of(trace: Trace) -> Routing:
    found = trace.routing()
    assert found is not None
    return found


def own_router_outputs(model: LoadedModel) -> list[list[torch.Tensor]]:
    """What the routers of an untouched copy return in a plain cached loop, joined over the passes."""
    bare = tiny.build(model.name)
    seen: list[list[list[torch.Tensor]]] = []
    routers = [dict(bare.named_modules())[name] for name in router_names(model)]
    notes: list[list[torch.Tensor]] = []
    for router in routers:
        router.register_forward_hook(lambda _m, _a, out: notes.append([t.clone() for t in out[:3]]))
    cache = None
    with torch.inference_mode():
        for chunk in (PROMPT, *([t] for t in CHOSEN)):
            notes.clear()
            cache = bare(input_ids=torch.tensor([list(chunk)]), cache=cache, use_cache=True).cache
            seen.append([list(note) for note in notes])
    layers = range(len(routers))
    return [[torch.cat([step[at][part] for step in seen]) for part in range(3)] for at in layers]


def router_names(model: LoadedModel) -> list[str]:
    names = {id(module): name for name, module in model.hf_model.named_modules()}
    return [names[id(block.router)] for block in model.roles.blocks if block.router is not None]


def test_choices_are_exactly_and_weights_to_1e_6_those_of_a_plain_run(
    model: LoadedModel, trace: Trace
) -> None:
    found = routing_of(trace)
    for at, (logits, weights, indices) in enumerate(own_router_outputs(model)):
        assert np.array_equal(found.indices[at], indices.numpy())
        np.testing.assert_allclose(found.weights[at], weights.float().numpy(), atol=1e-6, rtol=0)
        np.testing.assert_allclose(found.logits[at], logits.float().numpy(), atol=1e-6, rtol=0)


def test_what_the_pass_noted_is_what_the_replay_shows(model: LoadedModel, trace: Trace) -> None:
    found = routing_of(trace)
    assert found.layers == tuple(at for at, moe in enumerate(model.shape.moe_layers) if moe)
    for at, layer in enumerate(found.layers):
        router = trace.layer(layer).router
        assert router is not None and router.scoring == found.scoring
        assert np.array_equal(found.indices[at], router.indices)
        assert np.array_equal(found.weights[at], router.weights)
        np.testing.assert_allclose(found.probabilities[at], router.probabilities, atol=1e-6)
        assert (found.shared_gate is None) == (router.shared_gate is None)
        if found.shared_gate is not None:
            assert np.array_equal(found.shared_gate[at], router.shared_gate)


def expert_by_hand(experts: Any, expert: int, x: np.ndarray) -> np.ndarray:
    """One routed expert in numpy, from its weight tensors: (n, d) → (n, d)."""
    w = {name: p.detach().numpy()[expert].astype(np.float64) for name, p in experts.named_parameters()}
    if "gate_up_proj_bias" in w:  # gpt-oss: (in, out), gate and up interleaved, clipped, biased
        both = x @ w["gate_up_proj"] + w["gate_up_proj_bias"]
        gate = np.minimum(both[:, ::2], experts.limit)
        up = np.clip(both[:, 1::2], -experts.limit, experts.limit)
        act = (up + 1) * gate / (1 + np.exp(-experts.alpha * gate))
        return act @ w["down_proj"] + w["down_proj_bias"]
    gate, up = np.split(x @ w["gate_up_proj"].T, 2, axis=1)
    return (gate / (1 + np.exp(-gate)) * up) @ w["down_proj"].T


def test_a_layers_output_follows_from_what_is_shown_within_1e_5(model: LoadedModel, trace: Trace) -> None:
    found = routing_of(trace)
    for at, layer in enumerate(found.layers):
        view = trace.layer(layer)
        router = view.router
        assert router is not None and view.mlp_norm is not None
        x = view.mlp_norm.astype(np.float64)
        total = np.zeros_like(x)
        for expert in range(found.logits.shape[-1]):
            weight = (found.weights[at] * (found.indices[at] == expert)).sum(-1)  # (T,)
            total += weight[:, None] * expert_by_hand(model.roles.blocks[layer].experts, expert, x)
        if router.shared is not None:
            gate = 1 if found.shared_gate is None else found.shared_gate[at][:, None]
            total += gate * router.shared.out
        scale = max(1.0, float(np.abs(view.mlp_out).max()))
        assert np.abs(total - view.mlp_out).max() <= 1e-5 * scale


def test_a_pass_under_an_experiment_notes_what_the_experts_got(model: LoadedModel) -> None:
    layer = next(at for at, moe in enumerate(model.shape.moe_layers) if moe)
    before = routing_of(model.trace(model.prefill(PROMPT)))
    taken, other = int(before.indices[0, 4, 0]), next(e for e in range(6) if e not in before.indices[0, 4])
    forced = model.prefill(PROMPT, Experiment(experts_forced=(ForcedExpert(layer, other, 0, 4),)))
    off = model.prefill(PROMPT, Experiment(experts_off=frozenset({(layer, taken)})))
    assert routing_of(model.trace(forced)).indices[0, 4, 0] == other
    chosen = before.indices[0] == taken
    assert not routing_of(model.trace(off)).weights[0][chosen].any()
    more = model.prefill(PROMPT, Experiment(experts_per_token=4))
    expected = 2 if model.name == "phimoe" else 4  # phimoe's own rule picks two, whatever is asked
    assert routing_of(model.trace(more)).indices.shape[-1] == expected


def test_active_parameters_are_the_tensors_that_one_token_uses(model: LoadedModel) -> None:
    used = 0
    for name, parameter in model.hf_model.named_parameters():
        routed = any(parameter is p for b in model.roles.blocks if b.experts for p in b.experts.parameters())
        share = model.shape.experts_per_token / model.shape.n_experts if routed else 1
        untied = not model.shape.tied_embeddings and parameter is model.roles.embedding.weight
        used += parameter.shape[1] if untied else round(parameter.numel() * share)
        assert parameter.numel(), name
    assert sum(row.active_count for row in model.parameters()) == used


def test_a_dense_model_has_no_routing() -> None:
    dense = LoadedModel("llama", None, tiny.build("llama"), None)
    assert dense.trace(dense.prefill(PROMPT)).routing() is None
