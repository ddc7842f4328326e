"""The engine on tiny random models of every family: what it shows is what the model computed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.engine.model import LoadedModel
from core.engine.trace import Trace
from tests.unit import tiny

FAMILIES = [*tiny.DENSE, *tiny.MOE]
PROMPT = tiny.prompt_ids(9)
CHOSEN = [17, 3, 99]


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return LoadedModel(request.param, None, tiny.build(request.param), None)


@pytest.fixture(scope="module")
def trace(model: LoadedModel) -> Trace:
    tip = model.prefill(PROMPT)
    for token in CHOSEN:
        tip = model.step(tip, token)
    return model.trace(tip)


def test_prefill_logits_equal_the_bare_model_to_the_last_bit(model: LoadedModel) -> None:
    with torch.inference_mode():
        bare = tiny.build(model.name)(input_ids=torch.tensor([PROMPT])).logits[0, -1].numpy()
    assert np.array_equal(model.prefill(PROMPT).logits, bare)


def test_decode_logits_equal_a_bare_cached_loop_to_the_last_bit(model: LoadedModel, trace: Trace) -> None:
    bare_model = tiny.build(model.name)
    with torch.inference_mode():
        out = bare_model(input_ids=torch.tensor([PROMPT]), use_cache=True)
        for made, token in zip(trace.passes[1:], CHOSEN, strict=True):
            out = bare_model(input_ids=torch.tensor([[token]]), cache=out.cache, use_cache=True)
            assert np.array_equal(made.logits, out.logits[0, -1].numpy())


def test_forgotten_logits_are_recomputed_to_the_last_bit(model: LoadedModel) -> None:
    tip = model.prefill(PROMPT)
    before = tip.logits.copy()
    tip.kept_logits = None
    assert np.array_equal(tip.logits, before)


def test_replay_repeats_the_pass_to_the_last_bit(model: LoadedModel, trace: Trace) -> None:
    for layer in range(model.shape.n_layers):
        view = trace.layer(layer)
        assert np.array_equal(view.resid_in, trace.residual(layer))
        assert np.array_equal(view.resid_out, trace.residual(layer + 1))
        cache = trace.kv_cache(layer)
        if model.shape.latent_per_token:
            continue  # the cache holds what K and V are made from
        assert np.array_equal(view.k[:, cache.first_position :], cache.keys)
        assert np.array_equal(view.v[:, cache.first_position :], cache.values)


def test_softmax_of_scores_times_values_is_the_attention_output(model: LoadedModel, trace: Trace) -> None:
    for layer in range(model.shape.n_layers):
        view = trace.layer(layer)
        for head in range(model.shape.n_heads):
            weights = view.weights(head)
            if view.sinks is None:
                np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
            assert not weights[~view.mask].any()
            np.testing.assert_allclose(weights @ view.v[view.kv_head(head)], view.head_out(head), atol=5e-6)


def test_no_token_looks_at_a_later_one_or_outside_its_window(model: LoadedModel, trace: Trace) -> None:
    for layer, window in enumerate(model.shape.layer_windows):
        mask = trace.layer(layer).mask
        assert not np.triu(mask, 1).any()
        assert mask.diagonal().all()
        distance = np.subtract.outer(np.arange(len(mask)), np.arange(len(mask)))
        expected = (distance >= 0) & (distance <= (window if window is not None else len(mask)))
        assert np.array_equal(mask, expected)


def test_heads_sum_to_the_attention_output(model: LoadedModel, trace: Trace) -> None:
    for layer in range(model.shape.n_layers):
        view = trace.layer(layer)
        total = sum(view.head_contribution(head) for head in range(model.shape.n_heads))
        bias = view.out_bias if view.out_bias is not None else 0
        np.testing.assert_allclose(total + bias, view.attn_out, atol=2e-5)


def test_residual_stream_adds_up(model: LoadedModel, trace: Trace) -> None:
    for layer in range(model.shape.n_layers):
        view = trace.layer(layer)
        if view.resid_mid is not None:
            np.testing.assert_allclose(view.resid_in + view.attn_added, view.resid_mid, atol=1e-5)
        np.testing.assert_allclose(
            view.resid_in + view.attn_added + view.mlp_added, view.resid_out, atol=1e-5
        )


def test_feed_forward_parts_rebuild_its_output(model: LoadedModel, trace: Trace) -> None:
    for layer in range(model.shape.n_layers):
        dense = trace.layer(layer).dense
        if dense is None:
            continue
        down = model.roles.blocks[layer].down_proj
        assert down is not None
        with torch.inference_mode():
            out = down(torch.from_numpy(dense.act)).numpy()
        np.testing.assert_allclose(out, trace.layer(layer).mlp_out, atol=1e-5)
        assert dense.act.shape[-1] == model.shape.d_ff


def test_gated_activation_is_act_of_gate_times_up(model: LoadedModel, trace: Trace) -> None:
    mlp = model.roles.blocks[0].mlp
    act_fn = next(
        (m for n, m in mlp.named_modules() if n.split(".")[-1] in ("act_fn", "activation_fn", "act")), None
    )
    dense = trace.layer(0).dense
    if dense is None or act_fn is None:
        pytest.skip("a Mixture of Experts, or the activation is not a module")
    with torch.inference_mode():
        source = dense.up if dense.gate is None else dense.gate
        expected = act_fn(torch.from_numpy(source)).numpy() * (1 if dense.gate is None else dense.up)
    np.testing.assert_allclose(dense.act, expected, atol=1e-6)


def test_lens_of_the_last_layer_is_the_models_own_logits(model: LoadedModel, trace: Trace) -> None:
    lens = trace.lens(model.shape.n_layers)
    np.testing.assert_allclose(lens[-1], trace.passes[-1].logits, atol=1e-4, rtol=1e-4)


def test_lens_top_is_the_top_of_a_softmax_over_the_whole_vocabulary(model: LoadedModel, trace: Trace) -> None:
    for layer in (0, model.shape.n_layers):
        logits = trace.lens(layer).astype(np.float64)
        expected = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        top = trace.lens_top(layer, k=3)
        np.testing.assert_allclose(top.probabilities, -np.sort(-expected)[:, :3], atol=1e-5)
        np.testing.assert_allclose(np.take_along_axis(expected, top.ids, 1), top.probabilities, atol=1e-5)


def test_every_position_has_the_bare_models_logits(model: LoadedModel, trace: Trace) -> None:
    with torch.inference_mode():
        bare = tiny.build(model.name)(input_ids=torch.tensor([PROMPT])).logits[0].numpy()
    for position in range(len(PROMPT)):
        assert np.array_equal(trace.logits_at(position), bare[position])


def test_cached_and_uncached_logits_agree(model: LoadedModel, trace: Trace) -> None:
    whole = model.prefill([*PROMPT, *CHOSEN])
    np.testing.assert_allclose(trace.tip.logits, whole.logits, atol=2e-4, rtol=1e-3)


def test_rope_turns_q_and_k_by_the_tables_angle(model: LoadedModel, trace: Trace) -> None:
    for layer in range(model.shape.n_layers):
        view = trace.layer(layer)
        if not view.has_rope:
            assert np.array_equal(view.q, view.q_pre_rope)
            assert np.array_equal(view.k, view.k_pre_rope)
            continue
        # A rotation keeps lengths, and leaves position 0 where it was.
        scale = np.linalg.norm(view.q, axis=-1) / np.linalg.norm(view.q_pre_rope, axis=-1)
        np.testing.assert_allclose(scale, scale[0, 0], rtol=1e-4)
        assert not np.array_equal(view.q[:, 1:], view.q_pre_rope[:, 1:])


def test_rope_table_turns_by_its_own_frequencies(model: LoadedModel) -> None:
    positions = [0, 1, 7]
    table = model.rope(0, positions)
    if table is None:
        assert model.shape.learned_positions
        return
    per_pair = table.cos[:, 0::2] if table.interleaved else table.cos[:, : len(table.inv_freq)]
    scale = per_pair[0, 0]  # some families scale cosine and sine; at position 0 the cosine itself is 1
    np.testing.assert_allclose(per_pair, scale * np.cos(table.angle), atol=1e-4)


def test_kv_bytes_equal_the_tensors_of_the_models_own_cache(model: LoadedModel, trace: Trace) -> None:
    with torch.inference_mode():
        bare = tiny.build(model.name)
        out = bare(input_ids=torch.tensor([PROMPT]), use_cache=True)
        for token in CHOSEN:
            out = bare(input_ids=torch.tensor([[token]]), cache=out.cache, use_cache=True)
    per_layer = [sum(t.numel() * t.element_size() for t in (c.keys, c.values)) for c in out.cache.layers]
    assert trace.kv_bytes() == sum(per_layer)
    assert [trace.kv_cache(layer).n_bytes for layer in range(model.shape.n_layers)] == per_layer


def test_kv_bytes_per_token_is_what_a_step_adds(model: LoadedModel, trace: Trace) -> None:
    assert trace.passes[1].kv_bytes == model.shape.kv_bytes_per_token


def test_parameters_are_counted_once(model: LoadedModel) -> None:
    rows = model.parameters()
    assert sum(row.count for row in rows) == sum(p.numel() for p in model.hf_model.parameters())
    assert {row.role for row in rows} <= {
        "embedding", "position", "attention", "ffn", "experts", "shared_expert", "router", "norm", "lm_head"
    }  # fmt: skip


def test_two_branches_of_one_prefix_do_not_disturb_each_other(model: LoadedModel) -> None:
    def alone(tokens: list[int]) -> np.ndarray:
        tip = model.prefill(PROMPT)
        for token in tokens:
            tip = model.step(tip, token)
        return tip.logits

    root = model.prefill(PROMPT)
    left, right = model.step(root, 5), model.step(root, 6)
    left = model.step(left, 7)
    right = model.step(right, 8)
    assert np.array_equal(left.logits, alone([5, 7]))
    assert np.array_equal(right.logits, alone([6, 8]))


def test_router_choices_and_weights_are_the_models_own(model: LoadedModel, trace: Trace) -> None:
    if not model.shape.n_experts:
        pytest.skip("dense")
    for layer, is_moe in enumerate(model.shape.moe_layers):
        router = trace.layer(layer).router
        assert (router is not None) == is_moe
        if router is None:
            continue
        with torch.inference_mode():
            module = model.roles.blocks[layer].router
            assert module is not None
            logits, weights, indices = module(torch.from_numpy(trace.layer(layer).mlp_norm))[:3]
        assert np.array_equal(np.sort(router.indices), np.sort(indices.numpy()))
        np.testing.assert_allclose(np.sort(router.weights), np.sort(weights.numpy()), atol=1e-6)
        np.testing.assert_allclose(router.logits, logits.numpy(), atol=1e-5)


def test_experts_and_shared_expert_add_up_to_the_layers_output(model: LoadedModel, trace: Trace) -> None:
    for layer, is_moe in enumerate(model.shape.moe_layers):
        if not is_moe:
            continue
        view = trace.layer(layer)
        router = view.router
        assert router is not None
        for position in (0, len(PROMPT) - 1, len(PROMPT)):
            total = view.expert_out(position).sum(0)
            if router.shared is not None:
                gate = 1 if router.shared_gate is None else router.shared_gate[position]
                total = total + gate * router.shared.out[position]
            np.testing.assert_allclose(total, view.mlp_out[position], atol=1e-5, rtol=1e-4)
