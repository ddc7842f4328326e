"""Charts of the Experts page: loads against uniform, another k, dense beside Mixture of Experts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from core.charts.labels import number, percent
from core.charts.palette import palette


def load_map(
    shares: np.ndarray, layers: Sequence[int], lit: int | None, labels: Mapping[str, str], theme: str | None
) -> go.Figure:
    """(M, E) shares of the choices, coloured by their distance from uniform, 1/E: blue is more.

    ``labels`` has axis_expert, axis_layer, load_scale, load_tip, evenness.
    """
    colours = palette(theme)
    uniform = 1 / shares.shape[1]
    words = [[percent(float(share)) for share in row] for row in shares]
    figure = go.Figure(
        go.Heatmap(
            z=shares / uniform,
            x=list(range(shares.shape[1])),
            y=list(range(len(layers))),
            zmid=1,
            zmin=0,
            zmax=2,
            colorscale=colours.diverging_colorscale(),
            colorbar={"title": {"text": labels["load_scale"], "side": "right"}, "tickvals": [0, 1, 2]}
            | {"ticktext": ["0", "1", "2+"]},
            customdata=np.stack(
                [np.repeat(np.array(layers)[:, None], shares.shape[1], 1), np.array(words, dtype=object)], -1
            ),
            hovertemplate=labels["load_tip"] + "<extra></extra>",
            xgap=1,
            ygap=1,
        )
    )
    if lit is not None:
        figure.add_shape(
            type="rect",
            x0=-0.5,
            x1=shares.shape[1] - 0.5,
            y0=lit - 0.5,
            y1=lit + 0.5,
            line={"color": colours.ink, "width": 2},
        )
    step = 1 if len(layers) <= 12 else 3
    shown = list(range(0, len(layers), step))
    figure.update_xaxes(title=labels["axis_expert"], dtick=1 if shares.shape[1] <= 16 else 8, showgrid=False)
    figure.update_yaxes(
        title=labels["axis_layer"],
        tickvals=shown,
        ticktext=[str(layers[at]) for at in shown],
        showgrid=False,
    )
    return figure


def layer_load(
    bars: Sequence[tuple[str, Sequence[float]]], labels: Mapping[str, str], theme: str | None
) -> go.Figure:
    """One layer's load per expert over several texts, (name, shares), and the line of uniform."""
    colours = palette(theme)
    count = len(bars[0][1])
    figure = go.Figure()
    shades = (colours.expert, colours.residual, colours.muted)
    for (name, shares), colour, pattern in zip(bars, shades, ("", "/", "."), strict=False):
        figure.add_bar(
            x=list(range(count)),
            y=list(shares),
            name=name,
            marker={"color": colour, "pattern": {"shape": pattern}},
            hovertemplate="%{x}: %{y:.1%}<extra>" + name + "</extra>",
        )
    figure.add_hline(y=1 / count, line={"color": colours.ink, "width": 1.5, "dash": "dot"})
    figure.update_xaxes(title=labels["axis_expert"], dtick=1 if count <= 16 else 8, showgrid=False)
    figure.update_yaxes(title=labels["axis_share"], tickformat=".0%", rangemode="tozero")
    return figure


def top_k_bars(
    rows: Sequence[tuple[str, float, float]], labels: Mapping[str, str], theme: str | None
) -> go.Figure:
    """KL per k: (name, next token, mean over the text)."""
    colours = palette(theme)
    figure = go.Figure()
    for label, at, colour, pattern in (
        ("kl_next", 1, colours.logits, ""),
        ("kl_mean", 2, colours.residual, "/"),
    ):
        figure.add_bar(
            x=[row[0] for row in rows],
            y=[row[at] for row in rows],
            name=labels[label],
            marker={"color": colour, "pattern": {"shape": pattern}},
            text=[number(float(row[at]), 2) for row in rows],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y:.3g}<extra>" + labels[label] + "</extra>",
        )
    figure.update_xaxes(showgrid=False, type="category")
    figure.update_yaxes(title=labels["axis_kl"], rangemode="tozero")
    return figure
