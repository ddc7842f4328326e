"""Position: how the model tells places apart; queries and keys that turn, and two orders of words."""

import streamlit as st

from core.ui.page import Try, open_page
from core.ui.position import orders_section, place_section

page = open_page("position")
page.intro()
with st.container(horizontal=True, gap="small", key="nt_picks"):
    page.pick_layer()
    page.pick_head()
    page.pick_position()
place_section(page)
page.try_this(
    [
        Try("try_dog", {"prompt": "Dog bites man", "position": 2}),
        Try("try_man", {"prompt": "Man bites dog", "position": 2}),
        Try("try_repeat", {"prompt": "the cat the cat the cat the", "position": 6}),
        Try("try_first", {"prompt": "The capital of France is", "layer": 0}),
    ]
)
st.fragment(orders_section)(page)
