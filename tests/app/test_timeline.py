"""The Timeline page with a tiny model: what is on it, stepping, and a measurement from start to end."""

from __future__ import annotations

import time
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.engine.loader import load_model  # noqa: F401 - imported before fakes stand in for it
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.lessons import measure
from core.ui import loading, pages
from tests.app import fakes
from tests.app.test_shell import SHELL, shown
from tests.unit import tiny


def opened(monkeypatch: pytest.MonkeyPatch, page: str, family: str = "llama", **query: str) -> AppTest:
    """The shell with this page alone, on a tiny model, drawn once."""
    fakes.keep_modules(monkeypatch)
    codec = TextCodec(tiny.tokenizer().backend_tokenizer)
    model = LoadedModel("smollm2-135m", None, tiny.build(family), codec)
    fakes.install(lambda name, progress=None: model)
    monkeypatch.setattr(loading, "_loads", {})
    only = tuple(info for info in pages.ALL_PAGES if info.name == page)
    monkeypatch.setattr(pages, "ALL_PAGES", only)
    loading.begin("smollm2-135m").done.wait(20)
    app = AppTest.from_file(str(SHELL), default_timeout=60)
    for name, value in query.items():
        app.query_params[name] = value
    return app.run()


def measured(app: AppTest, start: str) -> AppTest:
    """Start a measurement and let the page look at it until it has ended."""
    app.button(key=start).click().run()
    until = time.monotonic() + 60
    jobs: dict[str, Any] = app.session_state["nt_jobs"]
    while any(kept.job.running for kept in jobs.values()) and time.monotonic() < until:
        time.sleep(0.05)
    return app.run()


def formulas(app: AppTest) -> str:
    return " ".join(item.value for item in app.latex)


def failed_checks(app: AppTest) -> list[str]:
    return [item.value for item in app.caption if ":material/error:" in item.value]


@pytest.mark.parametrize("prompt", ["a", "the cat the cat the cat", "éé"])
def test_it_opens_with_any_prompt_and_every_check_passes(
    monkeypatch: pytest.MonkeyPatch, prompt: str
) -> None:
    app = opened(monkeypatch, "timeline", prompt=prompt)
    assert not app.exception and not failed_checks(app)
    assert "No token is chosen yet" in shown(app)


def test_steps_move_the_run_and_the_times_are_read_off(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "timeline", prompt="the cat is", temperature="0")
    app.button(key="nt_step_next").click().run()
    assert app.query_params["step"] == "1"
    assert "time to first token" in formulas(app) and "from token to token" not in formulas(app)
    app.button(key="nt_step_several").click().run()
    assert app.query_params["step"] == "9"
    assert "median of 8" in formulas(app)
    app.button(key="nt_step_back").click().run()
    assert app.query_params["step"] == "8"
    assert not app.exception and not failed_checks(app)


def test_the_end_of_the_run_is_said_and_not_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(monkeypatch, "timeline", prompt="the cat", tokens="2", step="2", temperature="0")
    app.button(key="nt_step_next").click().run()
    assert not app.exception
    assert "token limit" in shown(app)


def test_a_measurement_runs_beside_the_page_and_shows_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "LENGTHS", (8, 16))
    app = opened(monkeypatch, "timeline", prompt="the cat is on the")
    app = measured(app, "nt_measure_start_lengths")
    assert not app.exception
    job = app.session_state["nt_jobs"]["lengths"].job
    assert job.status == "done" and [row.tokens for row in job.report.result.rows] == [8, 16]
    text = shown(app)
    assert "From 8 to 16 tokens" in text
    assert "run without any looking inside" in text
    assert "FLOP per byte" in text


def test_a_stopped_measurement_keeps_what_it_had_and_can_be_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = opened(monkeypatch, "timeline", prompt="the cat is on the")
    app.button(key="nt_measure_start_lengths").click().run()
    job = app.session_state["nt_jobs"]["lengths"].job
    job.stop()
    job.join(30)
    app.run()
    assert not app.exception
    if job.status == "stopped":
        assert "Stopped. What was measured so far stays." in shown(app)
    assert not app.button(key="nt_measure_start_lengths").disabled
