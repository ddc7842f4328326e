"""A component's own line: answered while its session lives, silent afterwards."""

from __future__ import annotations

import gc
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from streamlit.runtime.fragment import MemoryFragmentStorage

from core.components import lines
from core.components.base import pack
from core.components.lines import Line, ask
from core.ui import links, state
from core.ui.state import Session
from tests.unit.test_wire import unpack


def test_a_line_answers_with_what_its_page_set_last() -> None:
    line = Line("act")
    assert ask(line.token, 1) is None, "nothing is drawn yet"
    line.answer = lambda payload: f"first {payload}".encode()
    assert ask(line.token, 1) == b"first 1"
    line.answer = lambda _payload: None
    assert ask(line.token, 1) is None


def test_a_line_ends_with_its_session_and_tokens_cannot_be_guessed() -> None:
    session, other = Session(), Session()
    line = session.line("act")
    line.answer = lambda _payload: b"here"
    assert session.line("act") is line and other.line("act") is not line
    token = line.token
    assert len(token) >= 32 and ask(token[:-1], 1) is None and ask("", 1) is None
    del session, line
    gc.collect()
    assert ask(token, 1) is None
    assert token not in lines._open


def test_an_answer_names_its_line_and_the_address_to_show() -> None:
    session = Session()
    session.link = session.link.with_params(session.params)
    session.select(layer=3)
    address = state.address(session)
    assert address["query"] == {"layer": "3"} == links.format_link(session.link)
    assert session.written == session.known == address["query"]
    head, _ = unpack(pack({}, (), session.line("act"), address))
    assert head["address"] == address and head["line"]["event"] == "act"
    later, _ = unpack(pack({}, (), session.line("act")))
    assert later["line"]["at"] >= head["line"]["at"] and later["address"] is None


def test_an_address_sent_before_the_answer_came_does_not_take_the_step_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: dict[str, str] = {"step": "1", "tokens": "9"}
    address = SimpleNamespace(to_dict=lambda: dict(sent))
    monkeypatch.setattr(state, "st", SimpleNamespace(session_state={}, query_params=address))
    state.begin_run("Generate")
    session = state.session()
    session.link = replace(session.link, step=2)  # what an answer on the line does
    state.address(session)
    state.begin_run("Generate")
    assert session.link.step == 2
    state.address(session)
    session.replaced = dict(sent)
    back = SimpleNamespace(is_history_navigation=True)  # the browser's Back
    monkeypatch.setattr(state, "get_script_run_ctx", lambda: back)
    state.begin_run("Generate")
    assert session.link.step == 1


def test_a_page_that_ends_early_leaves_no_part_of_the_page_before(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryFragmentStorage()
    for name in ("old", "new"):
        storage.register(name, lambda: None)
    drawn = SimpleNamespace(new_fragment_ids=SimpleNamespace(snapshot=lambda: frozenset({"new"})))
    run = SimpleNamespace(fragment_ids_this_run=["old"], fragment_storage=storage, shared=drawn)
    monkeypatch.setattr(state, "get_script_run_ctx", lambda: run)
    state.forget_fragments()
    assert storage.contains("old"), "a fragment that runs alone leaves the others"
    run.fragment_ids_this_run = None
    state.forget_fragments()
    assert storage.contains("new") and not storage.contains("old")


def test_another_prompt_waits_for_the_step_on_its_way() -> None:
    session = Session()
    with session.lock:
        asking = threading.Thread(target=session.ask, kwargs={"prompt": "new"})
        asking.start()
        asking.join(0.05)
        assert session.link.prompt != "new"
    asking.join()
    assert session.link.prompt == "new"
