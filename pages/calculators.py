"""Calculators: memory and work of models that are not loaded, counted from their published shapes."""

import streamlit as st

from core.ui.calculator_inputs import choose
from core.ui.calculator_simulation import simulation_section
from core.ui.calculator_views import active_section, cards_section, flops_section, kv_section
from core.ui.page import open_page

page = open_page("calculators", grid=False)
page.intro()
page.grid()
choice, load = choose(page)
for section in (kv_section, cards_section, active_section, flops_section):
    with st.container(key=f"calc_{section.__name__}"):
        section(page, choice, load)
st.fragment(simulation_section)(page)
