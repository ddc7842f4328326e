"""Fragments keep their identity from one run of a page to the next.

Streamlit names a fragment by its place among the page's elements, and drops an event whose fragment is gone.
Something drawn above it in one run and not in the next moves it: a click made in between would be lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.testing.v1 import AppTest

from core.lessons.guess import QUESTIONS
from core.lessons.tour import all_stops
from core.ui import guess, pages, predict
from tests.app.opening import open_page

WITHOUT_FRAGMENTS = {"tour", "concepts", "glossary", "from_zero", "sampling"}
NEEDS_A_CATALOGUED_MODEL = {"tokens"}
PAGES = [
    page.name for page in pages.ALL_PAGES if page.name not in WITHOUT_FRAGMENTS | NEEDS_A_CATALOGUED_MODEL
]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The fragments that were drawn since the set was emptied."""
    found: set[str] = set()
    register = MemoryFragmentStorage.register

    def noted(storage: MemoryFragmentStorage, key: str, fragment: object, **more: object) -> None:
        found.add(key)
        register(storage, key, fragment, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryFragmentStorage, "register", noted)
    yield found


def again(app: AppTest, drawn: set[str]) -> set[str]:
    drawn.clear()
    app.run()
    assert not app.exception
    return set(drawn)


@pytest.mark.parametrize("name", PAGES)
def test_the_run_that_reads_the_prompt_and_the_next_one_draw_the_same_fragments(
    name: str, monkeypatch: pytest.MonkeyPatch, drawn: set[str]
) -> None:
    app = open_page(monkeypatch, name)
    app.session_state["nt_session"].drop_run()
    first = again(app, drawn)
    assert first
    assert again(app, drawn) == first


@pytest.mark.parametrize("name", PAGES)
def test_leaving_the_tour_moves_no_fragment(
    name: str, monkeypatch: pytest.MonkeyPatch, drawn: set[str]
) -> None:
    elsewhere = next(stop for stop in all_stops() if stop.page not in (name, "journey"))
    app = open_page(monkeypatch, name, tour=elsewhere.id)
    with_the_bar = again(app, drawn)
    session = app.session_state["nt_session"]
    assert session.link.tour == elsewhere.id
    session.link = replace(session.link, tour="")
    assert again(app, drawn) == with_the_bar


@pytest.mark.parametrize("name", sorted(set(QUESTIONS) & set(PAGES)))
def test_guessing_first_moves_no_fragment(
    name: str, monkeypatch: pytest.MonkeyPatch, drawn: set[str]
) -> None:
    app = open_page(monkeypatch, name)
    plain = again(app, drawn)
    app.toggle(key="nt_guess_first").set_value(True).run()
    asked = app.session_state[guess._KEY].asked[name][2]
    told = predict.Outcome(asked.kind, asked.answer, True)
    app.session_state[predict._KEY] = {guess.TOPIC: {asked.id: told}}
    assert again(app, drawn) == plain
