"""Tree: the run as one branch among many; grow it, walk it, search it with beams, keep it."""

import streamlit as st

from core.ui.page import Try, open_page
from core.ui.saved import open_box, save_buttons, show_opened
from core.ui.tree import live

EXPERIMENTS = {
    "try_fact": {"prompt": "The capital of France is"},
    "try_open": {"prompt": "My favourite colour is"},
    "try_story": {"prompt": "Once upon a time there was a"},
    "try_repeat": {"prompt": "one two three one two three one two"},
}

page = open_page("tree", grid=False)
page.intro()
page.try_this([Try(name, changes) for name, changes in EXPERIMENTS.items()])
st.fragment(live)(page)
page.section("rules")
page.section("saved")
st.fragment(save_buttons)(page)
open_box(page)
show_opened(page)  # below the box: there the learner looks, and finds it ready for another file
