"""The Sampling page on a tiny model: opened in several places, its settings shared with run and link."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.decoding.params import SamplingParams
from core.ui import sampling, state
from core.ui.page import Page
from tests.app.opening import open_page


def opened(monkeypatch: pytest.MonkeyPatch, **query: Any) -> AppTest:
    return open_page(monkeypatch, "sampling", **query)


def shown(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.latex)
    return " ".join(item.value for kind in kinds for item in kind).replace("\\", "")


@pytest.mark.parametrize(
    "query",
    [{}, {"step": "3"}, {"step": "3", "position": "1"}, {"prompt": "a"}, {"prompt": "é é"}, {"top_k": "1"}],
)
def test_the_page_opens_and_its_check_passes(monkeypatch: pytest.MonkeyPatch, query: dict[str, str]) -> None:
    app = opened(monkeypatch, **query)
    assert not app.exception
    assert "check_circle" in shown(app) and "p_{T}" in shown(app)


def test_greedy_has_no_formula_to_divide_by_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, temperature="0")
    assert not app.exception
    assert "At T = 0 nothing is divided" in shown(app) and "p_{T}" not in shown(app)


def test_an_experiment_sets_the_settings_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, top_k="7")
    next(button for button in app.button if button.label == "Hot, with min-p").click().run()
    assert not app.exception
    query = dict(app.query_params.items())
    assert query["temperature"] == "2" and query["min_p"] == "0.1" and query["top_p"] == "1"
    assert "top_k" not in query  # the usual value again


class FakePage:
    """What the events of the component are allowed to change."""

    def __init__(self, run: object) -> None:
        self.session = state.Session()
        self.run = run

    def select(self, **place: int) -> None:
        self.session.select(**place)


class FakeRun:
    def __init__(self) -> None:
        self.prompt_ids, self.cursor, self.jumped = (1, 2, 3), 1, []

    def jump(self, step: int) -> None:
        self.jumped.append(step)


def as_page(fake: FakePage) -> Page:
    return fake  # type: ignore[return-value]


def test_a_released_slider_becomes_the_settings_of_all_pages() -> None:
    page = FakePage(FakeRun())
    changed = SamplingParams(temperature=1.4, top_k=5, seed=3)
    sampling._take_params(as_page(page), changed.to_json())
    assert page.session.params == changed
    sampling._take_params(as_page(page), {"temperature": "warm"})
    assert page.session.params == changed


def test_a_token_ahead_moves_the_run_and_one_behind_does_not() -> None:
    run = FakeRun()
    page = FakePage(run)
    sampling._take_place(as_page(page), {"position": 1}, 6)
    assert page.session.link.position == 1 and run.jumped == []
    sampling._take_place(as_page(page), {"position": 5}, 6)
    assert page.session.link.position == 5 and run.jumped == [3]
    sampling._take_place(as_page(page), {"position": 6}, 6)
    assert page.session.link.position == 5
