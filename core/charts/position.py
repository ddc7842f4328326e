"""The figures of the Position page: score against distance, two orders, learned positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from core.charts.labels import chart_text
from core.charts.palette import palette

Words = Mapping[str, str]


def order_lines(
    cosines: np.ndarray, names: Sequence[tuple[str, str]], words: Words, theme: str | None = None
) -> go.Figure:
    """(n_layers + 1, pairs) cosines between the same tokens of two orders, a line for each token.

    ``names``: a token's text, which is shown literally, and a note in our own words.
    """
    colours = palette(theme)
    shades = [
        colours.query, colours.key, colours.value, colours.attention, colours.logits, colours.expert,
        colours.ffn, colours.residual,
    ]  # fmt: skip
    figure = go.Figure()
    for index, (token, note) in enumerate(names):
        figure.add_scatter(
            x=list(range(len(cosines))),
            y=cosines[:, index].tolist(),
            name=f"{chart_text(token)} {note}",
            mode="lines+markers",
            line={"color": shades[index % len(shades)], "width": 2},
            marker={"size": 5, "symbol": index % 6},
            hovertemplate=f"{chart_text(token)} · {words['x']} %{{x}}: %{{y:.4f}}<extra></extra>",
        )
    figure.update_xaxes(title=words["x"])
    figure.update_yaxes(title=words["y"], range=[float(cosines.min(initial=0.9)) - 0.05, 1.03])
    figure.update_layout(legend={"y": 1.0, "yanchor": "bottom"})
    return figure


def alikeness_map(
    shown: np.ndarray, cosines: np.ndarray, words: Words, theme: str | None = None
) -> go.Figure:
    """Cosines between learned position vectors. ``shown`` (n,): positions of the rows and columns."""
    figure = go.Figure()
    figure.add_heatmap(
        z=cosines.tolist(),
        customdata=[[[int(a), int(b)] for b in shown] for a in shown],
        zmin=-1,
        zmax=1,
        colorscale=palette(theme).diverging_colorscale(),
        hovertemplate="%{customdata[0]} · %{customdata[1]}: %{z:.3f}<extra></extra>",
    )
    step = max(1, len(shown) // 8)
    ticks = list(range(0, len(shown), step))
    for axis in (figure.update_xaxes, figure.update_yaxes):
        axis(title=words["position"], tickvals=ticks, ticktext=[str(int(shown[i])) for i in ticks])
    figure.update_yaxes(autorange="reversed")
    return figure
