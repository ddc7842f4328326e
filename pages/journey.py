"""The journey: the whole run on one grid, from the text at the bottom to the next token at the top."""

import streamlit as st

from core.ui.journey import check_line, grid_view, handout_button
from core.ui.page import Page, Try, open_page

page = open_page("journey", grid=False)


@st.fragment
def live() -> None:
    """What a step changes: drawn alone, so that a step costs little more than the model's own time."""
    now = Page("journey", page.session, page.model)
    grid_view(now)
    check_line(now)
    handout_button(now)
    now.sync_link()


live()
page.intro()
page.try_this(
    [
        Try("try_capital", {"prompt": "The capital of France is", "chat": False}),
        Try("try_count", {"prompt": "one two three one two three one two", "chat": False}),
        Try("try_chat", {"prompt": "Why is the sky blue?", "chat": True}),
        Try("try_one", {"prompt": "Hello", "chat": False}),
    ]
)
