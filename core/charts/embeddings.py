"""The figure of the Embeddings page: tokens of the prompt among their neighbours, projected to a plane."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import plotly.graph_objects as go

from core.charts.labels import chart_text
from core.charts.palette import palette, with_alpha
from core.lessons.embeddings import TokenMap


@lru_cache(maxsize=64)
def token_map(
    found: TokenMap,
    texts: tuple[str, ...],
    chosen: int,
    axes: tuple[str, str],
    legend: tuple[str, str],
    theme: str | None = None,
) -> go.Figure:
    """Prompt tokens as named dots, their neighbours as small ones joined to them.

    ``chosen``: the token id whose neighbours are named as well. ``legend``: names of the two kinds of dots.
    The same arguments give the same figure, which is not to be changed.
    """
    colours = palette(theme)
    names = [chart_text(text) for text in texts]
    own = [i for i in range(len(names)) if found.is_prompt(i)]
    others = [i for i in range(len(names)) if not found.is_prompt(i)]
    lit = next((i for i in own if found.token_ids[i] == chosen), -1)
    figure = go.Figure()
    joined: tuple[list[float | None], list[float | None]] = ([], [])
    for i in others:
        for axis in (0, 1):
            joined[axis].extend(
                [float(found.points[i, axis]), float(found.points[found.parent[i], axis]), None]
            )
    figure.add_scatter(
        x=joined[0],
        y=joined[1],
        mode="lines",
        line={"color": with_alpha(colours.muted, 0.3), "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_scatter(
        **_dots(found, others, names, [names[i] if found.parent[i] == lit else "" for i in others]),
        name=legend[1],
        textposition="bottom center",
        textfont={"color": colours.muted, "size": 12},
        marker={
            "color": [
                colours.residual if found.parent[i] == lit else with_alpha(colours.residual, 0.45)
                for i in others
            ],
            "size": 7,
        },
    )
    figure.add_scatter(
        **_dots(found, own, names, [names[i] for i in own]),
        name=legend[0],
        textposition="top center",
        textfont={"color": colours.ink, "size": 14},
        marker={
            "color": [colours.accent if i == lit else colours.ink for i in own],
            "size": [15 if i == lit else 11 for i in own],
            "line": {"color": colours.paper, "width": 2},
        },
    )
    figure.update_xaxes(title=axes[0], showticklabels=False, zeroline=False)
    figure.update_yaxes(
        title=axes[1], showticklabels=False, zeroline=False, scaleanchor="x", constrain="domain"
    )
    figure.update_layout(legend={"y": 1.0, "yanchor": "bottom"})
    return figure


def _dots(
    found: TokenMap, indices: Sequence[int], names: Sequence[str], texts: Sequence[str]
) -> dict[str, object]:
    return {
        "x": [float(found.points[i, 0]) for i in indices],
        "y": [float(found.points[i, 1]) for i in indices],
        "mode": "markers+text",
        "text": list(texts),
        "customdata": [[names[i], found.token_ids[i]] for i in indices],
        "hovertemplate": "%{customdata[0]} · id %{customdata[1]}<extra></extra>",
    }
