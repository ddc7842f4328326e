"""Questions: what makes one answerable, and where the right choice stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.components.predict import read_answer
from core.lessons.questions import Question, Word, among_numbers, among_texts, one_of, yes_or_no

texts = st.text(min_size=1, max_size=8)


@given(texts, st.lists(texts, max_size=8), st.integers(0, 20))
def test_the_right_text_stands_among_different_ones(right: str, others: list[str], turn: int) -> None:
    question = among_texts("k", {}, right, others, turn)
    if question is None:
        assert not set(others) - {right}
    else:
        assert question.choices[question.answer] == right
        assert set(question.choices) == {right, *others}
        assert len(set(question.choices)) == len(question.choices)


@given(st.integers(0, 10**12), st.lists(st.integers(-5, 10**12), max_size=7))
def test_numbers_ascend_and_hold_the_right_one(right: int, others: list[int]) -> None:
    question = among_numbers("k", {}, right, others)
    numbers = [int(str(choice).replace(",", "")) for choice in question.choices]
    assert numbers == sorted(set(numbers)) and len(numbers) >= 2 and min(numbers) >= 0
    assert numbers[question.answer] == right and question.is_right(question.answer)


def test_words_are_asked_in_their_order() -> None:
    assert one_of("k", {}, ("rises", "falls"), "falls").answer == 1
    assert [yes_or_no("k", {}, so).choices[yes_or_no("k", {}, so).answer] for so in (True, False)] == [
        Word("yes"),
        Word("no"),
    ]


@pytest.mark.parametrize("choices, answer", [(("a",), 0), (("a", "a"), 0), (("a", "b"), 2), (("a", "b"), -1)])
def test_a_question_that_cannot_be_answered_is_refused(choices: tuple[str, ...], answer: int) -> None:
    with pytest.raises(ValueError):
        Question("k", {}, choices, answer)


def test_another_prompt_makes_another_question() -> None:
    assert Question("k", {"token": "a"}, (), 3).id != Question("k", {"token": "b"}, (), 3).id
    assert Question("k", {}, (), 3).wants_number


BAD = [None, 3, {}, {"id": 3, "given": 1}, {"id": "a", "given": "1"}, {"id": "a", "given": True}]


@pytest.mark.parametrize("payload", [*BAD, {"id": "a", "given": -1}])
def test_what_the_browser_sends_is_checked(payload: object) -> None:
    assert read_answer(payload) is None


def test_an_answer_and_a_wish_to_see_are_told_apart() -> None:
    assert read_answer({"id": "a", "given": 2}) == ("a", 2)
    assert read_answer({"id": "a", "given": None}) == ("a", None)
