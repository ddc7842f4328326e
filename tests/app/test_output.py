"""The Output page on a tiny model: opened in several families, typed tokens, the lens filled step by step."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ui import output
from tests.app.opening import open_page


def opened(family: str, monkeypatch: pytest.MonkeyPatch, **query: Any) -> AppTest:
    return open_page(monkeypatch, "output", family, **query)


def shown(app: AppTest) -> str:
    return " ".join(item.value for kind in (app.markdown, app.caption) for item in kind).replace("\\", "")


def checks(app: AppTest) -> list[str]:
    return [item.value for item in app.caption if "largest difference" in item.value]


@pytest.mark.parametrize("family", ["gpt2", "gemma2", "olmo"])
def test_the_page_opens_and_its_checks_pass(monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    app = opened(family, monkeypatch)
    assert not app.exception
    assert len(checks(app)) == 3 and all("check_circle" in line for line in checks(app))
    assert ("changes its logits after the sum" in shown(app)) == (family == "gemma2")


@pytest.mark.parametrize("prompt", ["a", "é é", "x" * 60])
def test_odd_prompts_work(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app = opened("llama", monkeypatch, prompt=prompt)
    assert not app.exception
    assert all("check_circle" in line for line in checks(app)) and checks(app)
    assert ("the lens shows" in shown(app)) == (len(prompt) > 50)


def test_every_position_and_a_generated_one_work(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("llama", monkeypatch, step="2", position="1")
    assert not app.exception and all("check_circle" in line for line in checks(app))
    app.query_params["position"] = "7"
    app.run()
    assert not app.exception and all("check_circle" in line for line in checks(app))


def test_a_typed_token_is_worked_out_until_another_place_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("llama", monkeypatch)
    app.text_input(key=output.TYPED).set_value("#7").run()
    model = sys.modules["core.engine.loader"].load_model("smollm2-135m")
    logit = float(model.prefill(model.codec.encode("the cat is on the hat")).logits[7])
    assert f"{logit:.4g}" in " ".join(item.value for item in app.latex)
    app.query_params["position"] = "1"
    app.run()
    assert app.text_input(key=output.TYPED).value == "" and not app.exception


def test_the_lens_computes_only_when_the_browser_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: list[float] = []
    real = output.lens.grid

    def watched(trace: Any, wanted: Any, budget_s: float) -> Any:
        budgets.append(budget_s)
        return real(trace, wanted, budget_s)

    monkeypatch.setattr(output.lens, "grid", watched)
    app = opened("llama", monkeypatch)
    app.session_state["nt_output_work"] = True
    app.run()
    app.run()
    assert not app.exception
    assert budgets == [0.0, output.LENS_BUDGET_S, 0.0]


def test_token_text_in_latex_is_never_there(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened("llama", monkeypatch, prompt="$x$ <b>*y*</b>")
    assert not app.exception
    assert "<b>" not in " ".join(item.value for item in app.latex)
