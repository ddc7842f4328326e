"""The Gradient step page with tiny models: a run from start to end, its numbers, its errors."""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest
from streamlit.testing.v1 import AppTest

from core.engine.training.slots import AT_ONCE, SLOTS
from tests.app.test_shell import shown
from tests.app.test_timeline import failed_checks, formulas, measured, opened

START = "nt_measure_start_train"


def stepped(app: AppTest, **settings: object) -> AppTest:
    """Choose settings and take the steps."""
    for key, value in settings.items():
        app.session_state[f"nt_step_{key}"] = value
    return measured(app.run(), START)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3_text", "qwen2_moe"])
@pytest.mark.parametrize("scope", ["head", "last_block", "all"])
@pytest.mark.parametrize("kind", ["sgd", "adamw"])
def test_steps_lower_the_loss_and_every_check_passes(
    monkeypatch: pytest.MonkeyPatch, family: str, scope: str, kind: str
) -> None:
    app = opened(monkeypatch, "gradient_step", family, prompt="the cat")
    app = stepped(app, text="the cat is on the table", scope=scope, kind=kind, steps=3)
    assert not app.exception and not failed_checks(app)
    text, other = app.metric
    assert text.delta.startswith("-") and other.delta
    assert "Steps taken: **3**" in shown(app) and "Where the weights moved" in shown(app)
    assert "measured" in formulas(app)
    assert sum(":material/check_circle:" in item.value for item in app.caption) == 2


@pytest.mark.parametrize("prompt", ["a", "éé", "<b>$x$</b>\n`:smile:`"])
def test_any_prompt_and_text_can_be_used(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app = opened(monkeypatch, "gradient_step", prompt=prompt)
    app = stepped(app, text=f"{prompt} the", other=prompt, steps=1)
    assert not app.exception and not failed_checks(app)
    assert "Steps taken: **1**" in shown(app)


@pytest.mark.parametrize(("text", "said"), [("a", "fewer than two tokens"), ("a b " * 60, "at most 64")])
def test_a_text_that_cannot_be_trained_on_is_refused_in_words(
    monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    app = stepped(opened(monkeypatch, "gradient_step"), text=text)
    assert not app.exception
    assert any(said in item.value for item in app.warning)


def test_a_rate_that_blows_up_ends_with_a_word_of_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "gradient_step", prompt="the cat")
    app = stepped(app, text="the cat is", scope="all", kind="sgd", lr_sgd=1.0, steps=20)
    assert not app.exception
    assert "nan" not in shown(app).lower()


def test_a_tied_head_is_said_to_be_the_embedding(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "gradient_step", "gpt2")
    app.session_state["nt_step_scope"] = "head"
    assert "**is** the embedding matrix" in shown(app.run())
    app = opened(monkeypatch, "gradient_step", "llama")
    app.session_state["nt_step_scope"] = "head"
    assert "a matrix of its own" in shown(app.run())


def test_an_experiment_sets_everything_and_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "gradient_step", prompt="the")
    app.button(key="nt_try_one").click().run()
    app = measured_without_start(app)
    assert not app.exception and not failed_checks(app)
    assert "Steps taken: **1**, with SGD" in shown(app)


def measured_without_start(app: AppTest) -> AppTest:
    for kept in app.session_state["nt_jobs"].values():
        kept.job.join(60)
    return app.run()


def test_a_learner_in_line_sees_how_many_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "gradient_step", prompt="the cat")
    with ExitStack() as others:
        tickets = [others.enter_context(SLOTS.ticket(1)) for _ in range(AT_ONCE + 1)]
        assert all(ticket.wait(0) for ticket in tickets[:AT_ONCE])
        app.button(key=START).click().run()
        job = app.session_state["nt_jobs"]["train"].job
        while job.report.result is None or not job.report.result.ahead:
            assert job.running
            time.sleep(0.01)
        said = [item.proto.text for item in app.run().get("progress")]
        assert said == [f"Waiting in line: {AT_ONCE + 1} before you."]
        app.button(key="nt_measure_stop_train").click().run()
        job.join(60)
        assert job.status == "stopped"
    assert SLOTS.held == 0
