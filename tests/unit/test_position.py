"""The Position page's numbers, against the plain formula and against the model itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.engine.model import LoadedModel
from core.lessons import position as lesson
from tests.unit import tiny

ROTATING = [
    "llama",
    "qwen3",
    "gemma3_text",
    "phi",
    "gpt_neox",
    "stablelm",
    "cohere",
    "deepseek_v3",
    "glm4_moe",
]
PROMPT = tiny.prompt_ids(9)


def opened(family: str) -> tuple[LoadedModel, Any]:
    model = LoadedModel(family, None, tiny.build(family), None)
    tip = model.step(model.prefill(PROMPT), 17)
    return model, model.trace(tip)


@pytest.mark.parametrize("family", ROTATING)
def test_turning_the_raw_queries_and_keys_gives_what_attention_used(family: str) -> None:
    model, trace = opened(family)
    found = lesson.rotation(model, trace, 0, 1)
    assert found is not None
    assert found.error < 1e-5 * found.size
    view = trace.layer(0)
    for query, key in ((9, 0), (9, 4), (5, 5)):
        assert found.score(query, key) == pytest.approx(float(view.scores(1)[query, key]), abs=1e-4)


@pytest.mark.parametrize(
    ("family", "pairs", "rotated"),
    [
        ("llama", [(0, 4), (1, 5), (2, 6), (3, 7)], 8),
        ("cohere", [(0, 1), (2, 3), (4, 5), (6, 7)], 8),
        ("phi", [(0, 2), (1, 3)], 4),  # partial: half of the head turns
        ("deepseek_v3", [(8, 9), (10, 11)], 4),  # the end of the head turns
    ],
)
def test_the_pairing_is_that_of_the_loaded_model(
    family: str, pairs: list[tuple[int, int]], rotated: int
) -> None:
    model, trace = opened(family)
    found = lesson.rotation(model, trace, 0, 0)
    assert found is not None
    assert [tuple(pair) for pair in found.pairing.before.tolist()] == pairs
    assert found.rotated == rotated


def test_a_turn_is_a_rotation_written_out_by_hand() -> None:
    model, trace = opened("llama")
    found = lesson.rotation(model, trace, 1, 2)
    assert found is not None
    vector, position = found.q_pre[3], 7
    by_hand = vector.astype(float).copy()
    for j, theta in enumerate(found.inv_freq):
        z = complex(vector[j], vector[j + 4]) * np.exp(1j * position * float(theta))
        by_hand[j], by_hand[j + 4] = z.real, z.imag
    assert np.allclose(lesson.turned(vector, position, found), by_hand, atol=1e-6)


def test_the_score_depends_on_the_distance_alone() -> None:
    model, trace = opened("llama")
    found = lesson.rotation(model, trace, 0, 3)
    assert found is not None
    here = found.score(8, 2)
    assert found.score(8, 2, 5, 5) == pytest.approx(here, abs=1e-9)
    assert abs(found.score(8, 2, 5, 0) - here) > 1e-3
    assert lesson.moved_error(model, found, 0, 8, 2, 20) < 1e-5


@pytest.mark.parametrize("family", ["llama", "phi", "deepseek_v3"])
def test_pairs_and_the_still_part_make_up_the_score(family: str) -> None:
    model, trace = opened(family)
    found = lesson.rotation(model, trace, 0, 0)
    assert found is not None
    still = np.setdiff1d(np.arange(found.q.shape[1]), found.pairing.before)
    rest = float(found.q_pre[7, still].astype(float) @ found.k_pre[3, still]) * found.scale
    assert lesson.pair_terms(found, 7, 3).sum() + rest == pytest.approx(found.score(7, 3), abs=1e-6)


def test_layers_and_models_that_turn_nothing_say_so() -> None:
    model, trace = opened("smollm3")
    assert lesson.rotation(model, trace, 0, 0) is not None
    assert lesson.rotation(model, trace, 1, 0) is None
    model, trace = opened("gpt2")
    assert lesson.rotation(model, trace, 0, 0) is None


def test_scores_by_distance_against_loops_over_all_pairs() -> None:
    model, trace = opened("llama")
    found = lesson.rotation(model, trace, 1, 1)
    assert found is not None
    data = lesson.by_distance(found, 9, 16)
    scores = trace.layer(1).scores(1)
    count = len(found.q)
    for distance in (0, 3, 9):
        own = [scores[i, i - distance] for i in range(distance, count)]
        assert data.mean[distance] == pytest.approx(np.mean(own), abs=1e-5)
        moved = [
            found.score(i, j, distance - i, -j) for i in range(count) for j in range(count)
        ]  # every query with every key, set `distance` apart
        assert data.typical[distance] == pytest.approx(np.mean(moved), abs=1e-5)
    assert np.isnan(data.mean[10:]).all()
    assert np.allclose(data.own, scores[9, ::-1], atol=1e-5)


def test_the_same_tokens_in_two_orders_start_equal_and_part() -> None:
    model = LoadedModel("llama", None, tiny.build("llama"), None)
    a, b = (5, 20, 30, 40), (5, 40, 30, 20)
    found = lesson.orders(model, a, b)
    assert found.pairs == ((0, 0), (1, 3), (2, 2), (3, 1))
    assert np.allclose(found.cosines[0], 1)
    assert np.allclose(found.cosines[:, 0], 1), "the shared beginning sees the same"
    assert (found.cosines[1:, 1:] < 0.9999).all()
    first = model.trace(model.prefill(a)).residual(2)[1].astype(float)
    second = model.trace(model.prefill(b)).residual(2)[3].astype(float)
    expected = first @ second / np.sqrt((first @ first) * (second @ second))
    assert found.cosines[2, 1] == pytest.approx(expected, abs=1e-6)
    logits = model.prefill(b).logits.astype(float)
    token, chance = found.top[1][0]
    assert token == logits.argmax()
    assert chance == pytest.approx(np.exp(logits[token]) / np.exp(logits).sum(), abs=1e-6)


def test_tokens_are_matched_once_each() -> None:
    assert lesson.match_orders([1, 2, 1, 3], [1, 1, 4]) == ((0, 0), (2, 1))
    assert lesson.match_orders([7], [8]) == ()


def test_keys_to_compare_with_hold_the_first_and_the_query() -> None:
    assert lesson.shown_keys(3) == (0, 1, 2, 3)
    many = lesson.shown_keys(400)
    assert len(many) == lesson.SHOWN_KEYS and many[0] == 0 and many[-1] == 400
    assert lesson.default_key(np.array([0.7, 0.1, 0.15, 0.05]), 3, (0, 1, 2, 3)) == 2
    assert lesson.default_key(np.array([1.0]), 0, (0,)) == 0


def test_learned_position_vectors_are_compared_by_cosine() -> None:
    model, _ = opened("gpt2")
    rows = model.position_rows(range(20))
    assert rows is not None
    shown, cosines = lesson.position_alikeness(rows, limit=10)
    assert len(shown) == 10 and shown[-1] == 19
    a, b = rows[shown[2]].astype(float), rows[shown[7]].astype(float)
    assert cosines[2, 7] == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
