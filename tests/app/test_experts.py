"""The Experts page on tiny models: every family opens, the router is overruled, dense models get an offer."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ui import experts_more, loading
from core.ui.text import load
from tests.app.opening import open_page, tiny_model
from tests.unit import tiny

LABELS = load("experts").labels


def opened(monkeypatch: pytest.MonkeyPatch, family: str, **query: Any) -> AppTest:
    found = {
        "smollm2-135m": tiny_model(family),
        "smollm2-135m-moe": tiny_model("qwen2_moe", "smollm2-135m-moe"),
    }
    monkeypatch.setattr(experts_more, "section", lambda page, name: "the cat is on the mat")
    return open_page(
        monkeypatch, "experts", lambda name, progress=None: found[name], **({"layer": "1"} | query)
    )


def shown(app: AppTest) -> str:
    return " ".join(item.value for kind in (app.markdown, app.caption) for item in kind).replace("\\", "")


def look(app: AppTest, name: str) -> AppTest:
    app.session_state["nt_experts_look"] = name
    return app.run()


@pytest.mark.parametrize("family", list(tiny.MOE))
def test_the_page_opens_for_every_family_and_its_checks_pass(
    monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    app = opened(monkeypatch, family)
    assert not app.exception
    checks = [item.value for item in app.caption if "largest difference" in item.value]
    assert len(checks) == 2 and all("check_circle" in line for line in checks)
    assert "experts each" in shown(app)


def test_overruling_the_router_is_badged_and_can_be_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "mixtral")
    assert LABELS["changed_none"] in shown(app)
    app.button(key="nt_experts_force").click().run()
    assert not app.exception
    assert "of the probability is somewhere else now" in shown(app)
    app.button(key="nt_experts_off").click().run()
    assert "layer 1: expert" in shown(app) and "off" in shown(app)
    app.button(key="nt_experts_reset").click().run()
    assert LABELS["changed_none"] in shown(app)


def test_switching_off_an_expert_that_no_token_took_says_that_nothing_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = opened(monkeypatch, "mixtral", prompt="a")
    boxes = {str(box.key).removeprefix("nt_experts_").split("_")[0]: box for box in app.selectbox}
    unused = next(e for e in boxes["off"].options if e not in boxes["instead"].options)
    boxes["off"].select_index(int(unused)).run()
    app.button(key="nt_experts_off").click().run()
    assert not app.exception and LABELS["nothing_moved"] in shown(app)


@pytest.mark.parametrize("name", ["load", "taken", "contexts", "top_k", "counts", "side"])
@pytest.mark.parametrize("family", ["qwen2_moe", "deepseek_v3"])
def test_every_closer_look_opens(monkeypatch: pytest.MonkeyPatch, family: str, name: str) -> None:
    app = look(opened(monkeypatch, family), name)
    assert not app.exception and ":material/error:" not in shown(app)
    if name == "top_k":
        app.button(key="nt_experts_measure_k").click().run()
        assert not app.exception and app.dataframe


def test_a_dense_layer_of_a_mixture_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "glm4_moe", layer="0")
    assert not app.exception
    assert LABELS["change_dense"] in shown(app)


def test_a_dense_model_offers_the_mixture_and_holds_it_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "llama")
    assert not app.exception and "has no router" in shown(app)
    app.button(key="nt_experts_partner").click().run()
    loading.begin("smollm2-135m-moe").done.wait(20)
    app.run()
    assert not app.exception
    assert "Parameters touched per token" in shown(app) and "KL(dense" in shown(app)
    app.button(key="nt_experts_time").click().run()
    assert "One new token now took" in shown(app)
    app.button(key="nt_experts_offer").click().run()
    assert not app.exception and "experts each" in shown(app)


@pytest.mark.parametrize("prompt", ["a", "the the the the the", "<b>$x$</b>"])
def test_odd_prompts_open(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app = opened(monkeypatch, "mixtral", prompt=prompt)
    assert not app.exception
    app.button(key="nt_experts_force").click().run()
    assert not app.exception
