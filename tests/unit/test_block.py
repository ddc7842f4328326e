"""The Block page's numbers, against torch's own modules and against plain sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.engine.model import LoadedModel
from core.lessons import block as lesson
from core.lessons import block_neurons as neurons
from core.lessons import block_norm
from tests.unit import tiny

FAMILIES = [
    "llama",
    "gpt2",
    "gemma3_text",
    "olmo2",
    "phi",
    "gptj",
    "granite",
    "mixtral",
    "qwen2_moe",
    "gpt_oss",
]
AT = 9


def opened(family: str) -> tuple[LoadedModel, Any]:
    model = LoadedModel(family, None, tiny.build(family), None)
    return model, model.trace(model.step(model.prefill(tiny.prompt_ids(9)), 17))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_sums_of_the_block_hold(family: str) -> None:
    model, trace = opened(family)
    for layer in range(model.shape.n_layers):
        found = lesson.sums(trace.layer(layer))
        assert found.residual < 1e-5 * found.size
        assert found.feed_forward is None or found.feed_forward < 1e-5 * found.size


def test_a_wrong_sum_is_noticed() -> None:
    _, trace = opened("llama")
    view = trace.layer(1)
    view.__dict__["mlp_added"] = view.mlp_added * np.float32(1.01)
    assert lesson.sums(view).residual > 1e-3


HEADS = "query key value weights heads attn_out"


@pytest.mark.parametrize(
    ("family", "names", "parallel"),
    [
        ("llama", f"resid_in attn_norm {HEADS} resid_mid mlp_norm gate up act mlp_out resid_out", False),
        ("gpt2", f"resid_in attn_norm {HEADS} resid_mid mlp_norm hidden act_plain mlp_out resid_out", False),
        (
            "olmo2",
            f"resid_in {HEADS} attn_post_norm resid_mid gate up act mlp_out mlp_post_norm resid_out",
            False,
        ),
        ("phi", f"resid_in attn_norm {HEADS} mlp_norm hidden act_plain mlp_out resid_out", True),
        (
            "qwen2_moe",
            f"resid_in attn_norm {HEADS} resid_mid mlp_norm router experts shared mlp_out resid_out",
            False,
        ),
        ("mixtral", f"resid_in attn_norm {HEADS} resid_mid mlp_norm router experts mlp_out resid_out", False),
    ],
)
def test_the_flow_is_that_of_the_loaded_model(family: str, names: str, parallel: bool) -> None:
    model, trace = opened(family)
    made = lesson.flow(model, trace.layer(1), AT, 1)
    assert [box.name for box in made.boxes] == names.split()
    assert made.parallel == parallel
    shape = model.shape
    widths = {box.name: box.width for box in made.boxes}
    assert widths["resid_in"] == widths["resid_out"] == widths["attn_out"] == shape.d_model
    assert widths["query"] == shape.n_heads * shape.head_dim
    assert widths["key"] == shape.n_kv_heads * shape.head_dim
    assert widths["weights"] == AT + 1
    known = {box.name for box in made.boxes}
    assert {name for link in made.links for name in link} == known, "every box is joined to another"
    columns = {box.name: box.column for box in made.boxes}
    assert all(columns[a] < columns[b] for a, b in made.links), "the flow runs from left to right"


def test_every_strip_is_a_captured_vector() -> None:
    model, trace = opened("llama")
    record = trace.record(trace.passes[-1], 1)  # the decode step: one row
    boxes = {box.name: box for box in lesson.flow(model, trace.layer(1), AT, 2).boxes}
    block = model.hf_model.model.layers[1]
    expected = {
        "resid_in": record.resid_in[0, 0],
        "attn_norm": record.outputs[block.input_layernorm][0, 0],
        "gate": record.outputs[block.mlp.gate_proj][0, 0],
        "up": record.outputs[block.mlp.up_proj][0, 0],
        "act": record.inputs[block.mlp.down_proj][0, 0],
        "mlp_out": record.outputs[block.mlp.down_proj][0, 0],
        "attn_out": record.outputs[block.self_attn.o_proj][0, 0],
        "value": record.outputs[block.self_attn.v_proj][0, 0],
        "heads": record.inputs[block.self_attn.o_proj][0, 0],
        "resid_out": record.resid_out[0, 0],
    }
    for name, tensor in expected.items():
        shown = np.concatenate([row.values for row in boxes[name].rows])
        assert np.array_equal(shown, tensor.numpy()), name
    assert [name for name, _ in boxes["gate"].weights] == ["model.layers.1.mlp.gate_proj.weight"]
    assert boxes["attn_out"].weights[0][1] == (48, 48)


def test_the_experts_shown_add_up_to_the_layers_output() -> None:
    model, trace = opened("qwen2_moe")
    boxes = {box.name: box for box in lesson.flow(model, trace.layer(1), AT, 0).boxes}
    total = sum(row.values for name in ("experts", "shared") for row in boxes[name].rows)
    assert np.allclose(total, boxes["mlp_out"].rows[0].values, atol=1e-5)
    assert boxes["router"].rows[0].values.sum() == pytest.approx(1, abs=1e-5)
    assert len(boxes["experts"].rows) == model.shape.experts_per_token


@pytest.mark.parametrize("family", FAMILIES)
def test_the_norm_worked_out_is_the_models_own(family: str) -> None:
    model, trace = opened(family)
    view = trace.layer(1)
    places = block_norm.norm_places(view)
    assert places
    for place in places:
        made = block_norm.norm_steps(model, view, place, AT)
        assert made is not None
        assert made.error < 1e-5 * max(1.0, float(np.abs(made.out).max()))
        assert made.kind == ("layer" if family in ("gpt2", "phi", "gptj") else "rms")
        assert np.array_equal(made.out, getattr(view, place)[AT])


def test_norm_steps_against_torch() -> None:
    model, trace = opened("llama")
    made = block_norm.norm_steps(model, trace.layer(0), "mlp_norm", AT)
    assert made is not None and made.weight == "model.layers.0.post_attention_layernorm.weight"
    weight = model.hf_model.model.layers[0].post_attention_layernorm.weight
    by_torch = torch.nn.functional.rms_norm(torch.from_numpy(made.x), (48,), weight, made.eps)
    assert np.allclose(made.out, by_torch.detach().numpy(), atol=1e-6)
    assert made.spread == pytest.approx(float((made.x.astype(float) ** 2).mean()))
    model, trace = opened("gpt2")
    made = block_norm.norm_steps(model, trace.layer(0), "attn_norm", AT)
    assert made is not None
    norm = model.hf_model.transformer.h[0].ln_1
    assert np.allclose(made.out, norm(torch.from_numpy(made.x)).detach().numpy(), atol=1e-6)
    assert made.mean == pytest.approx(float(made.x.mean()), abs=1e-6)


def test_what_was_added_against_the_differences_of_the_stream() -> None:
    model, trace = opened("llama")
    found = lesson.added(model, trace, 1)
    view = trace.layer(1)
    first = (view.resid_mid - view.resid_in).astype(float)
    second = (view.resid_out - view.resid_mid).astype(float)
    assert np.allclose(found.attention_size, np.linalg.norm(first, axis=1), rtol=1e-4)
    assert np.allclose(found.ffn_size, np.linalg.norm(second, axis=1), rtol=1e-4)
    mid = view.resid_mid.astype(float)
    cosine = (mid * second).sum(1) / np.linalg.norm(mid, axis=1) / np.linalg.norm(second, axis=1)
    assert np.allclose(found.ffn_cosine, cosine, atol=1e-4)
    assert found.attention_size.shape == (10,), "prefill and decode step joined"
    assert lesson.added_known(trace, 1) and not lesson.added_known(trace, 0)


@pytest.mark.parametrize(
    ("family", "name", "gated"),
    [
        ("llama", "SiLU", True),
        ("gpt2", "GELU (tanh)", False),
        ("gpt_neox", "GELU", False),
        ("gemma3_text", "GELU (tanh)", True),
        ("qwen2_moe", "SiLU", True),
    ],
)
def test_the_activation_and_the_down_matrix_are_found(family: str, name: str, gated: bool) -> None:
    model, trace = opened(family)
    view = trace.layer(1)
    dense = neurons.dense_of(view)
    assert dense is not None
    function = neurons.activation(dense, AT)
    assert (function.name, function.gated) == (name, gated) and function.error < 2e-6
    found = neurons.down(model, view, dense, AT)
    assert found is not None and found.error < 1e-5
    assert any(word in found.name for word in ("down_proj", "c_proj", "dense_4h_to_h"))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (neurons.silu, torch.nn.functional.silu),
        (neurons.gelu, torch.nn.functional.gelu),
        (neurons.gelu_tanh, lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
        (neurons.relu, torch.nn.functional.relu),
    ],
)
def test_activation_functions_against_torch(ours: Any, theirs: Any) -> None:
    x = np.linspace(-9, 9, 901)
    assert np.allclose(ours(x), theirs(torch.from_numpy(x)).numpy(), atol=1e-6)


@pytest.mark.parametrize("family", ["llama", "gpt2", "qwen2"])
def test_neurons_and_the_tokens_they_push(family: str) -> None:
    model, trace = opened(family)
    view = trace.layer(2)
    dense = neurons.dense_of(view)
    assert dense is not None
    found = neurons.down(model, view, dense, AT)
    assert found is not None
    function = neurons.activation(dense, AT)
    top = neurons.top_neurons(dense, found, AT, function.name, 5)
    everything = dense.act[AT][:, None] * found.columns  # (F, d): what each neuron adds
    lengths = np.linalg.norm(everything, axis=1)
    assert [one.index for one in top] == np.argsort(-lengths, kind="stable")[:5].tolist()
    best = top[0]
    assert best.size == pytest.approx(float(lengths.max()), rel=1e-5)
    if best.gate is not None and best.gated is not None:
        assert best.gated * best.up == pytest.approx(best.act, abs=1e-5)
    pushed = neurons.pushed(model, 2, found, best, 4)
    head = model.hf_model.get_output_embeddings().weight.detach().numpy()
    changes = head @ everything[best.index]
    assert [token for token, _ in pushed.up] == np.argsort(-changes)[:4].tolist()
    assert [token for token, _ in pushed.down] == np.argsort(changes)[:4].tolist()
    assert pushed.up[0][1] == pytest.approx(float(changes.max()), abs=1e-4)
    share = neurons.share_of(dense, found, AT, 5)
    assert share == pytest.approx(float(np.sort(lengths)[-5:].sum() / lengths.sum()), rel=1e-4)


@pytest.mark.parametrize("family", ["llama", "qwen2_moe", "gpt2"])
def test_parts_add_up_to_the_whole_model(family: str) -> None:
    model, _ = opened(family)
    counts = lesson.part_counts(model, 1)
    assert sum(total for _, _, total in counts) == sum(p.numel() for p in model.hf_model.parameters())
    block = model.roles.blocks[1].block
    assert sum(here for _, here, _ in counts) == sum(p.numel() for p in block.parameters())
