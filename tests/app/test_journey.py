"""The Journey on a tiny model: it is the home page, its lenses, its places, its handout, its odd prompts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ui import journey, pages, state
from core.ui.journey import VIEW, View
from tests.app.opening import shell, tiny_model
from tests.unit.test_wire import unpack


def opened(monkeypatch: pytest.MonkeyPatch, family: str = "llama", lens: str = "", **query: str) -> AppTest:
    app = shell(monkeypatch, tiny_model(family), query)
    if lens:
        app.session_state[VIEW] = View(lens)
    return app.run()


def watched(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What each drawing of the page sends to the browser."""
    sent: list[dict[str, Any]] = []

    def note(message: Any, on: Any, line: Any) -> None:
        sent.append({"message": message[0], "on": on, "line": line, **message[1]})

    monkeypatch.setattr(journey, "journey", note)
    return sent


def test_it_is_the_home_page(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = watched(monkeypatch)
    app = opened(monkeypatch)
    assert "largest difference" in sent[-1]["message"]["journey"]["check"]
    assert pages.home_page().name == "journey"
    assert not app.exception
    assert app.title[0].value == "Journey"


@pytest.mark.parametrize("family", ["gpt2", "gemma3_text", "mixtral"])
@pytest.mark.parametrize("lens", ["size", "say", "attention", "cache", "time", "expert"])
def test_every_lens_opens_in_every_family(monkeypatch: pytest.MonkeyPatch, family: str, lens: str) -> None:
    sent = watched(monkeypatch)
    app = opened(monkeypatch, family, lens, step="2")
    assert not app.exception
    shown = sent[-1]["message"]["journey"]
    moe = family == "mixtral"
    assert ("expert" in shown["lenses"]) == moe
    assert shown["lens"]["name"] == ("size" if lens == "expert" and not moe else lens)


@pytest.mark.parametrize("prompt", ["a", "the the the", "x" * 50])
def test_odd_prompts_work(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    sent = watched(monkeypatch)
    app = opened(monkeypatch, prompt=prompt)
    assert not app.exception
    message = sent[-1]["message"]
    count = message["prompt"]
    assert sent[-1]["sizes"].shape[1] == len(message["journey"]["predictions"]) == count
    assert sent[-1]["weights"].shape == (count,)


def test_the_lens_computes_only_when_the_browser_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = watched(monkeypatch)
    app = opened(monkeypatch, lens="say")
    assert not sent[-1]["message"]["journey"]["lens"]["complete"]
    sent[-1]["on"]["more"](1)
    app.run()
    assert sent[-1]["message"]["journey"]["lens"]["complete"]
    assert not app.exception


def test_a_step_is_answered_on_the_line_with_the_whole_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    sent = watched(monkeypatch)
    app = opened(monkeypatch)
    settings = app.session_state["nt_session"].params.to_json()
    reply = sent[-1]["line"].answer({"kind": "next", "number": 7, "params": settings})
    head, _ = unpack(reply)
    assert head["header"]["state"]["step"] == 1 and head["header"]["answered"] == 7
    assert head["address"]["query"]["step"] == "1"
    assert {entry["name"] for entry in head["arrays"]} >= {"logits", "shades", "embeddings", "weights"}
    assert sent[-1]["line"].answer("nonsense") is None
    app.query_params["step"] = "1"  # as the browser writes it
    app.run()
    assert sent[-1]["message"]["state"]["step"] == 1, "the script draws the same run"


def test_a_lens_and_a_page_from_the_browser_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = View()
    for payload in ("nonsense", None, 3, ["say"]):
        seen.take(payload)
    assert seen == View()
    seen.take("say")
    assert seen == View("say", work=True)


def test_a_page_just_entered_keeps_the_choices_when_its_first_run_is_cut_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = SimpleNamespace(to_dict=dict)  # bare: a page that was switched to
    monkeypatch.setattr(state, "st", SimpleNamespace(session_state={}, query_params=address))
    current = state.session()
    current.page, current.written = "Journey", {"head": "3"}
    current.select(head=3, layer=15)
    state.begin_run("The block")  # cut short before the address is written
    state.begin_run("The block")
    assert (current.link.head, current.link.layer) == (3, 15)


def test_the_handout_holds_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(journey, "handout_button", kept.append)
    app = opened(monkeypatch, step="2", prompt="<b>the</b>")
    assert not app.exception
    text = journey.handout_text(kept[-1])
    assert "&lt;b&gt;the&lt;/b&gt;" in text and "<b>" not in text
