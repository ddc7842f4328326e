"""What a page asks before it shows its numbers: the answers are what another sum gives."""

from __future__ import annotations

import numpy as np
import pytest

from core.lessons.guess import QUESTIONS, computed_or_cached, heads
from core.lessons.questions import Word
from core.ui import text
from core.ui.pages import ALL_PAGES
from core.ui.quiz import words_of
from tests.unit import tiny
from tests.unit.test_quiz import scene_of


@pytest.mark.parametrize("turn", range(6))
@pytest.mark.parametrize("steps", [0, 2])
def test_what_the_newest_pass_computed_is_what_it_was_given(turn: int, steps: int) -> None:
    scene = scene_of("llama", tiny.prompt_ids(5), steps)
    question = computed_or_cached(scene, turn)
    assert question is not None
    place = int(question.prompt_values["place"]) - 1
    fresh = range(scene.trace.n_positions)[-len(scene.run.tip.token_ids) :]
    choice = question.choices[question.answer]
    assert isinstance(choice, Word) and choice.key == ("computed" if place in fresh else "cached")


def test_both_answers_come_up_in_a_run_with_steps() -> None:
    scene = scene_of("llama", tiny.prompt_ids(5), 2)
    asked = [computed_or_cached(scene, turn) for turn in range(4)]
    assert {question.answer for question in asked if question} == {0, 1}


def test_the_head_is_the_one_with_the_largest_mean_weight_on_the_token_before() -> None:
    scene = scene_of("llama", tiny.prompt_ids(9), 0)
    for turn in range(2):
        question = heads(scene, turn)
        assert question is not None
        view = scene.trace.layer(int(question.prompt_values["layer"]))
        means = [
            np.mean([view.weights(head)[row, row - 1] for row in range(2, scene.trace.n_positions)])
            for head in range(scene.model.shape.n_heads)
        ]
        assert question.choices[question.answer] == str(int(np.argmax(means)))


@pytest.mark.parametrize("page", QUESTIONS)
@pytest.mark.parametrize("length", [1, 12])
def test_every_page_that_asks_has_its_words(page: str, length: int) -> None:
    assert page in {info.name for info in ALL_PAGES}
    question = QUESTIONS[page](scene_of("llama", tiny.prompt_ids(length), 0), 0)
    if question is None:
        assert (page, length) == ("attention", 1)
        return
    words = words_of(question.kind)
    for part in ("ask", "why"):
        assert text.label(words, f"{part}_{question.kind}", **question.prompt_values)
    for choice in question.choices:
        assert not isinstance(choice, Word) or text.label(words, f"choice_{choice.key}")
