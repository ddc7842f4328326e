"""Going to another page from an event of a browser component: noted in the callback, done by the shell.

Streamlit changes the page only while a script runs, not in a callback.
"""

from __future__ import annotations

import streamlit as st

from core.ui.pages import available_pages, page_info

_WANTED = "nt_wanted_page"


def ask_for(page: str, **query: str) -> None:
    """Go to the page called ``page`` when the script runs next; a page that does not exist is not gone to."""
    if page in {info.name for info in available_pages()}:
        st.session_state[_WANTED] = (page, query)


def go_where_asked() -> None:
    """Called by the shell before a page is drawn."""
    wanted = st.session_state.pop(_WANTED, None)
    if wanted is not None:
        page, query = wanted
        st.switch_page(str(page_info(page).file), query_params=query or None)
