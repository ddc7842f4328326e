"""The figure of the Tokens page: languages against tokenizers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from core.charts.labels import chart_text
from core.charts.palette import palette


def language_heatmap(
    table: np.ndarray,
    languages: Sequence[str],
    tokenizers: Sequence[str],
    hover: str,
    theme: str | None = None,
) -> go.Figure:
    """(languages, tokenizers) as a table of numbers, darker where the same sentence costs more tokens.

    ``hover``: a plotly hover template over ``%{customdata[0]}`` (language), ``[1]`` (tokenizer) and ``%{z}``.
    """
    colours = palette(theme)
    whole = bool(np.all(table == np.round(table)))
    text = [[f"{value:.0f}" if whole else f"{value:.2f}" for value in row] for row in table]
    middle = (float(table.min()) + float(table.max())) / 2
    figure = go.Figure(
        go.Heatmap(
            z=table,
            colorscale=colours.colorscale(),
            showscale=False,
            xgap=3,
            ygap=3,
            hoverongaps=False,
            customdata=[[[language, name] for name in tokenizers] for language in languages],
            hovertemplate=hover,
        )
    )
    for row, values in enumerate(table):
        for column, value in enumerate(values):
            figure.add_annotation(
                x=column,
                y=row,
                text=text[row][column],
                showarrow=False,
                font={"color": colours.paper if value > middle else colours.ink, "size": 13},
            )
    figure.update_xaxes(
        tickvals=list(range(len(tokenizers))),
        ticktext=[_two_lines(name) for name in tokenizers],
        side="top",
        showgrid=False,
        fixedrange=True,
    )
    figure.update_yaxes(
        tickvals=list(range(len(languages))),
        ticktext=[chart_text(name) for name in languages],
        autorange="reversed",
        showgrid=False,
        fixedrange=True,
    )
    return figure


def _two_lines(title: str) -> str:
    """``GPT-4o (o200k)`` over two lines, so that columns stay narrow on a phone."""
    name, _, rest = title.partition(" (")
    return chart_text(name).replace("·", " ") + (f"<br>{chart_text(rest.rstrip(')'))}" if rest else "")
