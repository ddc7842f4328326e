"""The block: one layer from left to right, its norm, its neurons, and what it adds to the residual stream."""

import streamlit as st

from core.ui.block import flow_section, neuron_section, norm_section, parameter_section, stream_fragment
from core.ui.page import Try, open_page

page = open_page("block")
page.intro()
with st.container(horizontal=True, gap="small", key="nt_picks"):
    page.pick_layer()
    page.pick_head()
    page.pick_position()
flow_section(page)
page.try_this(
    [
        Try("try_first", {"layer": 0}),
        Try("try_last", {"layer": page.model.shape.n_layers - 1}),
        Try("try_paris", {"prompt": "The capital of France is", "layer": page.model.shape.n_layers - 2}),
        Try("try_start", {"position": 0, "layer": min(3, page.model.shape.n_layers - 1)}),
    ]
)
st.fragment(norm_section)(page)
stream_fragment(page)
st.fragment(neuron_section)(page)
parameter_section(page)
