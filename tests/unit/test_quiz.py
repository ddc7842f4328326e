"""The quiz: its answers are what another sum gives, its rounds differ, and every question has its words."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from core.decoding.run import Run, StopRules
from core.decoding.sampling import SamplingParams
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.lessons import quiz
from core.lessons.questions import Question, Word
from core.lessons.tour_scene import Scene
from core.ui import text
from core.ui.pages import ALL_PAGES
from core.ui.quiz import words_of
from tests.unit import tiny

PARAMS = SamplingParams(temperature=1.0, top_p=0.5)
GREEDY = SamplingParams(temperature=0.0)


def scene_of(family: str, prompt: list[int], steps: int = 2) -> Scene:
    model = LoadedModel(family, None, tiny.build(family), TextCodec(tiny.tokenizer().backend_tokenizer))
    run = Run.start(model, prompt, PARAMS, StopRules())
    for _ in range(steps):
        run.next(GREEDY)
    return Scene(model, run, PARAMS, 1, 1, min(3, len(prompt) - 1))


@pytest.fixture(scope="module")
def scene() -> Scene:
    return scene_of("llama", tiny.prompt_ids(7))


def right(question: Question | None) -> str:
    assert question is not None
    choice = question.choices[question.answer]
    return choice.key if isinstance(choice, Word) else choice


# -- answers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", range(3))
def test_passes_ahead_are_counted_by_making_them(turn: int) -> None:
    here = scene_of("llama", tiny.prompt_ids(5), steps=1)
    answer = int(right(quiz.passes_ahead(here, turn)))
    for _ in range(quiz.AHEAD[turn]):
        here.run.next(GREEDY, force=3)
    assert answer == len(here.model.trace(here.run.tip).passes)


def test_the_likeliest_token_at_a_position_is_that_of_a_pass_over_the_text_so_far(scene: Scene) -> None:
    question = quiz.next_at(scene, 0)
    alone = scene.model.prefill(scene.trace.token_ids[: scene.position + 1])
    assert right(question) == scene.name(int(np.argmax(alone.logits)))


@pytest.mark.parametrize("turn", range(8))
def test_the_right_piece_is_one_token_and_the_wrong_ones_are_not(scene: Scene, turn: int) -> None:
    question = quiz.piece(scene, turn)
    assert question is not None
    names = [scene.name(token) for token in scene.run.prompt_ids]
    inside = [choice in names for choice in question.choices]
    assert [at for at, is_one in enumerate(inside) if is_one] == [question.answer]


def test_a_row_is_as_long_as_the_model_is_wide(scene: Scene) -> None:
    width = scene.model.embedding_rows([0]).shape[1]
    assert right(quiz.row_length(scene, 0)) == f"{width:,}"


def test_the_place_looked_at_most_has_the_largest_weight(scene: Scene) -> None:
    view = scene.trace.layer(scene.layer)
    scores = view.scores(scene.head)[-1].astype(np.float64)
    assert right(quiz.looks_most(scene, 0)) == scene.at(int(np.argmax(scores)))


@pytest.mark.parametrize("family", ["llama", "gemma3_text", "mistral"])
@pytest.mark.parametrize("turn", range(3))
def test_columns_are_counted_in_the_cache_after_the_steps(family: str, turn: int) -> None:
    if family not in tiny.FAMILIES:
        pytest.skip("not among the tiny models")
    here = scene_of(family, tiny.prompt_ids(9))
    answer = int(right(quiz.columns(here, turn)))
    for _ in range(quiz.AHEAD[turn]):
        here.run.next(GREEDY, force=3)
    held = here.model.trace(here.run.tip).kv_cache(here.layer).keys.shape[1]
    assert answer == held


def test_a_prompt_is_read_in_one_pass(scene: Scene) -> None:
    assert right(quiz.prompt_passes(scene, 0)) == "1"


@pytest.mark.parametrize("turn", range(len(quiz.TOP_P)))
def test_top_p_keeps_the_smallest_set_that_reaches_p(scene: Scene, turn: int) -> None:
    logits = scene.logits.astype(np.float64)
    chances = np.sort(np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum())[::-1]
    kept = int(np.searchsorted(np.cumsum(chances), quiz.TOP_P[turn])) + 1
    assert int(right(quiz.top_p_left(scene, turn)).replace(",", "")) == kept


@pytest.mark.parametrize("turn", range(4))
def test_a_candidate_is_removed_when_those_before_it_reach_p(scene: Scene, turn: int) -> None:
    chances = np.sort(np.exp(scene.logits.astype(np.float64)))[::-1]
    before = chances[: quiz.RANKS[turn] - 1].sum() / chances.sum()
    assert right(quiz.removed(scene, turn)) == ("yes" if before >= PARAMS.top_p else "no")


# -- rounds ----------------------------------------------------------------------------------------------


def test_a_round_asks_two_questions_of_each_concept_and_the_next_round_asks_others(scene: Scene) -> None:
    rounds = [quiz.questions(scene, turn) for turn in range(3)]
    for asked in rounds:
        assert [one.concept for one in asked] == [name for name in quiz.CONCEPTS for _ in range(2)]
    assert {one.question.id for one in rounds[0]}.isdisjoint({one.question.id for one in rounds[1]})
    assert rounds[0] == quiz.questions(scene, 0)


@pytest.mark.parametrize("length", [1, 2, 40])
@pytest.mark.parametrize("family", ["llama", "mixtral", "gpt2"])
def test_every_prompt_has_questions_whose_words_and_pages_exist(family: str, length: int) -> None:
    here = scene_of(family, tiny.prompt_ids(length), steps=0)
    pages = {page.name for page in ALL_PAGES}
    for turn in range(4):
        asked = quiz.questions(here, turn)
        assert {one.concept for one in asked} == set(quiz.CONCEPTS)
        for one in asked:
            assert one.page in pages
            page = words_of(one.question.kind)
            for part in ("ask", "why"):
                said = text.label(page, f"{part}_{one.question.kind}", **one.question.prompt_values)
                assert said and not re.search(r"\{\w+\}", said)
            for choice in one.question.choices:
                assert not isinstance(choice, Word) or text.label(page, f"choice_{choice.key}")


def test_no_explanation_of_the_quiz_is_longer_than_two_sentences() -> None:
    labels = text.load("quiz").labels
    for key, said in labels.items():
        if key.startswith("why_"):
            assert len(re.findall(r"[.!?](?:\s|$)", said)) <= 2, key


def test_a_text_is_not_quoted_up_to_the_middle_of_a_character() -> None:
    codec = TextCodec(tiny.tokenizer().backend_tokenizer)
    ids = codec.encode("a é")
    pieces = codec.pieces(ids)
    split = [at for at, piece in enumerate(pieces) if piece.part < piece.parts]
    assert split, "the tiny tokenizer cuts é into bytes"
    here = scene_of("llama", ids, steps=0)
    question = quiz.next_at(replace(here, position=split[0]), 0)
    assert question is not None and question.prompt_values["text"] == "a é"
    assert right(question) == here.name(int(np.argmax(here.logits)))
