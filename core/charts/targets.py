"""Charts of the Targets page: loss along a text, and the two worlds against position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from core.charts.labels import chart_text, number
from core.charts.palette import palette
from core.lessons.teacher_forcing import Average

Words = Mapping[str, str]
NAMED_UP_TO = 32
_ABOVE = {"yanchor": "bottom", "y": 1.02}
"""A legend of two lines stands above the curves and not over them."""


def losses(
    values: np.ndarray,
    scored: np.ndarray,
    targets: Sequence[str],
    mean: float,
    labels: Words,
    theme: str | None,
) -> go.Figure:
    """One bar a row: the loss of its target. Rows that do not count are hatched; a line marks the mean."""
    colours = palette(theme)
    rows = np.arange(values.size)
    figure = go.Figure()
    for counts, colour, pattern in ((True, colours.logits, ""), (False, colours.muted, "/")):
        these = rows[scored == counts]
        if these.size == 0:
            continue
        name = labels["bar_scored" if counts else "bar_out"]
        figure.add_bar(
            x=these,
            y=values[these],
            name=name,
            marker={"color": colour, "pattern": {"shape": pattern}},
            customdata=[[chart_text(targets[row]), number(float(values[row]))] for row in these],
            hovertemplate="%{x} → %{customdata[0]}: %{customdata[1]}<extra>" + name + "</extra>",
        )
    if np.isfinite(mean):
        figure.add_scatter(
            x=[-0.5, values.size - 0.5],
            y=[mean, mean],
            mode="lines",
            name=labels["line_mean"].format(mean=number(mean)),
            line={"color": colours.accent, "dash": "dash", "width": 2},
            hoverinfo="skip",
        )
    axis = {"title": {"text": labels["axis_row"]}, "range": [-0.5, values.size - 0.5]}
    if values.size <= NAMED_UP_TO:
        axis |= {"tickvals": rows, "ticktext": [chart_text(text, 12) for text in targets]}
    figure.update_layout(
        xaxis=axis, yaxis=_from_zero(labels["axis_loss"], values), showlegend=True, legend=_ABOVE
    )
    return figure


def two_worlds(found: Average, labels: Words, theme: str | None) -> go.Figure:
    """Loss of the reference with either prefix, and of the model's own words, against position."""
    colours = palette(theme)
    figure = go.Figure()
    for key, values, colour, dash, symbol in (
        ("line_true", found.true_loss, colours.residual, "solid", "circle"),
        ("line_own", found.own_loss, colours.accent, "dash", "diamond"),
        ("line_words", found.own_words, colours.value, "dot", "x"),
    ):
        _line(figure, found.positions, values, labels[key], colour, dash, symbol)
    values = np.concatenate([found.true_loss, found.own_loss, found.own_words])
    _axes(figure, labels["axis_position"], labels["axis_nats"], values)
    return figure


def distance(found: Average, labels: Words, theme: str | None) -> go.Figure:
    """Mean KL of the two distributions, and the share of seeds whose prefix is still the reference's."""
    colours = palette(theme)
    figure = go.Figure()
    _line(figure, found.positions, found.kl, labels["line_kl"], colours.logits, "solid", "circle")
    _line(figure, found.positions, found.together, labels["line_together"], colours.muted, "dot", "square")
    figure.data[1].update(yaxis="y2")
    _axes(figure, labels["axis_position"], labels["axis_bits"], found.kl)
    figure.update_layout(
        yaxis2={
            "title": {"text": labels["axis_share"]},
            "overlaying": "y",
            "side": "right",
            "range": [0, 1.05],
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
            "tickformat": ".0%",
            "showgrid": False,
        }
    )
    return figure


def _line(
    figure: go.Figure, x: np.ndarray, y: np.ndarray, name: str, colour: str, dash: str, symbol: str
) -> None:
    figure.add_scatter(
        x=x,
        y=y,
        mode="lines+markers",
        name=name,
        line={"color": colour, "dash": dash, "width": 2.5},
        marker={"symbol": symbol, "size": 7},
        hovertemplate="%{y:.3~g}<extra>" + name + "</extra>",
    )


def _from_zero(title: str, values: np.ndarray) -> dict[str, Any]:
    """A vertical axis from 0 to above the largest value: a chart that is drawn again keeps no older range."""
    known = values[np.isfinite(values)]
    return {"title": {"text": title}, "range": [0, 1.08 * max(float(known.max(initial=0.0)), 0.1)]}


def _axes(figure: go.Figure, x: str, y: str, values: np.ndarray) -> None:
    figure.update_layout(
        xaxis={"title": {"text": x}, "tickformat": "d"},
        yaxis=_from_zero(y, values),
        hovermode="x",
        legend=_ABOVE,
    )
