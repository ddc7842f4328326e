"""The journey's numbers against the plain library's and numpy's own, on tiny models of several families."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.components.journey import read_place
from core.engine.model import LoadedModel
from core.engine.trace import Trace
from core.lessons import journey
from tests.unit import tiny

FAMILIES = ["llama", "gpt2", "gemma3_text", "mixtral"]
PROMPT = tiny.prompt_ids(6)
IDS = [*PROMPT, 9, 4]


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return LoadedModel(request.param, None, tiny.build(request.param), None)


@pytest.fixture(scope="module")
def trace(model: LoadedModel) -> Trace:
    return model.trace(model.step(model.step(model.prefill(PROMPT), 9), 4))


def test_every_prediction_is_the_plain_librarys_favourite(model: LoadedModel, trace: Trace) -> None:
    with torch.inference_mode():
        logits = tiny.build(model.name)(input_ids=torch.tensor([IDS])).logits[0].double()
    chances = torch.softmax(logits, dim=-1)
    found = journey.predictions(trace)
    assert found.ids.tolist() == chances.argmax(dim=-1).tolist()
    np.testing.assert_allclose(found.chances, chances.max(dim=-1).values.numpy(), atol=2e-4)


def test_a_step_works_out_its_own_row_alone(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    journey.predictions(trace)
    monkeypatch.setattr(journey, "_predict", lambda *_: pytest.fail("computed again"))
    assert journey.predictions(trace).ids.shape == (len(IDS),)


def test_of_a_long_prompt_the_middle_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journey, "FIRST_PREDICTED", 2)
    monkeypatch.setattr(journey, "LAST_PREDICTED", 2)
    llama = LoadedModel("llama", None, tiny.build("llama"), None)
    found = journey.predictions(llama.trace(llama.prefill(PROMPT)))
    assert [i for i, token in enumerate(found.ids) if token >= 0] == [0, 1, 4, 5]


def test_the_attention_row_adds_up_and_never_looks_right(model: LoadedModel, trace: Trace) -> None:
    for position in (0, 3, len(IDS) - 1):
        row = journey.attention_row(trace, 1, 2, position)
        assert row.shape == (len(IDS),) and not row[position + 1 :].any()
        assert row.sum() == pytest.approx(1, abs=1e-5)


def test_attention_is_what_the_plain_library_reports() -> None:
    llama = LoadedModel("llama", None, tiny.build("llama"), None)
    plain = tiny.build("llama")
    plain.set_attn_implementation("eager")
    with torch.inference_mode():
        expected = plain(input_ids=torch.tensor([PROMPT]), output_attentions=True).attentions[2][0, 3, 5]
    row = journey.attention_row(llama.trace(llama.prefill(PROMPT)), 2, 3, 5)
    np.testing.assert_allclose(row, expected.numpy(), atol=1e-5)


def test_times_cover_every_position_once(model: LoadedModel, trace: Trace) -> None:
    found = journey.times(trace)
    assert [(t.start, t.end) for t in found] == [(0, 6), (6, 7), (7, 8)]
    assert all(len(t.layer_s) == model.shape.n_layers and t.total_s >= sum(t.layer_s) for t in found)


def test_the_first_expert_is_the_one_with_the_largest_weight(model: LoadedModel, trace: Trace) -> None:
    found = journey.experts(trace)
    if model.name != "mixtral":
        assert found is None
        return
    assert found is not None and found.layers == tuple(range(model.shape.n_layers))
    for layer in found.layers:
        router = trace.layer(layer).router
        assert router is not None
        best = router.weights.argmax(axis=1)
        assert found.indices[layer].tolist() == [int(router.indices[p, b]) for p, b in enumerate(best)]
        np.testing.assert_allclose(found.weights[layer], router.weights.max(axis=1), atol=1e-6)


def test_a_condensed_vector_keeps_the_largest_number_of_each_part() -> None:
    vectors = np.array([[1.0, -3.0, 2.0, 0.5, 0.0, -0.1, 7.0]])
    assert journey.condensed(vectors, 3).tolist() == [[-3.0, 2.0, 7.0]]
    assert journey.condensed(vectors, 99).tolist() == [pytest.approx(vectors[0].tolist())]


def test_a_sliding_window_drops_the_oldest_columns() -> None:
    assert journey.first_kept((None, 4, 20), 10).tolist() == [0, 6, 0]


def test_the_dials_show_the_models_own_angles() -> None:
    llama = LoadedModel("llama", None, tiny.build("llama"), None)
    inverse = tiny.build("llama").model.rotary_emb.inv_freq.numpy()
    np.testing.assert_allclose(journey.dials(llama, 5), 5 * inverse[:4], rtol=1e-6)
    gpt2 = LoadedModel("gpt2", None, tiny.build("gpt2"), None)
    assert journey.dials(gpt2, 5).size == 0


@pytest.mark.parametrize(
    "payload, expected",
    [
        ({"layer": 3, "position": 0, "head": 2}, {"layer": 3, "position": 0, "head": 2}),
        ({"layer": -1, "position": "5", "head": True}, {}),
        ({"layer": 1.5, "other": 2}, {}),
        ("layer", {}),
        (None, {}),
    ],
)
def test_a_place_from_the_browser_is_checked(payload: Any, expected: dict[str, int]) -> None:
    assert read_place(payload) == expected
