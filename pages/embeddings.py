"""Embeddings: an id picks a row of E; rows that are alike, a map of them, and sums of rows."""

import streamlit as st

from core.ui.embeddings import map_section, neighbours_section, rows_section, sum_section, tied_section
from core.ui.page import Page, Try, open_page

page = open_page("embeddings", grid=False)


def alike(page: Page) -> None:
    """Rows that are alike: a list, and a map."""
    page.section("neighbours")
    st.fragment(neighbours_section)(page)
    page.section("map")
    map_section(page)


page.intro()
page.try_this(
    [
        Try("try_animals", {"prompt": "The dog and the cat saw a horse", "position": 1}),
        Try("try_repeat", {"prompt": "the the the cat", "position": 1}),
        Try("try_case", {"prompt": "Paris paris PARIS", "position": 0}),
        Try("try_emoji", {"prompt": "🦜🦜", "position": 0}),
    ]
)
page.follow(rows_section, alike)
page.section("sum")
st.fragment(sum_section)(page)
page.section("tied")
tied_section(page)
