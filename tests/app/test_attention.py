"""The Attention page on tiny models: it opens, its checks pass, and an experiment stays beside the run."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ui import loading
from tests.app.opening import open_page


def opened(monkeypatch: pytest.MonkeyPatch, family: str = "llama", **query: Any) -> AppTest:
    return open_page(monkeypatch, "attention", family, **query)


def checks(app: AppTest) -> list[str]:
    return [item.value for item in app.caption if "largest difference" in item.value]


def shown(app: AppTest) -> str:
    return " ".join(item.value for kind in (app.markdown, app.caption) for item in kind)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3_text", "mixtral", "gpt_oss", "olmo2"])
def test_the_page_opens_and_its_checks_pass_in_every_family(
    monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    app = opened(monkeypatch, family, layer=1, head=2)
    assert not app.exception
    assert len(checks(app)) == 2
    assert all("check_circle" in line for line in checks(app))


@pytest.mark.parametrize("prompt", ["a", "the the the the", "<b>$x$</b>"])
def test_short_repeated_and_odd_prompts_open(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app = opened(monkeypatch, prompt=prompt)
    assert not app.exception and len(checks(app)) == 2


def test_an_experiment_is_badged_and_reset_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, layer=1, head=2)
    assert "Experiment" not in shown(app)
    app.button(key="nt_attention_head").click().run()
    assert not app.exception
    assert "Experiment: not your run" in shown(app) and "layer 1 head 2" in shown(app)
    assert app.button(key="nt_attention_head").label == "Switch head 2 of layer 1 on again"
    app.button(key="nt_attention_layer").click().run()
    assert "all attention of layer 1, layer 1 head 2" in shown(app)
    app.button(key="nt_attention_reset").click().run()
    assert "Experiment" not in shown(app)


def test_an_experiment_leaves_the_run_and_the_address_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, layer=1)
    tip, query = app.session_state["nt_session"].run.tip, dict(app.query_params.items())
    logits = tip.logits.copy()
    app.button(key="nt_attention_layer").click().run()
    now = app.session_state["nt_session"].run.tip
    assert now is tip and (now.logits == logits).all() and tip.experiment is None
    assert dict(app.query_params.items()) == query


def test_the_formula_holds_the_weight_of_the_heaviest_key(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, layer=1, head=2, position=4)
    session = app.session_state["nt_session"]
    model = loading.model("smollm2-135m")
    weights = model.trace(session.run.tip).layer(1).weights(2)[4]
    filled = " ".join(item.value for item in app.latex)
    assert f"= {weights.max():.4g}" in filled
