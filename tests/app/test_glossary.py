"""Pages that need no run, on a session without a model: the glossary, and the layer behind every page."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.ui import glossary, moving, pages, terms, text
from tests.app import fakes

SHELL = Path(pages.__file__).with_name("shell.py")


def opened(monkeypatch: pytest.MonkeyPatch, page: str, **query: str) -> AppTest:
    fakes.keep_modules(monkeypatch)
    fakes.install()
    app = AppTest.from_file(str(SHELL), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    return app.switch_page(str(pages.PAGES_FOLDER / f"{page}.py")).run()


def test_the_glossary_opens_without_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "glossary", prompt="")
    assert not app.exception
    assert app.title[0].value == "Glossary"


def test_a_page_without_a_run_names_what_of_the_address_could_not_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = opened(monkeypatch, "glossary", prompt="", temperature="warm")
    assert any("left at its default: temperature" in item.value for item in app.caption)


def test_the_concept_map_opens_without_a_run_and_the_session_remembers_its_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = opened(monkeypatch, "concepts", prompt="")
    assert not app.exception
    assert app.title[0].value == "Concepts"
    assert list(app.session_state["nt_visited"]) == [pages.home_page().name, "concepts"]


def test_a_marked_term_reaches_the_page_as_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "sampling")
    assert any("(glossary?term=logit " in item.value for item in app.markdown)
    assert not any("](term:" in item.value for item in app.markdown)


def test_only_a_term_of_the_glossary_and_a_page_that_exists_are_gone_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(moving, "ask_for", lambda page, **query: asked.append((page, query)))
    for payload in ("kv-cache", "no-such-term", "../x", None, 7):
        terms._open(payload)
    assert asked == [("glossary", {"term": "kv-cache"})]


def test_pages_are_named_by_their_title_and_address() -> None:
    links = glossary.page_links()
    assert links["kv_cache"] == ("kv_cache", "KV cache", "kv-cache")
    assert set(links) == {info.name for info in pages.available_pages()}
    assert text.terms()["kv-cache"].name == "KV cache"
