"""The From zero page in the test frame: choices, a run to its end, and its model on other pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.engine import made_here
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.errors import UserError
from core.lessons.from_zero import Training
from core.ui import from_zero, loading, models, pages, text
from tests.app import fakes
from tests.unit import tiny

SHELL = Path(pages.__file__).with_name("shell.py")
START, AGAIN, STAY = "nt_measure_start_train", "nt_from_zero_again", "nt_from_zero_stay"
STEPS, TEXT, OWN = "nt_from_zero_steps", "nt_from_zero_text", "nt_from_zero_own"


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    usual = LoadedModel(
        "smollm2-135m", None, tiny.build("llama"), TextCodec(tiny.tokenizer().backend_tokenizer)
    )
    fakes.keep_modules(monkeypatch)
    fakes.install(lambda name, progress=None: _model(name, usual))
    monkeypatch.setattr(loading, "_loads", {})
    monkeypatch.setattr(from_zero, "MORE_STEPS", (3, 100_000))
    monkeypatch.setattr(from_zero, "USUAL_STEPS", 3)
    loading.begin("smollm2-135m").done.wait(20)
    made_here.forget_all()
    made = AppTest.from_file(str(SHELL), default_timeout=60)
    made.query_params["prompt"] = "the cat"
    yield opened(made.run(), "from_zero")
    made_here.forget_all()


def _model(name: str, usual: LoadedModel) -> LoadedModel:
    found = made_here.find(name)
    if found is None and made_here.is_name(name):
        raise UserError("gone", "train")
    return found or usual


def opened(app: AppTest, page: str) -> AppTest:
    return app.switch_page(str(pages.PAGES_FOLDER / f"{page}.py")).run()


def shown(app: AppTest) -> str:
    kinds: tuple[Any, ...] = (app.markdown, app.caption, app.warning, app.latex)
    return " ".join(item.value for kind in kinds for item in kind)


def label(key: str, **values: object) -> str:
    return text.label("from_zero", key, **values)


def trained(app: AppTest) -> Training:
    """Click Train (or Go on), wait for the end, and draw the page once more."""
    app.button(key=START).click().run()
    app.session_state["nt_jobs"]["train"].job.join(60)
    app.run()
    assert not app.exception
    found: Training = list(app.session_state["nt_from_zero_runs"].values())[-1]
    return found


def test_the_page_says_what_will_be_trained_before_it_is(app: AppTest) -> None:
    assert not app.exception
    assert "tokens to train on" in shown(app) and "parameters" in shown(app)
    assert app.button(key=START).label == label("start_train")
    assert not [button for button in app.button if button.key == AGAIN]


def test_a_run_is_shown_checked_and_can_be_gone_on_with(app: AppTest) -> None:
    run = trained(app)
    assert run.steps == 3 and run.model_name in shown(app)
    assert shown(app).count("check_circle") == 2, "the loss and the parameters are checked"
    assert app.button(key=START).label == label("go_on")
    assert trained(app) is run and run.steps == 6
    app.button(key=AGAIN).click().run()
    assert not app.exception and app.button(key=START).label == label("start_train")
    assert run.model_name not in shown(app)


def test_another_text_is_another_run_and_the_first_one_is_found_again(app: AppTest) -> None:
    first = trained(app)
    app.button_group(key=TEXT).set_value("counting").run()
    assert app.button(key=START).label == label("start_train")
    app.button_group(key=TEXT).set_value("story").run()
    assert not app.exception
    assert first.model_name in shown(app) and app.button(key=START).label == label("go_on")


def test_stop_keeps_what_was_learned(app: AppTest) -> None:
    app.button_group(key=STEPS).set_value(100_000).run()
    app.button(key=START).click().run()
    job = app.session_state["nt_jobs"]["train"].job
    app.button(key="nt_measure_stop_train").click().run()
    job.join(60)
    app.run()
    assert not app.exception and job.status == "stopped"
    assert label("stopped") in shown(app) and app.button(key=START).label == label("go_on")


def test_a_text_that_is_too_short_is_explained_and_a_long_enough_one_is_taken(app: AppTest) -> None:
    app.button_group(key=TEXT).set_value("own").run()
    assert "at least" in shown(app) and not app.exception
    app.text_area(key=OWN).set_value("<b>Dog</b> bites $man$. 🦜 " * 30).run()
    assert not app.exception and "tokens to train on" in shown(app)
    assert trained(app).steps == 3


def test_the_trained_model_becomes_the_model_of_every_page(app: AppTest) -> None:
    run = trained(app)
    picker = app.selectbox(key="nt_model")
    assert any(label("title_story", steps=3) in option for option in picker.options)
    app.button(key=STAY).click().run()
    assert not app.exception and app.session_state["nt_session"].link.model == run.model_name
    loading.begin(run.model_name).done.wait(20)
    for page in ("generate", "attention", "tokens", "kv_cache"):
        opened(app, page)
        assert not app.exception
        session = app.session_state["nt_session"]
        assert session.run is not None and session.run.tree.stepper.name == run.model_name
        assert session.link.prompt == "the cat", "what the learner typed stays"


def test_every_page_opens_with_a_trained_model(app: AppTest) -> None:
    """No chat template, no end-of-text token, two layers, 320 tokens: little to be taken for granted."""
    run = trained(app)
    app.button(key=STAY).click().run()
    loading.begin(run.model_name).done.wait(20)
    app.session_state["nt_session"].ask(prompt="the little boat")
    for page in pages.available_pages():
        opened(app, page.name)
        assert not app.exception, page.name
        assert [title.value for title in app.title] == [text.label("shell", f"page_{page.name}")]
        assert not app.error, page.name  # a page that met an error of ours says so instead of raising


def test_a_link_to_a_model_that_is_not_here_says_what_to_do(app: AppTest) -> None:
    app.session_state["nt_session"].ask(model="from-zero-0123abcd")
    opened(app, "generate")
    assert not app.exception
    assert "not in its memory" in shown(app) and "Train it again" in shown(app)
    assert [button.label for button in app.button if button.key == "nt_train_again"]


def test_a_model_that_left_the_memory_while_it_was_in_use_is_explained(
    app: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The test frame sends a picker back by the title that it had when it was drawn.
    monkeypatch.setattr(models, "title", lambda name: name)
    run = trained(app)
    app.button(key=STAY).click().run()
    loading.begin(run.model_name).done.wait(20)
    opened(app, "generate")
    made_here.forget_all()
    opened(app, "attention")
    assert not app.exception
    assert "gone" in shown(app) and [button for button in app.button if button.key == "nt_train_again"]
