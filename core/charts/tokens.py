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
        ticktext=[_stacked(name) for name in tokenizers],
        side="top",
        tickangle=0,
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


def _stacked(title: str) -> str:
    """``Mistral 7B (SentencePiece)`` as ``Mistral`` over ``7B``, so that columns stay narrow on a phone."""
    return "<br>".join(chart_text(word) for word in title.partition(" (")[0].split())
