"""Overruling the router, another k, dense beside MoE: against plain hooks, plain torch and plain counting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.engine.model import LoadedModel
from core.lessons.calculators import preset
from core.lessons.experts_change import (
    Change,
    Forced,
    active_with,
    experiment_of,
    kl_nats,
    moved,
    top_k_table,
)
from core.lessons.experts_compare import counts, flops, partner_of, side_by_side
from tests.unit import tiny

PROMPT = tiny.prompt_ids(9)


@pytest.fixture(scope="module", params=["mixtral", "qwen2_moe", "deepseek_v3", "gpt_oss"])
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return LoadedModel(request.param, None, tiny.build(request.param), None)


def bare_logits_with(model: LoadedModel, layer: int, edit: Any) -> np.ndarray:
    """Logits of an untouched copy whose router's answer at ``layer`` is edited in place."""
    bare = tiny.build(model.name)
    names = {id(module): name for name, module in model.hf_model.named_modules()}
    router = dict(bare.named_modules())[names[id(model.roles.blocks[layer].router)]]

    def hook(_m: Any, _a: Any, out: Any) -> Any:
        logits, weights, indices = (t.clone() for t in out[:3])
        edit(weights, indices)
        return (logits, weights, indices, *out[3:])

    router.register_forward_hook(hook)
    with torch.inference_mode():
        logits: np.ndarray = bare(input_ids=torch.tensor([PROMPT])).logits[0, -1].numpy()
    return logits


def test_a_forced_expert_moves_the_output_as_in_a_plain_model(model: LoadedModel) -> None:
    trace = model.trace(model.prefill(PROMPT))
    routing = trace.routing()
    assert routing is not None
    layer, position = routing.layers[0], 8
    taken = routing.indices[0, position].tolist()
    other = next(e for e in range(model.shape.n_experts) if e not in taken)
    change = Change().with_forced(Forced(layer, position, taken[1], other))

    def edit(_weights: torch.Tensor, indices: torch.Tensor) -> None:
        indices[position, 1] = other

    expected = bare_logits_with(model, layer, edit)
    result = moved(model, trace, change)
    assert result.kl == pytest.approx(kl_nats(trace.tip.logits, expected), rel=1e-3, abs=1e-9)
    assert result.compared.moved > 0 and moved(model, trace, change) is result


def test_a_switched_off_expert_moves_the_output_as_in_a_plain_model(model: LoadedModel) -> None:
    trace = model.trace(model.prefill(PROMPT))
    routing = trace.routing()
    assert routing is not None
    layer, expert = routing.layers[-1], int(routing.indices[-1, -1, 0])

    def edit(weights: torch.Tensor, indices: torch.Tensor) -> None:
        weights[indices == expert] = 0

    expected = bare_logits_with(model, layer, edit)
    made = model.prefill(PROMPT, experiment_of(trace, Change().toggled(layer, expert)))
    assert np.array_equal(made.logits, expected)
    assert moved(model, trace, Change().toggled(layer, expert)).kl > 0


def test_a_change_keeps_one_choice_per_place_and_forgets_places_that_are_not_there() -> None:
    first, second = Forced(1, 0, 2, 3), Forced(1, 0, 2, 5)
    change = Change().with_forced(first).with_forced(second).toggled(1, 4).toggled(1, 9)
    assert change.forced == (second,) and change.toggled(1, 4).off == {(1, 9)}
    assert change.inside((1,), 8, 1).off == {(1, 4)}
    assert not change.inside((2,), 8, 1) and not Change()


def test_kl_is_the_textbooks_over_the_whole_vocabulary() -> None:
    rows = torch.linspace(-3, 4, 40).reshape(2, 20)
    p, q = torch.log_softmax(rows[0] * 2, -1), torch.log_softmax(rows[1].flip(0), -1)
    expected = torch.nn.functional.kl_div(q, p, reduction="sum", log_target=True)
    assert kl_nats((rows[0] * 2).numpy(), rows[1].flip(0).numpy()) == pytest.approx(float(expected), rel=1e-5)
    assert kl_nats(rows[0].numpy(), rows[0].numpy() + 3) == pytest.approx(0, abs=1e-12)


def test_the_table_of_k_is_zero_at_the_models_own(model: LoadedModel) -> None:
    trace = model.trace(model.prefill(PROMPT))
    rows = {row.k: row for row in top_k_table(model, trace, rounds=1)}
    own = rows[model.shape.experts_per_token]
    assert own.own and own.kl_next == own.kl_mean == 0 and own.active == counts(model).active_without
    assert all(
        row.kl_next > 0 and row.step_s > 0 and row.used == row.k for row in rows.values() if not row.own
    )
    with torch.inference_mode():
        bare = tiny.build(model.name, num_experts_per_tok=1)
        logits = bare(input_ids=torch.tensor([PROMPT])).logits[0].numpy()
    whole = [kl_nats(trace.logits_at(p), logits[p]) for p in range(len(PROMPT))]
    assert rows[1].kl_next == pytest.approx(whole[-1], rel=1e-3)
    assert rows[1].kl_mean == pytest.approx(float(np.mean(whole)), rel=1e-3)


def test_active_parameters_with_all_experts_are_all_parameters(model: LoadedModel) -> None:
    every = active_with(model, model.shape.n_experts)
    total = sum(p.numel() for p in model.hf_model.parameters())
    untied = 0 if model.shape.tied_embeddings else (model.shape.vocab_size - 1) * model.shape.d_model
    assert every == total - untied


def test_counts_are_the_sum_over_the_real_tensors(model: LoadedModel) -> None:
    one = counts(model)
    assert one.total == sum(p.numel() for p in model.hf_model.parameters())
    assert one.bytes_as()["fp32"] == 4 * one.total and one.bytes_as()["bf16"] == 2 * one.total
    routed = sum(total for role, total, *_ in one.parts if role == "experts")
    used = routed * model.shape.experts_per_token // model.shape.n_experts
    assert one.active == one.total - routed + used


def test_mixtral_8x7b_has_its_published_totals() -> None:
    found = preset("mixtral-8x7b")
    assert round(found.total / 1e9, 1) == 46.7 and round(found.active / 1e9, 1) == 12.9


def test_flops_come_part_by_part_and_only_the_scores_grow_with_the_context() -> None:
    moe = LoadedModel("qwen2_moe", None, tiny.build("qwen2_moe"), None)
    short, long = flops(moe, 5), flops(moe, 50)
    assert short is not None and long is not None
    changed = {part for part in short if short[part] != long[part]}
    assert changed == {"attention_scores"} and long["attention_scores"] == 10 * short["attention_scores"]
    expected = sum(  # two per weight of each matrix that one token meets
        2 * p.numel() for name, p in moe.hf_model.named_parameters() if ".mlp.gate.weight" in name
    ) + sum(2 * p.numel() for name, p in moe.hf_model.named_parameters() if "shared_expert_gate" in name)
    assert short["router"] == expected


def test_partners_are_what_one_was_made_from() -> None:
    assert partner_of("smollm2-135m-moe") == "smollm2-135m"
    assert partner_of("smollm2-135m") == "smollm2-135m-moe"
    assert partner_of("gemma3-270m") is None and partner_of("no such model") is None


def test_two_models_on_one_text() -> None:
    codec: Any = __import__("core.engine.text", fromlist=["TextCodec"]).TextCodec(
        tiny.tokenizer().backend_tokenizer
    )
    dense = LoadedModel("dense", None, tiny.build("llama"), codec)
    moe = LoadedModel("moe", None, tiny.build("mixtral"), codec)
    ids = codec.encode("the cat is on the hat")
    found = side_by_side(dense, moe, moe.trace(moe.prefill(ids)))
    expected = kl_nats(dense.prefill(ids).logits, moe.prefill(ids).logits)
    assert found.kl == pytest.approx(expected, rel=1e-6) and found.same_tokens
    assert found.compared.favourites[0] == int(dense.prefill(ids).logits.argmax())
