"""One fact in several wordings on a tiny model: fields, a sweep to its end, and what a change does."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.ui import loading, pages, text
from tests.app import fakes
from tests.app.opening import open_page
from tests.unit import tiny

SHELL = Path(pages.__file__).with_name("shell.py")
PAGE = """
from core.ui.knowledge import show
from core.ui.page import open_page
show(open_page("what_if"))
"""
JOB = "nt_knowledge_job"


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    fakes.keep_modules(monkeypatch)
    model = LoadedModel(
        "smollm2-135m", None, tiny.build("llama"), TextCodec(tiny.tokenizer().backend_tokenizer)
    )
    fakes.install(lambda name, progress=None: model)
    monkeypatch.setattr(loading, "_loads", {})
    monkeypatch.setattr(pages, "PAGES_FOLDER", tmp_path)
    (tmp_path / "what_if.py").write_text(PAGE)
    loading.begin("smollm2-135m").done.wait(20)
    made = AppTest.from_file(str(SHELL), default_timeout=60)
    made.query_params["prompt"] = "the cat"
    made.run()
    made.text_area(key="nt_knowledge_wordings").set_value("the cat is\nthe hat\\nis on")
    return made.text_input(key="nt_knowledge_answer").set_value("of").run()


def shown(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.warning)
    return " ".join(item.value for kind in kinds for item in kind)


def label(key: str) -> str:
    return text.label("knowledge", key)


def test_own_words_are_asked_and_the_menu_says_that_they_are_own(app: AppTest) -> None:
    assert not app.exception
    assert app.selectbox(key="nt_knowledge_fact").value == label("own")
    assert "Measured: token" in shown(app)


def test_a_fact_fills_the_fields(app: AppTest) -> None:
    app.selectbox(key="nt_knowledge_fact").set_value("The day after Monday").run()
    assert not app.exception
    assert app.text_input(key="nt_knowledge_answer").value == "Tuesday"
    assert "Q: Which day follows Monday?\\nA:" in app.text_area(key="nt_knowledge_wordings").value


def test_a_sweep_runs_to_its_end_and_is_checked(app: AppTest) -> None:
    app.button(key="nt_knowledge_start").click().run()
    job = app.session_state[JOB]
    assert job.wait(60)
    app.run()
    assert not app.exception
    assert job.done == job.total and job.asked.texts == ("the cat is", "the hat\nis on")
    assert "check_circle" in shown(app)
    assert not app.button(key="nt_knowledge_start").disabled


def test_the_formulas_hold_the_learner_s_own_numbers(app: AppTest) -> None:
    written = " ".join(item.value for item in app.latex)
    assert "sum" in written and written.count(r",\ ") == 1, "one chance for each of the two wordings"
    assert text.section("knowledge", "formula left").split("<<")[0] not in written
    app.button(key="nt_knowledge_start").click().run()
    assert app.session_state[JOB].wait(60)
    app.run()
    assert text.section("knowledge", "formula left").split("<<")[0] in " ".join(i.value for i in app.latex)


def test_an_experiment_fills_the_fields_and_measures_at_once(app: AppTest) -> None:
    app.button(key="nt_try_layer").click().run()
    assert not app.exception
    assert app.selectbox(key="nt_knowledge_fact").value == "The colour of the sky"
    job = app.session_state[JOB]
    assert job.wait(60) and job.setting.part == "layer"
    app.run()
    assert not app.exception
    assert len(job.asked.texts) == 5 and "check_circle" in shown(app), "its curves belong to these wordings"


def test_curves_of_other_wordings_are_not_shown_as_these(app: AppTest) -> None:
    app.button(key="nt_knowledge_start").click().run()
    app.session_state[JOB].wait(60)
    app.text_area(key="nt_knowledge_wordings").set_value("on the").run()
    assert not app.exception
    assert label("changed") in shown(app) and "check_circle" not in shown(app)


def test_nothing_to_ask_is_said(app: AppTest) -> None:
    app.text_area(key="nt_knowledge_wordings").set_value("  ").run()
    assert not app.exception
    assert "There is nothing to ask yet." in shown(app)


def test_a_part_that_this_model_lacks_gives_way_to_one_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page(monkeypatch, "what_if", "mixtral", {"nt_knowledge_part": "neurons"})
    assert not app.exception
    assert app.session_state["nt_knowledge_part"] == "layer"
