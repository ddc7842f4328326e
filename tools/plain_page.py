"""A plain Streamlit page with N plotly charts that all change on a click, to measure the app's pages against.

``streamlit run tools/plain_page.py`` · the number of charts stands in the address: ``?charts=4``.
"""

import math

import plotly.graph_objects as go
import streamlit as st

charts = int(st.query_params.get("charts", "4"))
count = st.session_state.setdefault("count", 0)
if st.button("Next", key="next"):
    st.session_state["count"] = count = count + 1
st.title(f"Count {count}")
for chart in range(charts):
    values = [abs(math.sin(index * (count + 1) + chart)) for index in range(20)]
    st.plotly_chart(go.Figure(go.Bar(x=values, orientation="h")), key=f"chart-{chart}", height=300)
