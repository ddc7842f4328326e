"""Counts from a shape: worked examples, and equality with the tensors of real (tiny) models."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from core.engine.kv import layer_windows
from core.engine.parameters import parameter_rows
from core.engine.roles import find_roles
from core.engine.shape import read_shape
from core.lessons import costs
from core.lessons.calculators import FAMILY_TRAITS, from_shape, measured_parts, preset
from core.lessons.costs import CostShape
from core.lessons.costs_compute import (
    decode_flops,
    decode_intensity,
    experts_touched,
    parameters_read,
    prefill_flops,
    prefill_intensity,
)
from tests.unit import tiny

KNOWN = [family for family in tiny.FAMILIES if family in FAMILY_TRAITS]
SMOLLM = preset("smollm2-135m").shape
MIXTRAL = preset("mixtral-8x7b").shape


def _cost_shape(model: torch.nn.Module, family: str) -> CostShape:
    shape = from_shape(read_shape(model, find_roles(model)), family)
    assert shape is not None
    return shape


@pytest.mark.parametrize("family", KNOWN)
def test_counts_equal_the_sum_over_the_real_tensors(family: str) -> None:
    model = tiny.build(family)
    shape = _cost_shape(model, family)
    assert costs.total_parameters(shape) == sum(p.numel() for p in model.parameters())
    rows = parameter_rows(model, find_roles(model))
    measured = {part.role: part for part in measured_parts(rows)}
    parts = {part.name: part for part in costs.parameter_parts(shape)}
    assert costs.active_parameters(shape) == sum(part.active for part in measured.values())
    if shape.is_moe:
        assert parts["experts"].total == measured["experts"].count
        assert parts["experts"].active == measured["experts"].active


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("qwen2_moe", {"qkv_bias": False}),
        ("llama", {"attention_bias": True}),
        ("llama", {"mlp_bias": True}),
        ("starcoder2", {"use_bias": False}),
    ],
)
def test_biases_are_counted_as_the_config_has_them(family: str, changes: dict[str, bool]) -> None:
    model = tiny.build(family, **changes)
    assert costs.total_parameters(_cost_shape(model, family)) == sum(p.numel() for p in model.parameters())


def test_the_core_families_are_among_those_counted() -> None:
    assert set(tiny.CORE_FAMILIES) <= set(KNOWN)
    assert {"gpt_oss", "granitemoe", "qwen3_moe"} <= set(KNOWN)


def test_latent_attention_is_counted_like_the_real_tensors() -> None:
    model = tiny.build("deepseek_v3")
    config = model.config
    shape = CostShape(
        name="deepseek",
        n_layers=config.num_hidden_layers,
        d_model=config.hidden_size,
        n_heads=config.num_attention_heads,
        n_kv_heads=config.num_attention_heads,
        head_dim=config.qk_nope_head_dim,
        rope_head_dim=config.qk_rope_head_dim,
        value_head_dim=config.v_head_dim,
        kv_lora_rank=config.kv_lora_rank,
        q_lora_rank=config.q_lora_rank,
        d_ff=config.intermediate_size,
        vocab_size=config.vocab_size,
        tied_embeddings=config.tie_word_embeddings,
        n_experts=config.n_routed_experts,
        experts_per_token=config.num_experts_per_tok,
        d_expert=config.moe_intermediate_size,
        d_shared=config.n_shared_experts * config.moe_intermediate_size,
        dense_layers=config.first_k_dense_replace,
    )
    assert costs.total_parameters(shape) == sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("family", ["llama", "gpt2", "qwen2_moe", "mixtral", "qwen3"])
def test_kv_bytes_equal_the_cache_tensors(family: str) -> None:
    model, tokens = tiny.build(family), 9
    with torch.no_grad():
        cache = model(torch.tensor([tiny.prompt_ids(tokens)] * 2), use_cache=True).past_key_values
    real = sum(t.numel() * t.element_size() for layer in cache.layers for t in (layer.keys, layer.values))
    assert costs.kv_bytes(_cost_shape(model, family), tokens, batch=2, bytes_per_number=4) == real


def test_a_sliding_window_layer_stops_growing_as_the_real_cache_does() -> None:
    model, tokens = tiny.build("gemma3_text"), 11
    assert sum(window is not None for window in layer_windows(model.config)) == 2
    with torch.no_grad():
        cache = model(torch.tensor([tiny.prompt_ids(tokens)]), use_cache=True).past_key_values
    real = sum(t.numel() * t.element_size() for layer in cache.layers for t in (layer.keys, layer.values))
    shape = _cost_shape(model, "gemma3_text")
    assert costs.kv_bytes(shape, tokens, 1, 4) == real
    assert costs.kv_bytes(shape, tokens, 1, 4) < costs.kv_bytes(replace(shape, window_layers=0), tokens, 1, 4)


def test_the_worked_example_of_114688_bytes_per_token() -> None:
    assert costs.kv_bytes_per_token(preset("qwen3-0.6b").shape, 2) == 114_688
    assert costs.kv_bytes(preset("qwen3-0.6b").shape, 10, 3, 2) == 3_440_640


def test_latent_attention_caches_rank_and_rotated_part_per_layer() -> None:
    # DeepSeek-V3: 61 layers of 512 + 64 numbers
    assert costs.kv_bytes_per_token(preset("deepseek-v3").shape, 2) == 70_272


def test_variants_name_the_model_s_own_and_keep_their_order() -> None:
    rows = {row.key: row for row in costs.kv_variants(SMOLLM)}
    assert [row.key for row in rows.values() if row.own] == ["gqa"]
    assert (rows["mha"].numbers, rows["gqa"].numbers, rows["mqa"].numbers) == (9 * 128, 3 * 128, 128)
    assert rows["latent"].numbers == 4 * 64 + 32
    own = next(row for row in costs.kv_variants(SMOLLM) if row.own)
    assert costs.variant_bytes(SMOLLM, own, 100, 2, 4) == costs.kv_bytes(SMOLLM, 100, 2, 4)


@pytest.mark.parametrize("key", ["gpt2", "gemma-3-1b", "mixtral-8x7b", "deepseek-v3", "gpt-oss-20b"])
def test_each_model_has_exactly_one_own_variant_with_its_own_bytes(key: str) -> None:
    shape = preset(key).shape
    own = [row for row in costs.kv_variants(shape) if row.own]
    assert [row.numbers for row in own] == [costs.kv_numbers_per_layer(shape)]


def test_two_billion_weights_of_two_bytes_are_four_gigabytes() -> None:
    assert costs.weight_bytes(2_000_000_000, "bf16") == 4e9
    assert costs.weight_bytes(32, "int4") == 16 + 2  # 32 half bytes and one 16-bit scale


@pytest.mark.parametrize("family", ["llama", "gpt2", "qwen3"])
def test_flops_equal_what_torch_counts_for_one_token(family: str) -> None:
    model = tiny.build(family, attention="eager")
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        model(torch.tensor([tiny.prompt_ids(1)]))
    assert decode_flops(_cost_shape(model, family), 1).total == counter.get_total_flops()


def test_moe_flops_count_the_chosen_experts_only() -> None:
    flops = decode_flops(MIXTRAL, 1)
    assert flops.ffn == 2 * 32 * 2 * 3 * 4096 * 14336
    assert flops.router == 2 * 32 * 4096 * 8


@given(st.integers(1, 60), st.integers(0, 30))
def test_a_prefill_costs_the_sum_of_its_tokens_with_one_lm_head(tokens: int, window: int) -> None:
    shape = replace(SMOLLM, window=window, window_layers=7 if window else 0)
    each = [decode_flops(shape, t) for t in range(1, tokens + 1)]
    whole = prefill_flops(shape, tokens)
    assert whole.attention_scores == sum(f.attention_scores for f in each)
    assert whole.ffn == sum(f.ffn for f in each)
    assert whole.lm_head == each[0].lm_head


def test_experts_touched_starts_at_k_and_reaches_all() -> None:
    assert experts_touched(8, 2, 1) == pytest.approx(2)
    assert experts_touched(8, 2, 2) == pytest.approx(8 * (1 - 0.75**2))
    assert experts_touched(8, 2, 1000) == pytest.approx(8)
    assert experts_touched(0, 0, 5) == 0


def test_one_token_reads_the_active_weights_and_many_read_all() -> None:
    table = MIXTRAL.vocab_size * MIXTRAL.d_model
    assert parameters_read(MIXTRAL, 1) == pytest.approx(costs.active_parameters(MIXTRAL) - table)
    assert parameters_read(MIXTRAL, 4096) == pytest.approx(costs.total_parameters(MIXTRAL) - table)


def test_prefill_does_far_more_work_per_byte_than_decode() -> None:
    decode = decode_intensity(SMOLLM, 1024, 1, "bf16", 2).flops_per_byte
    prefill = prefill_intensity(SMOLLM, 1024, 1, "bf16", 2).flops_per_byte
    assert decode < 2 < 200 < prefill
    assert decode < decode_intensity(SMOLLM, 1024, 16, "bf16", 2).flops_per_byte


@given(st.integers(0, 10**10), st.integers(1, 9))
def test_the_largest_context_fits_and_one_more_token_does_not(budget: int, batch: int) -> None:
    shape = preset("gemma-3-1b").shape
    longest = costs.largest_context(shape, budget, batch, 2, 200_000)
    assert costs.kv_bytes(shape, longest, batch, 2) <= budget
    if longest < 200_000:
        assert costs.kv_bytes(shape, longest + 1, batch, 2) > budget
