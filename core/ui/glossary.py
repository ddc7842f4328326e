"""The glossary page: its list, the term in its address, and the way to the pages that show a term."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.components.glossary import PageLink, entries, glossary_list
from core.components.terms import read_slug
from core.lessons.glossary import PAGE, PARAMETER
from core.ui import moving
from core.ui.pages import available_pages
from core.ui.text import label, load, sources, terms


def page_links() -> dict[str, PageLink]:
    """Name, title and address of every page there is, by name."""
    return {
        info.name: (info.name, label("shell", f"page_{info.name}"), info.path) for info in available_pages()
    }


def glossary_view() -> None:
    """The list, opened at the term that the address names."""
    asked = st.query_params.get(PARAMETER)
    glossary_list(
        entries(tuple(terms().values()), sources(), page_links()),
        chosen=asked if asked in terms() else None,
        labels=load(PAGE).labels,
        on={"open": _go, "choose": _choose},
    )


def _go(payload: Any) -> None:
    if isinstance(payload, str):
        moving.ask_for(payload)


def _choose(payload: Any) -> None:
    slug = read_slug(payload)
    if slug in terms():
        st.query_params[PARAMETER] = slug
