"""The tour in the frame of the pages, with a stand-in for the engine: where its bar is and what links say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.lessons import tour
from core.lessons.questions import Question
from core.ui import loading, pages, predict, text
from core.ui import tour as bar
from tests.app import fakes

SHELL = Path(pages.__file__).with_name("shell.py")
PAGE = """
from core.ui.page import open_page
page = open_page("{name}")
"""


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every bar that is drawn: its content and its two handlers."""
    bars: list[dict[str, Any]] = []
    monkeypatch.setattr(bar, "tour_bar", lambda content, **rest: bars.append({"bar": content, **rest}))
    return bars


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    fakes.keep_modules(monkeypatch)
    fakes.install()
    monkeypatch.setattr(loading, "_loads", {})
    monkeypatch.setattr(pages, "PAGES_FOLDER", tmp_path)
    for name in ("generate", "tokens"):
        (tmp_path / f"{name}.py").write_text(PAGE.format(name=name))
    real = pages.Path(text.TEXT_FOLDER).parents[1] / "pages" / "tour.py"
    (tmp_path / "tour.py").write_text(real.read_text(encoding="utf-8"))
    loading.begin("smollm2-135m").done.wait(5)
    yield AppTest.from_file(str(SHELL), default_timeout=20)


def go(app: AppTest, page: str, **query: str) -> AppTest:
    for name, value in query.items():
        app.query_params[name] = value
    return app.switch_page(str(pages.PAGES_FOLDER / f"{page}.py")).run()


def test_a_stop_asks_about_the_run_on_its_page(shell: AppTest, shown: list[dict[str, Any]]) -> None:
    shell.run()
    go(shell, "tokens", prompt="one two three", tour="tokens")
    assert not shell.exception
    drawn = shown[-1]
    assert drawn["bar"].title == text.label("tour", "title_tokens") and not drawn["bar"].waiting
    assert drawn["bar"].asked.answer == 3 and not drawn["bar"].asked.revealed
    assert shell.query_params["tour"] == "tokens"


def test_on_another_page_the_tour_waits(shell: AppTest, shown: list[dict[str, Any]]) -> None:
    shell.run()
    go(shell, "generate", tour="tokens")
    assert not shell.exception
    assert shown[-1]["bar"].asked is None and text.label("tour", "title_tokens") in shown[-1]["bar"].waiting


def test_without_a_tour_there_is_no_bar(shell: AppTest, shown: list[dict[str, Any]]) -> None:
    shell.run()
    go(shell, "tokens")
    assert not shell.exception and not shown


def test_the_tour_page_has_a_link_to_every_stop_of_a_selection(shell: AppTest) -> None:
    shell.run()
    go(shell, "tour", plan="15")
    assert not shell.exception
    here = [stop for stop in tour.all_stops() if stop.page in {"generate", "tokens"} and "15" in stop.plans]
    said = " ".join(item.value for item in [*shell.markdown, *shell.caption])
    assert f"{len(here)} stops" in said
    assert shell.query_params["plan"] == "15"
    shell.toggle(key="nt_tour_notes").set_value(True).run()
    said = " ".join(item.value for item in shell.caption)
    assert all(text.label("tour", f"notes_{stop.id}") in said for stop in here)


def test_an_answer_counts_once_and_only_for_its_question(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}
    monkeypatch.setattr(predict.st, "session_state", kept)
    asked, other = Question("tokens", {}, (), 3), Question("tokens", {}, (), 4)
    predict.take(asked, "t", {"id": other.id, "given": 3})
    assert predict.outcome(asked, "t") is None
    predict.take(asked, "t", {"id": asked.id, "given": 3})
    predict.take(asked, "t", {"id": asked.id, "given": 5})
    assert predict.score("t") == (1, 1)
    predict.take(other, "t", {"id": other.id, "given": None})
    assert predict.score("t") == (1, 1) and predict.outcome(other, "t") is not None
    predict.forget("t")
    assert predict.score("t") == (0, 0)
