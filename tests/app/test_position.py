"""The Position page on tiny models: it follows the model that is loaded."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ui.position import TEXT_KEYS
from tests.app.opening import open_page


def opened(family: str, monkeypatch: pytest.MonkeyPatch, prompt: str = "the cat", **query: Any) -> AppTest:
    return open_page(monkeypatch, "position", family, prompt=prompt, **query)


def shown(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info)
    return " ".join(item.value for kind in kinds for item in kind).replace("\\", "")


def checks(app: AppTest) -> list[str]:
    return [item.value for item in app.caption if "largest difference" in item.value]


@pytest.mark.parametrize(
    ("family", "words", "count"),
    [
        ("llama", "number i turns together with number i + 4", 3),
        ("cohere", "neighbours turn together", 3),
        ("phi", "Only 4 of the 8 numbers", 3),
        ("gpt2", "has a learned vector for each place", 1),
    ],
)
def test_the_page_follows_the_loaded_model(
    monkeypatch: pytest.MonkeyPatch, family: str, words: str, count: int
) -> None:
    app = opened(family, monkeypatch)
    assert not app.exception
    assert words in shown(app)
    assert len(checks(app)) == count and all("check_circle" in line for line in checks(app))


def test_a_layer_without_rotation_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("smollm3", monkeypatch, layer="1")
    assert not app.exception
    assert "does not turn queries and keys" in shown(app)


@pytest.mark.parametrize("prompt", ["t", "the the the the", "é"])
def test_short_and_repeated_prompts_work(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app = opened("llama", monkeypatch, prompt)
    assert not app.exception
    assert all("check_circle" in line for line in checks(app))


def test_two_orders_can_be_typed_and_leave_the_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("llama", monkeypatch)
    app.text_input(key=TEXT_KEYS[0]).set_value("a<b").run()
    app.text_input(key=TEXT_KEYS[1]).set_value("zz").run()
    assert not app.exception
    assert "share no token" in shown(app)
    app.text_input(key=TEXT_KEYS[1]).set_value("").run()
    assert not app.exception and "Type a text in both fields" in shown(app)
    app.button(key="nt_position_preset_capital").click().run()
    assert app.text_input(key=TEXT_KEYS[0]).value == "Dog bites man"
    assert app.session_state["nt_session"].link.prompt == "the cat"
