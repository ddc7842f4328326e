"""The KV cache page's numbers against the tensors of the model's own cache, for every family in the tests."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.engine import reference
from core.engine.model import LoadedModel
from core.engine.scheduler import SerialScheduler
from core.lessons import kv_cache as lesson
from core.lessons.calculators import from_shape
from tests.unit import tiny

FAMILIES = [*tiny.DENSE, *tiny.MOE]


def loaded(family: str = "llama") -> LoadedModel:
    return LoadedModel("tiny", None, tiny.build(family), None, SerialScheduler())


@pytest.mark.parametrize("family", FAMILIES)
def test_bytes_are_those_of_the_model_s_own_cache(family: str) -> None:
    model, ids = loaded(family), tiny.prompt_ids(9)
    trace = model.trace(model.step(model.prefill(ids[:-1]), ids[-1]))
    held = lesson.grid(trace, model.shape.n_layers)
    found = lesson.cache_bytes(trace, model.shape, held)
    own = reference.cache_bytes(model, ids)
    assert held.n_bytes == found.tensors == found.formula == own
    grown = model.trace(model.step(trace.tip, 5))
    assert grown.kv_bytes() - own == found.growth


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3_text", "qwen2_moe"])
def test_the_grid_holds_the_lengths_of_the_plain_library_s_keys_and_values(family: str) -> None:
    model, ids = loaded(family), tiny.prompt_ids(7)
    held = lesson.grid(model.trace(model.prefill(ids)), model.shape.n_layers)
    with torch.inference_mode():
        cache = model.hf_model(input_ids=torch.tensor([ids]), use_cache=True).cache
    for layer, stored in enumerate(cache.layers):
        for ours, theirs in ((held.keys, stored.keys), (held.values, stored.values)):
            lengths = torch.linalg.vector_norm(theirs[0].transpose(0, 1).flatten(1), dim=1)  # (t,)
            kept = ours[layer, held.first[layer] :]
            assert np.abs(kept - lengths.numpy()).max() < 1e-5
            assert (ours[layer, : held.first[layer]] == -1).all()


def test_a_step_adds_one_column_and_leaves_the_others_as_they_were() -> None:
    model = loaded()
    tip = model.prefill(tiny.prompt_ids(5))
    before = lesson.grid(model.trace(tip), model.shape.n_layers)
    after = lesson.grid(model.trace(model.step(tip, 9)), model.shape.n_layers)
    assert after.keys.shape[1] == before.keys.shape[1] + 1
    assert np.array_equal(after.keys[:, :-1], before.keys)
    assert np.array_equal(after.values[:, :-1], before.values)


def test_a_sliding_window_stops_growing_and_its_oldest_columns_are_gone() -> None:
    model = loaded("gemma3_text")
    window = model.shape.layer_windows[0]
    assert window is not None and model.shape.layer_windows[1] is None
    short = lesson.grid(model.trace(model.prefill(tiny.prompt_ids(window - 1))), model.shape.n_layers)
    assert short.full == (False, False, False) and short.first == (0, 0, 0)
    trace = model.trace(model.prefill(tiny.prompt_ids(window + 4)))
    long = lesson.grid(trace, model.shape.n_layers)
    assert long.full == (True, False, True)
    assert long.first == (4, 0, 4)
    found = lesson.cache_bytes(trace, model.shape, long)
    assert found.growth == found.per_token // 3, "only the layer without a window grows"
    columns = [window, model.shape.max_positions, window]
    assert found.at_limit == sum(columns) * found.per_token // 3


def test_a_cell_holds_the_cache_s_own_vectors_and_names_the_heads_that_share_them() -> None:
    model, ids = loaded(), tiny.prompt_ids(6)
    trace = model.trace(model.step(model.prefill(ids), 7))
    shown = lesson.cell(trace, 1, 4, model.shape.n_heads)
    view = trace.layer(1)
    assert shown.keys is not None and np.abs(shown.keys - view.k[:, 4]).max() < 1e-6
    assert shown.readers == ((0, 1, 2), (3, 4, 5))
    error = lesson.cell_error(trace, shown)
    assert error is not None and error < 1e-6
    wrong = lesson.Cell(1, 4, shown.keys + 1, shown.values, shown.readers)
    assert (lesson.cell_error(trace, wrong) or 0) > 0.9


def test_a_dropped_cell_holds_nothing() -> None:
    model = loaded("gemma3_text")
    trace = model.trace(model.prefill(tiny.prompt_ids(9)))
    assert lesson.cell(trace, 0, 0, model.shape.n_heads).keys is None
    assert lesson.cell(trace, 1, 0, model.shape.n_heads).keys is not None


def test_prefill_reads_nothing_and_a_step_reads_every_column_before_it() -> None:
    model = loaded()
    tip = model.prefill(tiny.prompt_ids(6))
    trace = model.trace(tip)
    first = lesson.step_work(trace, model.shape, lesson.grid(trace, model.shape.n_layers))
    assert first.is_prefill and first.bytes_read == 0 and first.new == 6
    assert first.bytes_written == trace.kv_bytes()
    later = model.trace(model.step(tip, 3))
    work = lesson.step_work(later, model.shape, lesson.grid(later, model.shape.n_layers))
    assert not work.is_prefill and (work.new, work.columns) == (1, 6)
    assert work.bytes_read == trace.kv_bytes()
    assert (work.queries, work.keys, work.values) == (6, 2, 2)


def test_a_full_window_is_all_that_a_step_reads_of_its_layer() -> None:
    model = loaded("gemma3_text")
    tip = model.prefill(tiny.prompt_ids(9))
    trace = model.trace(tip)
    later = model.trace(model.step(tip, 3))
    work = lesson.step_work(later, model.shape, lesson.grid(later, model.shape.n_layers))
    assert work.bytes_read == trace.kv_bytes()


def test_multiply_adds_with_the_cache_are_one_column_of_those_without() -> None:
    """Against a count written out by hand for the tiny llama (d 48, 6 × 8 heads, 2 K/V heads, FFN 80)."""
    cost = from_shape(loaded().shape, "tiny")
    found = lesson.step_multiply_adds(cost, 10)
    assert found is not None
    matrices = 48 * 48 + 2 * 48 * 16 + 48 * 48 + 3 * 48 * 80
    head = 48 * 128
    assert found.cached == 3 * (matrices + 10 * 6 * (8 + 8)) + head
    assert found.uncached == 3 * (10 * matrices + 55 * 6 * (8 + 8)) + head
    assert lesson.step_multiply_adds(None, 10) is None
