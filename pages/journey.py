"""The journey: the whole run on one grid, from the text at the bottom to the next token at the top."""

import streamlit as st

from core.ui.journey import handout_button, live
from core.ui.page import Try, open_page

page = open_page("journey", grid=False)
page.intro()
st.fragment(live)(page)
page.section("grid")
handout_button(page)
page.try_this(
    [
        Try("try_capital", {"prompt": "The capital of France is", "chat": False}),
        Try("try_count", {"prompt": "one two three one two three one two", "chat": False}),
        Try("try_chat", {"prompt": "Why is the sky blue?", "chat": True}),
        Try("try_one", {"prompt": "Hello", "chat": False}),
    ]
)
