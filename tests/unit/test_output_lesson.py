"""The Output page's numbers against torch's own, on tiny models of every family."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from core.engine.model import LoadedModel
from core.engine.trace import Trace
from core.lessons import lens, output
from tests.unit import tiny

FAMILIES = ["llama", "gpt2", "gemma2", "gemma3_text", "cohere", "granite", "phi", "olmo", "qwen2_moe"]
PROMPT = tiny.prompt_ids(6)


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return LoadedModel(request.param, None, tiny.build(request.param), None)


@pytest.fixture(scope="module")
def trace(model: LoadedModel) -> Trace:
    return model.trace(model.step(model.prefill(PROMPT), 9))


@pytest.fixture(scope="module")
def llama() -> LoadedModel:
    return LoadedModel("llama", None, tiny.build("llama"), None)


def whole(model: LoadedModel, ids: list[int]) -> np.ndarray:
    """(T, V) logits of the plain library, in one pass."""
    with torch.inference_mode():
        return tiny.build(model.name)(input_ids=torch.tensor([ids])).logits[0].numpy()


def test_the_final_norm_worked_out_is_the_models_own(model: LoadedModel, trace: Trace) -> None:
    made = output.final_norm(model, trace, 4)
    assert made.error < 1e-4
    np.testing.assert_allclose(made.normed, trace.final_norm()[4], atol=1e-4)
    hidden = trace.residual(model.shape.n_layers)[4].astype(np.float64)
    centre = hidden.mean() if made.kind == "layer" else 0.0
    assert made.divisor == pytest.approx(np.sqrt(np.mean((hidden - centre) ** 2) + made.eps))


def test_logits_made_from_the_dot_products_are_the_plain_librarys(model: LoadedModel, trace: Trace) -> None:
    plain = whole(model, [*PROMPT, 9])
    for position in (0, 3, 6):
        logits = output.logits_of(model, trace, position)
        np.testing.assert_allclose(logits, plain[position], atol=2e-4)
        made = output.final_norm(model, trace, position)
        found = output.dots(model, made.normed, logits, [5, 77, 5])
        assert found.error < 1e-3
        expected = [float(model.lm_head_rows([t])[0] @ trace.final_norm()[position]) for t in (5, 77, 5)]
        np.testing.assert_allclose(found.dots, expected, atol=1e-4)


def test_families_that_change_logits_after_the_sum_say_so(model: LoadedModel) -> None:
    changed = {"gemma2", "granite", "granitemoe", "phi", "gptj", "cohere", "cohere2"}
    assert output.head_steps(model).plain == (model.name not in changed)


def test_softmax_of_one_token_is_torchs(llama: LoadedModel) -> None:
    logits = llama.prefill(PROMPT).logits
    expected = torch.softmax(torch.from_numpy(logits).double(), dim=-1).numpy()
    for token_id in (0, 64, int(logits.argmax())):
        made = output.softmax_of(logits, token_id)
        assert made.probability == pytest.approx(expected[token_id], rel=1e-12)
        assert made.probability == made.numerator / made.denominator
        assert made.logit == logits[token_id] and made.largest == logits.max()


def test_the_edges_are_the_highest_and_the_lowest_in_order() -> None:
    logits = np.array([0.0, 5.0, -3.0, 2.0, -7.0], dtype=np.float32)
    assert output.edges(logits, 2) == ([1, 3], [4, 2])
    assert output.edges(logits, 99)[0] == [1, 3, 0, 2, 4]


def test_the_largest_products_and_the_rest_are_the_dot_product() -> None:
    normed, row = np.array([1.0, -2.0, 3.0, 0.5]), np.array([2.0, 4.0, 1.0, 2.0])
    order, rest = output.largest_products(normed, row, 2)
    assert order == [1, 2] and rest == pytest.approx(2 + 1)


# -- the lens ------------------------------------------------------------------------------------------


def expected_top(
    model: LoadedModel, trace: Trace, row: int, position: int, k: int
) -> tuple[list[int], np.ndarray]:
    """From the library's own modules, one vector at a time."""
    hidden = torch.from_numpy(trace.residual(row)[position])
    with torch.inference_mode():
        logits = model.hf_model.lm_head(model.hf_model.model.norm(hidden[None, None]))[0, 0].double()
    top = torch.softmax(logits, dim=-1).topk(k)
    return top.indices.tolist(), top.values.numpy()


def test_the_lens_is_final_norm_and_lm_head_on_every_layers_vector(llama: LoadedModel) -> None:
    trace = llama.trace(llama.step(llama.prefill(PROMPT), 9))
    wanted = lens.plan(3, 7, 2)
    grid = lens.grid(trace, wanted, 60)
    assert grid.complete and grid.done == 4
    for row in range(4):
        for position in range(7):
            ids, chances = expected_top(llama, trace, row, position, 5)
            assert grid.ids[row, position].tolist() == ids
            np.testing.assert_allclose(grid.probabilities[row, position], chances, atol=1e-5)


def test_the_last_row_of_the_lens_is_the_models_own_prediction(model: LoadedModel, trace: Trace) -> None:
    grid = lens.grid(trace, lens.plan(model.shape.n_layers, 7, 6), 60)
    logits = trace.passes[-1].logits
    own = np.exp(logits.astype(np.float64) - logits.max())
    assert grid.ids[-1, -1, 0] == logits.argmax()
    assert lens.end_error(trace) < 1e-3
    assert grid.probabilities[-1, -1, 0] == pytest.approx(own.max() / own.sum(), abs=1e-5)


def test_without_time_nothing_is_computed_and_the_chosen_column_comes_first(
    llama: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = llama.trace(llama.prefill(PROMPT))
    wanted = lens.plan(3, 6, 4)
    nothing = lens.grid(trace, wanted, 0)
    assert nothing.done == 0 and (nothing.ids == -1).all()
    ticks = iter(range(100))
    monkeypatch.setattr(lens.time, "monotonic", lambda: float(next(ticks)))
    some = lens.grid(trace, wanted, 4.5)  # four ticks: one for each layer of the chosen column
    assert (some.ids[:, 4, 0] >= 0).all() and (np.delete(some.ids, 4, axis=1) == -1).all()
    monkeypatch.undo()
    assert lens.grid(trace, wanted, 0).ids[:, 4, 0].min() >= 0, "what was computed stays"
    assert lens.grid(trace, wanted, 60).complete
    assert lens.grid(trace, wanted, 0).complete


def test_a_long_text_is_sampled_with_the_chosen_and_the_last_position() -> None:
    wanted = lens.plan(30, 512, 77)
    assert {0, 77, 511} <= set(wanted.positions) and len(wanted.positions) <= lens.WHOLE_UP_TO
    assert {0, 30} <= set(wanted.rows) and len(wanted.rows) <= 17 and not wanted.whole
    assert lens.plan(30, lens.WHOLE_UP_TO, 0).whole


def test_the_sampled_lens_agrees_with_the_whole_one(
    llama: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = llama.trace(llama.prefill(tiny.prompt_ids(20)))
    full = lens.grid(trace, lens.plan(3, 20, 5), 60)
    monkeypatch.setattr(lens, "WHOLE_UP_TO", 6)
    wanted = lens.plan(3, 20, 5)
    some = lens.grid(trace, wanted, 60)
    assert some.complete and not wanted.whole
    for i, row in enumerate(wanted.rows):
        np.testing.assert_array_equal(some.ids[i], full.ids[row, list(wanted.positions)])
        np.testing.assert_allclose(
            some.probabilities[i], full.probabilities[row, list(wanted.positions)], atol=1e-6
        )


@pytest.mark.real_model
def test_the_default_model_says_paris(real_model: LoadedModel) -> None:
    codec = real_model.codec
    trace = real_model.trace(real_model.prefill(codec.encode("The capital of France is")))
    logits = output.logits_of(real_model, trace, 4)
    made = output.final_norm(real_model, trace, 4)
    best = int(logits.argmax())
    assert codec.decode([best]) == " Paris"
    assert output.softmax_of(logits, best).probability == pytest.approx(0.77, abs=0.01)
    assert output.dots(real_model, made.normed, logits, [best]).error < 1e-3
    assert made.error < 1e-3
    middle = output.logits_of(real_model, trace, 1)
    np.testing.assert_allclose(middle, trace.logits_at(1), atol=1e-3)
