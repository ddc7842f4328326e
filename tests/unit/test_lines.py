"""A component's own line: answered while its session lives, silent afterwards."""

from __future__ import annotations

import gc

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
