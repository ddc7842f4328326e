"""Around every page: presenter mode, the keys that work everywhere, the tour that waits elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.components import frame as component
from core.components.frame import read_direction
from core.ui import moving, state, tour
from core.ui.pages import available_pages
from core.ui.text import label, load

PAGE = "frame"


def begin(title: str) -> None:
    """Called by the shell before the page with this title is drawn."""
    session = state.session()
    names = [info.name for info in available_pages()]
    page = next((name for name in names if label("shell", f"page_{name}") == title), "")
    with st.container(key="nt_frame"):
        component.frame(
            present=session.link.present,
            labels=load(PAGE).labels
            | {name: label("shell", f"keep_{name}") for name in ("png", "svg", "csv")},
            on_present=_present,
            on_page=lambda payload: _turn(names, page, read_direction(payload)),
        )
    tour.waiting_bar(session, page)


def _present(payload: Any) -> None:
    if isinstance(payload, bool):
        session = state.session()
        session.link = replace(session.link, present=payload)


def _turn(names: list[str], page: str, direction: int) -> None:
    """To the page before or after this one in the menu; at an end nothing happens."""
    at = names.index(page) + direction if page in names else 0
    if direction and 0 <= at < len(names):
        moving.ask_for(names[at])
