"""The house template for plotly: quiet axes, our fonts, our colours, in light and dark."""

from __future__ import annotations

from functools import cache
from typing import Any

import plotly.graph_objects as go

from core.charts.palette import palette

FONT = "Inter, system-ui, sans-serif"
MONO = "JetBrains Mono, ui-monospace, monospace"

CONFIG: dict[str, Any] = {"displaylogo": False, "responsive": True, "scrollZoom": False}


@cache
def template(theme: str | None) -> go.layout.Template:
    """The template of ``"light"`` or ``"dark"``."""
    colours = palette(theme)
    axis = {
        "gridcolor": colours.line,
        "linecolor": colours.line,
        "zerolinecolor": colours.line,
        "tickcolor": colours.line,
        "tickfont": {"color": colours.muted, "size": 12},
        "title": {"font": {"color": colours.muted, "size": 13}},
        "automargin": True,
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "color": colours.ink, "size": 13},
            "title": {"font": {"size": 15, "color": colours.ink}, "x": 0, "xanchor": "left"},
            "paper_bgcolor": colours.paper,
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": [
                colours.residual,
                colours.query,
                colours.key,
                colours.value,
                colours.attention,
                colours.logits,
                colours.expert,
                colours.ffn,
            ],
            "colorscale": {
                "sequential": colours.colorscale(),
                "sequentialminus": colours.colorscale(),
                "diverging": colours.diverging_colorscale(),
            },
            "coloraxis": {"colorbar": _colorbar(colours.muted)},
            "xaxis": axis,
            "yaxis": axis,
            "legend": {"font": {"color": colours.ink, "size": 12}, "orientation": "h", "y": 1.08, "x": 0},
            "hoverlabel": {
                "bgcolor": colours.surface,
                "bordercolor": colours.line,
                "font": {"family": FONT, "color": colours.ink, "size": 12},
                "align": "left",
            },
            "margin": {"l": 8, "r": 8, "t": 20, "b": 8},
            "bargap": 0.25,
            "modebar": {
                "bgcolor": "rgba(0,0,0,0)",
                "color": colours.muted,
                "activecolor": colours.accent,
            },
        },
        data={
            "heatmap": [
                {
                    "colorbar": _colorbar(colours.muted),
                    "hoverongaps": False,
                    "colorscale": colours.colorscale(),
                }
            ]
        },
    )


def _colorbar(ink: str) -> dict[str, Any]:
    return {"outlinewidth": 0, "thickness": 10, "len": 0.9, "tickfont": {"color": ink, "size": 11}}


def dressed(figure: go.Figure, theme: str | None, height: int) -> go.Figure:
    """A copy of the figure in the house template, ``height`` pixels high."""
    copy = go.Figure(figure)
    copy.update_layout(template=template(theme), height=height, autosize=True)
    return copy
