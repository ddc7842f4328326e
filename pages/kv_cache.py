"""KV cache: what is kept of every token, how it grows, what it saves and what it weighs."""

import streamlit as st

from core.ui.guess import guess_first
from core.ui.kv_cache import answer_section, grid_section, step_section
from core.ui.page import Page, Try, open_page
from core.ui.stepping import take_steps

page = open_page("kv_cache", grid=False)


@st.fragment
def live() -> None:
    """What a step changes."""
    now = Page("kv_cache", page.session, page.model)
    take_steps(now)
    now.grid()
    grid_section(now)
    now.sync_link()


page.intro()
guess_first(page)
live()
page.try_this(
    [
        Try("try_short", {"prompt": "The capital of France is", "step": 4}),
        Try("try_repeat", {"prompt": "one two three one two three one two", "step": 2}),
        Try("try_long", {"prompt": page.label("long_prompt"), "step": 2}),
    ]
)
step_section(page)
answer_section(page)
