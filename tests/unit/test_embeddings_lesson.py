"""The Embeddings page's numbers against plain computations, on tiny models of every family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.charts.embeddings import token_map as token_map_figure
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.lessons import embeddings as lesson
from tests.unit import tiny

FAMILIES = ["llama", "gpt2", "gemma2", "gemma3_text", "granite", "gpt_neox", "qwen2_moe"]
PROMPT = [17, 3, 99, 17, 40]


def load(family: str) -> LoadedModel:
    return LoadedModel(family, None, tiny.build(family), None)


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return load("llama")


@pytest.fixture(scope="module")
def codec() -> TextCodec:
    return TextCodec(tiny.tokenizer().backend_tokenizer)


def cosines(model: LoadedModel, vector: np.ndarray) -> np.ndarray:
    """Every row's cosine, one at a time in double precision."""
    rows = model.embedding_matrix().astype(np.float64)
    return np.array([row @ vector / np.sqrt((row @ row) * (vector @ vector)) for row in rows])


@pytest.mark.parametrize("family", FAMILIES)
def test_what_enters_the_first_block_follows_from_e_in_every_family(family: str) -> None:
    model = load(family)
    trace = model.trace(model.prefill(PROMPT))
    made = lesson.entry(model, trace, 2)
    assert made.error < 1e-5
    assert np.array_equal(made.block_input, trace.residual(0)[2])
    assert (made.position_row is not None) == model.shape.learned_positions


def test_gemma_multiplies_by_the_root_of_its_width_granite_by_its_constant_and_llama_by_nothing() -> None:
    scales = {}
    for family in ("gemma3_text", "granite", "llama"):
        model = load(family)
        scales[family] = lesson.entry(model, model.trace(model.prefill(PROMPT)), 0).scale
    assert scales["gemma3_text"] == pytest.approx(48**0.5, rel=1e-2)
    assert scales["granite"] == pytest.approx(3.0, rel=1e-5)
    assert scales["llama"] == 1.0


def test_another_way_into_the_first_block_shows_as_an_error(model: LoadedModel) -> None:
    trace: Any = model.trace(model.prefill(PROMPT))
    inputs = trace.residual(0).copy()
    inputs[1, 5] += 0.25
    trace.residual = lambda layer: inputs
    assert lesson.entry(model, trace, 0).error > 0.2


def test_the_same_id_has_the_same_row_and_is_sent_once(model: LoadedModel) -> None:
    found = lesson.lookup(model, PROMPT, range(5))
    assert len(found.rows) == 4
    assert found.row_of[0] == found.row_of[3]
    for token_id, row in zip(found.token_ids, found.row_of, strict=True):
        assert np.array_equal(found.rows[row], model.embedding_matrix()[token_id])


@pytest.mark.parametrize(
    ("count", "chosen", "expected"),
    [(1, 0, (0, 1)), (24, 3, (0, 24)), (100, 0, (0, 24)), (100, 99, (76, 100)), (100, 50, (38, 62))],
)
def test_the_window_holds_the_chosen_position(count: int, chosen: int, expected: tuple[int, int]) -> None:
    shown = lesson.window(count, chosen)
    assert (shown[0], shown[-1] + 1) == expected and chosen in shown


def test_neighbours_are_the_highest_cosines_of_the_whole_vocabulary(model: LoadedModel) -> None:
    expected = cosines(model, model.embedding_rows([17])[0].astype(np.float64))
    expected[17] = -2
    near = lesson.neighbours(model, 17, 6)
    assert [one.token_id for one in near] == list(np.argsort(-expected)[:6])
    np.testing.assert_allclose([one.cosine for one in near], np.sort(expected)[::-1][:6], atol=1e-6)


def test_a_row_of_zeros_is_nobodys_neighbour_and_has_none() -> None:
    model = load("llama")
    model.embedding_matrix()[5] = 0
    assert all(one.token_id != 5 for one in lesson.neighbours(model, 17, 127))
    assert lesson.neighbours(model, 5, 3) == []


def test_a_sum_is_shown_with_and_without_its_inputs(model: LoadedModel) -> None:
    made = lesson.add_up(model, 10, 11, 12, 8)
    rows = model.embedding_matrix().astype(np.float64)
    expected = cosines(model, rows[10] - rows[11] + rows[12])
    assert [one.token_id for one in made.with_inputs] == list(np.argsort(-expected)[:8])
    expected[[10, 11, 12]] = -2
    assert [one.token_id for one in made.without_inputs] == list(np.argsort(-expected)[:8])


def test_taking_a_token_away_and_adding_it_again_gives_it_back(model: LoadedModel) -> None:
    made = lesson.add_up(model, 10, 11, 11, 3)
    assert made.with_inputs[0].token_id == 10
    assert made.with_inputs[0].cosine == pytest.approx(1, abs=1e-6)


def test_the_plane_keeps_the_largest_eigenvalues_of_the_covariance(model: LoadedModel) -> None:
    rows = model.embedding_rows(range(20)).astype(np.float64)
    points, explained = lesson.principal_plane(rows)
    values = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    np.testing.assert_allclose(explained, values[:2] / values.sum(), rtol=1e-9)
    np.testing.assert_allclose(points.var(axis=0, ddof=1), values[:2], rtol=1e-9)
    assert abs(np.corrcoef(points.T)[0, 1]) < 1e-9


def test_the_map_holds_each_prompt_token_and_its_neighbours_once(model: LoadedModel) -> None:
    made = lesson.token_map(model, (17, 3), each=4)
    assert made.token_ids[:2] == (17, 3) and made.is_prompt(1) and not made.is_prompt(2)
    assert len(set(made.token_ids)) == len(made.token_ids) <= 10
    near = {one.token_id for one in lesson.neighbours(model, 17, 4)} - {3}
    assert near == {t for i, t in enumerate(made.token_ids) if made.parent[i] == 0} - {17}
    assert lesson.token_map(model, (17,), each=0).explained == (0.0, 0.0)


def test_the_map_takes_the_distinct_tokens_around_the_chosen_place() -> None:
    assert lesson.map_tokens([1, 2, 1, 3], 3) == [1, 2, 3]
    assert lesson.map_tokens(list(range(100)), 50, limit=5) == [48, 49, 50, 51, 52]


def test_token_text_is_literal_in_the_figure(model: LoadedModel) -> None:
    made = lesson.token_map(model, (17,), each=1)
    figure = token_map_figure(made, ("<b>$x$</b>", "a b"), 17, ("x", "y"), ("own", "near"))
    written = str(figure.to_dict())
    assert "<b>" not in written and "&lt;b&gt;" in written and "a·b" in written


def test_the_weights_that_are_named_are_the_models_own(model: LoadedModel) -> None:
    weights = dict(model.hf_model.named_parameters())
    for role in ("embedding", "lm_head", "norm"):
        named = lesson.named_weight(model, role)
        assert named is not None and tuple(weights[named[0]].shape) == named[1]
    assert lesson.named_weight(model, "norm") == ("model.norm.weight", (48,))
    assert lesson.named_weight(model, "router") is None


def test_a_word_is_found_with_its_space_first(codec: TextCodec) -> None:
    spaced, bare = codec.encode(" the"), codec.encode("the")
    assert len(spaced) == 1
    found = lesson.find_token(codec, "the")
    assert found is not None and found.token_ids == tuple(spaced) != tuple(bare)
    assert lesson.find_token(codec, " the") == found


def test_an_id_a_long_text_and_nothing(codec: TextCodec) -> None:
    found = lesson.find_token(codec, "#7")
    assert found is not None and found.token_id == 7
    assert lesson.find_token(codec, "#99999") is None
    long = lesson.find_token(codec, "the cat is of the")
    assert long is not None and len(long.token_ids) > 1 and long.token_id == long.token_ids[0]
    assert lesson.find_token(codec, "") is None and lesson.find_token(codec, "  ") is None


@pytest.mark.real_model
def test_the_default_models_rows_neighbours_and_the_famous_sum(real_model: LoadedModel) -> None:
    codec = real_model.codec

    def token(word: str) -> int:
        found = lesson.find_token(codec, word)
        assert found is not None
        return found.token_id

    trace = real_model.trace(real_model.prefill(codec.encode("The capital of France is")))
    made = lesson.entry(real_model, trace, 3)
    assert made.plain and made.error == 0
    near = lesson.neighbours(real_model, token("three"), 3)
    assert [codec.decode([one.token_id]) for one in near] == [" four", " two", " five"]
    queen = lesson.add_up(real_model, token("king"), token("man"), token("woman"), 2)
    assert [codec.decode([one.token_id]) for one in queen.with_inputs] == [" queen", " king"]
