"""Keys of widgets whose value the app changes as well as the learner."""

from __future__ import annotations

from typing import Any

import streamlit as st

_TURNS = "nt_choice_turns"


def key_showing(name: str, value: Any) -> str:
    """The key of a widget that is to show ``value``; the value then stands under it in the session.

    Whenever the app itself has changed the value, the widget gets another key. An event that was sent before
    the browser knew of the change carries the old value: under the same key that would be taken for a choice
    of the learner, and undo the change. Until the page is drawn the browser shows both widgets: for places
    out of sight only, like a menu.
    """
    turns: dict[str, int] = st.session_state.setdefault(_TURNS, {})
    turn = turns.get(name, -1)
    if turn < 0 or st.session_state.get(_key(name, turn)) != value:
        turn = turns[name] = turn + 1
        st.session_state[_key(name, turn)] = value
    return _key(name, turn)


def _key(name: str, turn: int) -> str:
    return f"{name}_{turn}" if turn else name
