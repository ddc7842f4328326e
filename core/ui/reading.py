"""The frame of a page that needs neither a model nor a run: its heading, then what the page adds."""

from __future__ import annotations

import streamlit as st

from core.ui import notices, opening, state, tour
from core.ui.page import Page
from core.ui.prompt_bar import prompt_bar
from core.ui.text import label


def open_reading(name: str, *, bar: bool = False) -> Page:
    """Heading alone, or under the prompt bar. The page has its texts; it has no model, and its run is
    whatever the session holds."""
    session = state.session()
    tour_place = st.container()
    if bar:
        with st.container(key="nt_head", gap="small"):
            prompt_bar(session)
    notices.quiet_line(session, st.empty())
    st.title(label("shell", f"page_{name}"), anchor=False)
    place = st.container(key="nt_opening")
    if tour.stands_on(session, name):  # a stop asks about a run, wherever it stands
        with place:
            model = opening.model_or_stop(session)
            opening.run_or_stop(session, model)
        tour.bar(session, name, model, Page(name, session, model).selection, tour_place)
    return Page(name, session, None)
