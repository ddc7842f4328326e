"""The Embeddings page on a tiny model: typed tokens, sums, and places that follow the choice."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.ui import embeddings
from tests.app.opening import PROMPT, open_page

TYPED = embeddings.TYPED


def opened(family: str, monkeypatch: pytest.MonkeyPatch, prompt: str = PROMPT) -> AppTest:
    return open_page(monkeypatch, "embeddings", family, prompt=prompt)


def shown(app: AppTest) -> str:
    return " ".join(item.value for kind in (app.markdown, app.caption) for item in kind).replace("\\", "")


def checks(app: AppTest) -> list[str]:
    return [item.value for item in app.caption if "largest difference" in item.value]


@pytest.mark.parametrize(
    ("family", "words"),
    [
        ("llama", "goes into the first block as it is"),
        ("gpt2", "adds a second looked-up vector"),
        ("gemma3_text", "multiplies each row by"),
    ],
)
def test_the_way_into_the_first_block_is_stated_and_checked(
    monkeypatch: pytest.MonkeyPatch, family: str, words: str
) -> None:
    app = opened(family, monkeypatch)
    assert not app.exception
    assert words in shown(app)
    assert len(checks(app)) == 3 and all("check_circle" in line for line in checks(app))


def test_a_typed_word_is_looked_up_until_another_place_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("llama", monkeypatch)
    app.text_input(key=TYPED).set_value("the cat").run()
    assert "tokens. Shown: the first one" in shown(app)
    app.query_params["position"] = "1"
    app.run()
    assert not app.exception
    assert app.text_input(key=TYPED).value == ""


def test_three_words_are_added_and_a_missing_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("llama", monkeypatch)
    for key, word in zip(embeddings.SUM_KEYS, ("the", "a", "of"), strict=True):
        app.text_input(key=key).set_value(word)
    app.run()
    assert "comes first" in shown(app) or "come first" in shown(app)
    app.text_input(key=embeddings.SUM_KEYS[1]).set_value("").run()
    assert not app.exception and "Type three words" in shown(app)
    app.button(key="nt_sum_capital").click().run()
    assert app.text_input(key=embeddings.SUM_KEYS[0]).value == "Paris"


@pytest.mark.parametrize("prompt", ["a", "é é", "x" * 60])
def test_odd_prompts_work(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app = opened("llama", monkeypatch, prompt)
    assert not app.exception
    assert all("check_circle" in line for line in checks(app)) and checks(app)
    assert ("Shown: positions" in shown(app)) == (len(prompt) > 50)


@pytest.mark.parametrize("payload", [None, "x", {}, {"position": -1}, {"position": True}, {"position": 1.5}])
def test_what_the_browser_sends_is_checked(payload: object) -> None:
    assert embeddings._whole(payload, "position") is None
    assert embeddings._whole({"position": 3}, "position") == 3
