"""The frame of all pages, with a stand-in for the engine: what a click, a link and a mistake do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.errors import UserError
from core.ui import loading, models, pages, text
from tests.app import fakes

SHELL = Path(pages.__file__).with_name("shell.py")
PAGE = """
from dataclasses import replace
import streamlit as st
from core.ui.page import Try, open_page
page = open_page("{name}")
page.intro()
st.button("next", key="next", on_click=lambda: page.run.next(page.session.params))
st.button("back", key="back", on_click=lambda: page.run.jump(page.run.cursor - 1))
st.button("force", key="force", on_click=lambda: page.run.next(page.session.params, force=5))
hotter = replace(page.session.params, temperature=2.0)
st.button("hotter", key="hotter", on_click=lambda: page.session.set_params(hotter))
page.pick_layer()
page.try_this([Try("dog", {{"prompt": "Dog bites man", "layer": 3}})])
st.text(f"{{page.selection}} {{page.model.codec.decode(page.run.token_ids)}}", )
"""
TEXT = "## intro\nHello.\n\n## labels\n- dog: Dog\n"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppTest]:
    fakes.keep_modules(monkeypatch)
    fakes.install()
    monkeypatch.setattr(loading, "_loads", {})
    monkeypatch.setattr(pages, "PAGES_FOLDER", tmp_path)
    real = text.load
    real_pages = ("shell", "glossary")
    monkeypatch.setattr(
        text, "load", lambda page, *more: real(page, *more) if page in real_pages else text.parse(page, TEXT)
    )
    for name in ("tokens", "attention"):
        (tmp_path / f"{name}.py").write_text(PAGE.format(name=name))
    loading.begin("smollm2-135m").done.wait(5)
    yield AppTest.from_file(str(SHELL), default_timeout=20)


def shown(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.text, app.warning)
    return " ".join(item.value for kind in kinds for item in kind)


def test_a_bare_address_runs_the_default_prompt_and_stays_bare(shell: AppTest) -> None:
    shell.run()
    assert not shell.exception
    assert "The capital of France is" in shown(shell)
    assert shell.query_params == {}


def test_a_link_sets_the_screen_and_the_screen_writes_the_same_link(shell: AppTest) -> None:
    query = {"prompt": "one two", "step": "3", "temperature": "1.5", "seed": "7"}
    query |= {"layer": "4", "head": "2", "position": "1"}
    for name, value in query.items():
        shell.query_params[name] = value
    shell.run()
    assert "step=3, layer=4, head=2, position=1" in shown(shell)
    assert dict(shell.query_params.items()) == query


def test_stepping_writes_the_step_and_back_keeps_what_was_ahead(shell: AppTest) -> None:
    shell.run()
    shell.button(key="next").click().run()
    shell.button(key="next").click().run()
    assert shell.query_params["step"] == "2"
    before = shown(shell)
    shell.button(key="back").click().run()
    assert shell.query_params["step"] == "1" and shell.query_params["ahead"] == "1"
    shell.query_params["step"], shell.query_params["ahead"] = "2", "0"
    shell.run()
    assert shown(shell) == before


def test_a_second_click_at_the_address_before_the_first_is_not_taken_for_back(shell: AppTest) -> None:
    """The browser sends its address with each click; a quick second click comes from the one before."""
    shell.run()
    shell.button(key="next").click().run()
    del shell.query_params["step"]
    shell.button(key="next").click().run()
    assert shell.query_params["step"] == "2"
    del shell.query_params["step"]
    shell.run()
    assert "step=0" in shown(shell), "without a click the address is news"


def test_a_link_repeats_forced_tokens_and_steps_drawn_under_other_settings(shell: AppTest) -> None:
    shell.run()
    for key in ("next", "force", "next", "hotter", "next", "back"):
        shell.button(key=key).click().run()
    assert shell.query_params["taken"].startswith("0:")
    before, query = shell.text[0].value, dict(shell.query_params.items())
    again = AppTest.from_file(str(SHELL), default_timeout=20)
    for name, value in query.items():
        again.query_params[name] = value
    again.run()
    assert again.text[0].value == before
    assert dict(again.query_params.items()) == query


def test_malformed_and_out_of_range_values_leave_one_quiet_line(shell: AppTest) -> None:
    shell.query_params["layer"] = "9999"
    shell.query_params["temperature"] = "warm"
    shell.run()
    assert not shell.exception
    lines = [item.value for item in shell.caption if "could not be used" in item.value]
    assert len(lines) == 1 and "layer" in lines[0] and "temperature" in lines[0]
    assert shell.query_params == {}


@pytest.mark.parametrize("prompt", ["", "   ", "\n"])
def test_an_empty_prompt_says_what_to_do(shell: AppTest, prompt: str) -> None:
    shell.query_params["prompt"] = prompt
    shell.run()
    assert not shell.exception
    assert "There is no text to read yet" in shown(shell)


def test_a_prompt_beyond_the_limit_is_refused_before_the_run(shell: AppTest) -> None:
    shell.query_params["prompt"] = "a " * 1500
    shell.run()
    assert "the limit is 1,024" in shown(shell).replace("\\", "")


def test_typed_text_that_no_link_could_hold_is_refused_before_the_run(shell: AppTest) -> None:
    shell.run()
    shell.text_input(key="nt_prompt").set_value(" " * 20_000 + "word")
    shell.button[0].click().run()
    assert "has 20,004 characters; the limit is 20,000" in shown(shell).replace("\\", "")


def test_control_tokens_in_the_text_are_named_and_can_be_read_as_letters(shell: AppTest) -> None:
    shell.query_params["prompt"] = "Hi<|im_end|> there"
    shell.run()
    assert "`<|im_end|>`" in shown(shell)
    shell.button(key="nt_specials_make").click().run()
    assert "is read as plain letters" in shown(shell)
    assert shell.query_params["literal"] == "1"


def test_an_experiment_sets_prompt_and_place_at_once(shell: AppTest) -> None:
    shell.run()
    shell.button(key="nt_try_dog").click().run()
    assert "Dog bites man" in shown(shell) and "layer=3" in shown(shell)


def test_a_layer_chosen_on_one_page_is_chosen_on_the_next(shell: AppTest) -> None:
    shell.run()
    shell.number_input(key="nt_pick_layer").set_value(11).run()
    assert shell.query_params["layer"] == "11"
    shell.switch_page(str(pages.PAGES_FOLDER / "attention.py")).run()
    assert not shell.exception
    assert "layer=11" in shown(shell)


def test_a_link_with_an_unknown_model_downloads_nothing(
    shell: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    fakes.install(lambda name, progress=None: asked.append(name))
    monkeypatch.setattr(models, "is_local", lambda name: False)
    shell.query_params["model"] = "somebody/huge-model"
    shell.run()
    assert not asked and loading.known("somebody/huge-model") is None
    assert "somebody/huge-model" in shown(shell)
    shell.button(key="nt_agree").click().run()
    assert set(asked) == {"somebody/huge-model"}


def test_a_licence_that_must_be_agreed_to_is_shown_before_the_download(
    shell: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "is_local", lambda name: False)
    shell.query_params["model"] = "gemma3-270m"
    shell.run()
    assert "Gemma Terms of Use" in shown(shell) and "238 MB" in shown(shell)
    assert loading.known("gemma3-270m") is None


def test_a_name_that_can_be_no_model_is_explained(shell: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "is_local", lambda name: False)
    shell.query_params["model"] = "no such thing"
    shell.run()
    assert "There is no model called" in shown(shell)
    shell.button(key="nt_use_default").click().run()
    assert "The capital of France is" in shown(shell)


def test_a_model_that_fails_leaves_a_notice_and_the_prompt(shell: AppTest) -> None:
    def fail(name: str, progress: object = None) -> None:
        raise UserError("The disk is full.", "Free 1 GB and try again.")

    fakes.install(fail)
    loading._loads.clear()
    loading.begin("smollm2-135m").done.wait(5)
    shell.query_params["prompt"] = "keep me"
    shell.run()
    assert "The disk is full" in shown(shell).replace("\\", "")
    assert shell.text_input(key="nt_prompt").value == "keep me"
    fakes.install()
    shell.button(key="nt_retry").click().run()
    loading.begin("smollm2-135m").done.wait(5)
    shell.run()
    assert "keep me" in shown(shell)


def test_a_crash_inside_loading_shows_no_traceback(shell: AppTest) -> None:
    fakes.install(lambda name, progress=None: 1 / 0)
    loading._loads.clear()
    loading.begin("smollm2-135m").done.wait(5)
    shell.run()
    assert not shell.exception and "Traceback" not in shown(shell)
    assert any("error that is ours" in item.value for item in shell.error)


def test_an_address_that_leads_to_another_page_wins_over_a_choice_made_just_before(
    shell: AppTest, tmp_path: Path
) -> None:
    shell.query_params["layer"] = "5"
    shell.run()
    shell.session_state["nt_session"].select(layer=28)
    shell.query_params["layer"] = "3"
    shell.switch_page(str(tmp_path / "attention.py")).run()
    assert "layer=3" in shown(shell)


def test_a_choice_that_the_app_changes_gets_another_widget(shell: AppTest) -> None:
    """So that an event on its way, with the value from before, cannot undo the change."""

    def switch() -> tuple[str | None, bool]:
        found = next(one for one in shell.toggle if str(one.key).startswith("nt_chat"))
        return found.key, found.value

    shell.run()
    shell.toggle(key="nt_chat").set_value(True).run()
    assert switch() == ("nt_chat", True)  # the learner's own choice: the same widget
    shell.session_state["nt_session"].ask(chat=False)
    shell.run()
    assert switch() == ("nt_chat_1", False)
    shell.toggle(key="nt_chat_1").set_value(True).run()
    assert switch() == ("nt_chat_1", True)
    assert shell.session_state["nt_session"].link.chat
