"""Guess first on the pages that have it: off by default, and nothing is drawn before the guess."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.lessons.guess import QUESTIONS
from core.ui import guess, pages, predict
from tests.app.test_quiz import opened as opened_quiz


def opened(monkeypatch: pytest.MonkeyPatch, page: str) -> AppTest:
    return opened_quiz(monkeypatch, step="1").switch_page(str(pages.PAGES_FOLDER / f"{page}.py")).run()


@pytest.mark.parametrize("page", sorted(set(QUESTIONS) - {"tokens"}))  # that page needs a catalogued model
def test_the_page_waits_for_the_guess_and_then_shows_everything(
    monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    app = opened(monkeypatch, page)
    assert not app.exception
    everything = [item.value for item in app.markdown]
    app.toggle(key="nt_guess_first").set_value(True).run()
    assert not app.exception
    hidden = [item.value for item in app.markdown]
    assert len(hidden) < len(everything)
    asked = app.session_state[guess._KEY].asked[page][2]
    assert asked is not None
    app.session_state[predict._KEY] = {
        guess.TOPIC: {asked.id: predict.Outcome(asked.kind, asked.answer, True)}
    }
    app.run()
    assert not app.exception
    assert [item.value for item in app.markdown] == everything
    assert "1 of 1 right" in [item.value for item in app.caption]


def test_the_switch_stays_on_the_next_page_and_off_on_again_asks_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = opened(monkeypatch, "attention")
    app.toggle(key="nt_guess_first").set_value(True).run()
    first = app.session_state[guess._KEY].asked["attention"][2]
    app.switch_page(str(pages.PAGES_FOLDER / "kv_cache.py")).run()
    assert app.toggle(key="nt_guess_first").value is True
    app.switch_page(str(pages.PAGES_FOLDER / "attention.py")).run()
    assert app.session_state[guess._KEY].asked["attention"][2] == first
    app.toggle(key="nt_guess_first").set_value(False).run()
    app.toggle(key="nt_guess_first").set_value(True).run()
    assert not app.exception
    assert app.session_state[guess._KEY].asked["attention"][2].id != first.id
