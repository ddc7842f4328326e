"""The layer that opens glossary terms in place, and the pages that this learner has been to."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.components.terms import read_slug, terms_layer
from core.lessons.glossary import PAGE, PARAMETER
from core.ui import moving
from core.ui.pages import available_pages
from core.ui.text import label, load, terms

_VISITED = "nt_visited"


def layer(title: str) -> None:
    """Mount the layer and note that the page with this title is visited."""
    page = next((info.name for info in available_pages() if label("shell", f"page_{info.name}") == title), "")
    visited().setdefault(page)
    with st.container(key="nt_terms"):
        terms_layer(page, load(PAGE).labels, _open)


def visited() -> dict[str, None]:
    """The names of the pages that this session has shown, in order."""
    found: dict[str, None] = st.session_state.setdefault(_VISITED, {})
    return found


def _open(payload: Any) -> None:
    slug = read_slug(payload)
    if slug in terms():
        moving.ask_for(PAGE, **{PARAMETER: str(slug)})
