"""The Quiz page on a tiny model: the words, the score, and other questions."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ui import predict, quiz
from tests.app.opening import open_page


def opened(monkeypatch: pytest.MonkeyPatch, **query: Any) -> AppTest:
    return open_page(monkeypatch, "quiz", **query)


def shown(app: AppTest) -> str:
    return " ".join(item.value for item in app.markdown)


@pytest.mark.parametrize(
    "query", [{}, {"prompt": "a"}, {"prompt": "é <b>$x$\n"}, {"step": "3", "top_k": "2"}]
)
def test_the_recap_has_five_concepts_and_counts_its_questions(
    monkeypatch: pytest.MonkeyPatch, query: dict[str, str]
) -> None:
    app = opened(monkeypatch, **query)
    assert not app.exception
    assert all(f"#### {number} ·" in shown(app) for number in range(1, 6))
    assert "0 right of 0 guessed" in shown(app) and "round 1" in shown(app)


def test_a_guess_is_scored_once_and_shows_where_it_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch)
    made_for, asked = app.session_state[quiz._MADE]
    question = asked[0].question
    app.session_state[predict._KEY] = {
        "quiz 0": {question.id: predict.Outcome(question.kind, question.answer, True)}
    }
    app.run()
    assert not app.exception
    assert app.session_state[quiz._MADE] == (made_for, asked)
    assert "1 right of 1 guessed" in shown(app)


def test_other_questions_are_a_new_round(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch)
    before = {one.question.id for one in app.session_state[quiz._MADE][1]}
    app.button(key="nt_quiz_again").click().run()
    assert not app.exception and "round 2" in shown(app)
    assert before.isdisjoint(one.question.id for one in app.session_state[quiz._MADE][1])
