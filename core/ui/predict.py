"""Predict, then see: questions of ``core.lessons.questions`` on a page, what was answered, and the score.

    outcome = predict(question, page="quiz", key="nt_quiz_tokens", topic="quiz")
    right, answered = score("quiz")

The words are labels of the page's text file, see ``core.lessons.questions``. Whatever the learner answers
stays until the question is another one, and counts once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.components import predict as component
from core.components.predict import Asked, read_answer
from core.lessons.questions import Question, Word
from core.ui import text

_KEY = "nt_answers"


@dataclass(frozen=True)
class Outcome:
    """An answered question: ``given`` is None when the learner asked to see the answer without a guess."""

    kind: str
    given: int | None
    right: bool


def predict(question: Question, *, page: str, key: str, topic: str) -> Outcome | None:
    """Show a question; returns what was answered so far, None while it is open.

    ``page`` names the text file with its words, ``topic`` what the score counts together. Put it into a
    fragment where the page is slow to draw: an answer draws it again.
    """
    component.predict(
        in_words(question, page, topic),
        key=key,
        words=words(),
        on_answer=lambda payload: take(question, topic, payload),
    )
    return outcome(question, topic)


def in_words(question: Question, page: str, topic: str) -> Asked:
    """The question with the words of ``page`` and with what was answered."""
    told = outcome(question, topic)
    values: dict[str, Any] = dict(question.prompt_values)
    return Asked(
        id=question.id,
        ask=text.label(page, f"ask_{question.kind}", **values),
        choices=[
            text.label(page, f"choice_{choice.key}") if isinstance(choice, Word) else choice
            for choice in question.choices
        ],
        answer=question.answer,
        why=text.label(page, f"why_{question.kind}", **values),
        given=told.given if told else None,
        revealed=told is not None,
    )


def words() -> dict[str, str]:
    """The short words around every question."""
    return {name: text.label("shell", f"predict_{name}") for name in component.WORDS}


def take(question: Question, topic: str, payload: Any) -> None:
    """Note an answer that the browser sent; one to another question, or a second one, is left aside."""
    answer = read_answer(payload)
    if answer is None or answer[0] != question.id:
        return
    given = answer[1]
    right = given is not None and question.is_right(given)
    _answers(topic).setdefault(question.id, Outcome(question.kind, given, right))


def outcome(question: Question, topic: str) -> Outcome | None:
    """What was answered to this very question."""
    return _answers(topic).get(question.id)


def outcomes(topic: str) -> tuple[Outcome, ...]:
    """Everything that was answered, in its order."""
    return tuple(_answers(topic).values())


def score(topic: str) -> tuple[int, int]:
    """How many guesses were right, and how many were made."""
    guessed = [told for told in _answers(topic).values() if told.given is not None]
    return sum(told.right for told in guessed), len(guessed)


def forget(topic: str) -> None:
    """Start again: every question of the topic is open."""
    _answers(topic).clear()


def _answers(topic: str) -> dict[str, Outcome]:
    kept: dict[str, dict[str, Outcome]] = st.session_state.setdefault(_KEY, {})
    return kept.setdefault(topic, {})
