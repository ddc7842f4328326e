"""The frame of a page that needs neither a model nor a run: its heading, then what the page adds."""

from __future__ import annotations

import streamlit as st

from core.ui import state
from core.ui.page import Page
from core.ui.text import label


def open_reading(name: str) -> Page:
    """Heading alone. The page has its texts; it has no model, and its run is whatever the session holds."""
    st.title(label("shell", f"page_{name}"), anchor=False)
    return Page(name, state.session(), None)
