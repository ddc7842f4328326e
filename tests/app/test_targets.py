"""The Targets page on a tiny model: rows and what counts, a typed text, both worlds from start to end."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.engine import reference
from core.engine.chat_template import ChatTemplate
from core.engine.loader import load_model  # noqa: F401 - imported before fakes stand in for it
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.ui import loading, pages, targets
from tests.app import fakes
from tests.app.test_shell import SHELL, shown
from tests.unit import tiny

START = "nt_measure_start_forcing"
TEXT = "the cat is on the hat"


@pytest.fixture
def model() -> LoadedModel:
    codec = TextCodec(
        tiny.tokenizer().backend_tokenizer,
        template=ChatTemplate(tiny.CHAT_TEMPLATE, {}),
        eos_ids=(tiny.EOS_ID,),
    )
    return LoadedModel("smollm2-135m", None, tiny.build("llama"), codec)


@pytest.fixture
def opened(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that opens the page with a link."""
    fakes.keep_modules(monkeypatch)
    fakes.install(lambda name, progress=None: model)
    monkeypatch.setattr(loading, "_loads", {})
    only = tuple(info for info in pages.ALL_PAGES if info.name == "targets")
    monkeypatch.setattr(pages, "ALL_PAGES", only)
    loading.begin("smollm2-135m").done.wait(20)

    def open_with(**query: str) -> AppTest:
        app = AppTest.from_file(str(SHELL), default_timeout=60)
        for name, value in ({"prompt": TEXT} | query).items():
            app.query_params[name] = value
        return app.run()

    return open_with


def sound(app: AppTest) -> bool:
    """No crash, and no check line that failed."""
    return not app.exception and not [c for c in app.caption if ":material/error:" in c.value]


def mean_shown(app: AppTest) -> float:
    found = re.search(r"Mean loss \*\*([\d.]+) nats", shown(app))
    assert found is not None
    return float(found.group(1))


def test_the_mean_on_the_screen_is_the_librarys_own(opened: Any, model: LoadedModel) -> None:
    app = opened()
    ids = model.codec.encode(TEXT)
    assert sound(app) and "check_circle" in shown(app)
    assert mean_shown(app) == pytest.approx(reference.loss(model, ids, ids), abs=0.006)
    assert "The last row has no target" in shown(app)


@pytest.mark.parametrize("prompt", ["é é", "x" * 60, "$x$ <b>*y*</b> `z`", "a\n\n a", "a<eos>b<bos>"])
def test_odd_prompts_are_scored(opened: Any, prompt: str) -> None:
    app = opened(prompt=prompt)
    assert sound(app) and math.isfinite(mean_shown(app))


def test_one_token_needs_another(opened: Any) -> None:
    app = opened(prompt="a")
    assert sound(app)
    assert any("A text needs at least two tokens" in item.value for item in app.info)
    assert not [button for button in app.button if button.key == START]


def test_what_counts_is_said_and_the_switch_adds_the_end(opened: Any, model: LoadedModel) -> None:
    app = opened(prompt="the cat<eos>")
    ids = [*model.codec.encode("the cat<eos>"), tiny.EOS_ID]
    total = len(ids) - 2
    assert f"Scored: {total - 1} of {total} targets" in shown(app)
    assert "Left out: 1 of the targets, as control" in shown(app)
    app.toggle(key=targets.SPECIALS).set_value(True).run()
    assert f"Scored: {total + 1} of {total + 1} targets" in shown(app) and sound(app)
    assert app.query_params["specials"] == "1"
    assert mean_shown(app) == pytest.approx(reference.loss(model, ids, ids), abs=0.006)


def test_a_chat_templates_words_do_not_count(opened: Any, model: LoadedModel) -> None:
    app = opened(prompt="the cat", chat="1")
    assert sound(app) and "the chat template's own words" in shown(app)
    assert f"Scored: {len(model.codec.encode('the cat'))} of" in shown(app)


def test_nothing_but_control_tokens_is_said_and_not_a_crash(opened: Any) -> None:
    app = opened(prompt="<bos><eos><eos>")
    assert sound(app) and "No target counts" in shown(app)


def test_a_typed_text_is_scored_beside_the_run_and_is_in_the_address(opened: Any, model: LoadedModel) -> None:
    app = opened()
    app.text_area(key=targets.TEXT).set_value("on the hat").run()
    ids = model.codec.encode("on the hat")
    assert sound(app) and "your own text" in shown(app)
    assert mean_shown(app) == pytest.approx(reference.loss(model, ids, ids), abs=0.006)
    assert app.query_params["text"] == "on the hat" and app.query_params["prompt"] == TEXT
    app.text_area(key=targets.TEXT).set_value("").run()
    assert "the text of the run" in shown(app) and "text" not in app.query_params


def test_a_link_with_a_text_shows_it(opened: Any) -> None:
    app = opened(text="is the cat", specials="1")
    assert app.text_area(key=targets.TEXT).value == "is the cat" and "your own text" in shown(app)
    assert app.toggle(key=targets.SPECIALS).value and "The last row is scored on" in shown(app)


def test_an_example_puts_the_runs_text_back(opened: Any) -> None:
    app = opened(text="is the cat")
    app.button(key="nt_try_try_false").click().run()
    assert sound(app)
    assert app.text_area(key=targets.TEXT).value == "" and "the text of the run" in shown(app)


def test_too_long_a_text_is_refused_and_the_run_is_shown(opened: Any) -> None:
    app = opened(text="x y " * 60)
    assert sound(app)
    assert "the limit is" in shown(app) and "the text of the run" in shown(app)


def test_a_generated_token_is_one_more_target(opened: Any) -> None:
    before, after = opened(temperature="0"), opened(temperature="0", step="3")
    count = re.compile(r"Scored: (\d+) of")
    numbers = [int(count.search(shown(app)).group(1)) for app in (before, after)]  # type: ignore[union-attr]
    assert numbers[1] == numbers[0] + 3 and sound(after)


def finished(app: AppTest) -> AppTest:
    """Start the writing and let the page look at it until it has ended."""
    app.button(key=START).click().run()
    app.session_state["nt_jobs"]["forcing"].job.join(60)
    return app.run()


def test_both_worlds_are_run_averaged_and_checked(opened: Any) -> None:
    app = finished(opened())
    job = app.session_state["nt_jobs"]["forcing"].job
    assert sound(app) and job.status == "done" and len(job.report.result.complete) == 4
    text = shown(app)
    assert "seeds done: 4 of 4" in text and "Mean over all positions" in text
    assert sum("check_circle" in item.value for item in app.caption) == 2


def test_greedy_writes_one_text(opened: Any) -> None:
    app = opened()
    app.selectbox(key="nt_targets_draw").set_value("greedy").run()
    assert "every seed would write the same text" in shown(app)
    app = finished(app)
    assert sound(app) and "seeds done: 1 of 1" in shown(app)


def test_another_text_forgets_what_was_written(opened: Any) -> None:
    app = finished(opened())
    app.text_area(key=targets.TEXT).set_value("on the hat").run()
    assert sound(app) and "seeds done" not in shown(app)
    assert app.number_input(key="nt_targets_given").value in (1, 2, 3)


def test_a_chat_run_begins_to_differ_inside_the_message(opened: Any, model: LoadedModel) -> None:
    app = opened(prompt=TEXT, chat="1")
    given = app.number_input(key="nt_targets_given").value
    start = model.codec.decode(model.codec.chat(TEXT)[:given])
    begun = start.removeprefix("<bos>user\n")
    assert begun and TEXT.startswith(begun) and begun != TEXT
