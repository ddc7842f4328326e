"""Position: how the model tells places apart; queries and keys that turn, and two orders of words."""

import streamlit as st

from core.ui.page import Page, Try, open_page
from core.ui.position import orders_section, place_section

page = open_page("position", grid=False)
page.intro()
page.follow(Page.pickers, place_section)
page.try_this(
    [
        Try("try_dog", {"prompt": "Dog bites man", "position": 2}),
        Try("try_man", {"prompt": "Man bites dog", "position": 2}),
        Try("try_repeat", {"prompt": "the cat the cat the cat the", "position": 6}),
        Try("try_first", {"prompt": "The capital of France is", "layer": 0}),
    ]
)
st.fragment(orders_section)(page)
