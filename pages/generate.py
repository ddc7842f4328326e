"""Generate: the run stepped one token at a time, with each distribution before each choice."""

import streamlit as st

from core.ui.generate import live
from core.ui.page import open_page

page = open_page("generate", grid=False)
page.intro()
st.fragment(live)(page)
