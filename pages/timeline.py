"""Timeline: the run to scale, prefill against decode, and what this machine's speed depends on."""

import streamlit as st

from core.ui.page import Page, Try, open_page
from core.ui.stepping import take_steps
from core.ui.timeline import guesses_section, lengths_section, line_section

page = open_page("timeline", grid=False)


@st.fragment
def live() -> None:
    """What a step changes."""
    now = Page("timeline", page.session, page.model)
    take_steps(now)
    now.grid()
    line_section(now)
    guesses_section(now)
    now.sync_link()


page.intro()
live()
page.try_this(
    [
        Try("try_short", {"prompt": "Hello", "step": 8}),
        Try("try_long", {"prompt": page.label("long_prompt"), "step": 8}),
        Try("try_known", {"prompt": "Twinkle, twinkle, little star, how I wonder what you are", "step": 3}),
    ]
)
lengths_section(page)
