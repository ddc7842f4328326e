"""The Block page on tiny models: every kind of block, its norms and its neurons."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.opening import open_page


def opened(family: str, monkeypatch: pytest.MonkeyPatch, prompt: str = "the cat", **query: Any) -> AppTest:
    state = {f"nt_deeper_block_{part}": True for part in ("norm", "neurons")}
    return open_page(monkeypatch, "block", family, state, prompt=prompt, **query)


def shown(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.info)
    return " ".join(item.value for kind in kinds for item in kind).replace("\\", "")


def checks(app: AppTest) -> list[str]:
    return [item.value for item in app.caption if "largest difference" in item.value]


@pytest.mark.parametrize(
    ("family", "words", "count"),
    [
        ("llama", "attention first, then the feed-forward part", 5),
        ("gpt2", "This model has no gate", 5),
        ("gemma3_text", "RMSNorm", 5),
        ("phi", "a **parallel** block", 5),
        ("gptj", "a **parallel** block", 5),
        ("mixtral", "there is no always-on one", 4),
        ("qwen2_moe", "always-on (shared) expert", 6),
    ],
)
def test_every_kind_of_block_is_shown_and_checked(
    monkeypatch: pytest.MonkeyPatch, family: str, words: str, count: int
) -> None:
    app = opened(family, monkeypatch)
    assert not app.exception
    assert words in shown(app)
    assert len(checks(app)) == count and all("check_circle" in line for line in checks(app))


@pytest.mark.parametrize("prompt", ["t", "the the the the", "é"])
def test_short_and_repeated_prompts_work(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app = opened("llama", monkeypatch, prompt)
    assert not app.exception
    assert all("check_circle" in line for line in checks(app))


def test_another_layer_is_chosen_for_all_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("llama", monkeypatch)
    app.number_input(key="nt_pick_layer").set_value(2).run()
    assert not app.exception
    assert app.session_state["nt_session"].link.layer == 2
    assert "Layer 2 of the loaded model" in shown(app)
