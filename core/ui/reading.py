"""The frame of a page that needs neither a model nor a run: its heading, then what the page adds."""

from __future__ import annotations

import streamlit as st

from core.ui import state
from core.ui.page import Page
from core.ui.prompt_bar import prompt_bar
from core.ui.text import label


def open_reading(name: str, *, bar: bool = False) -> Page:
    """Heading alone, or under the prompt bar. The page has its texts; it has no model, and its run is
    whatever the session holds."""
    session = state.session()
    if bar:
        with st.container(key="nt_head", gap="small"):
            prompt_bar(session)
    st.title(label("shell", f"page_{name}"), anchor=False)
    return Page(name, session, None)
