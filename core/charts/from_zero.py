"""The loss of a training run against its steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.charts.palette import palette


def loss_curve(
    losses: Sequence[float],
    held: Sequence[tuple[int, float]],
    vocab_size: int,
    labels: Mapping[str, str],
    theme: str | None,
) -> go.Figure:
    """Every batch's loss, the held-out loss, and ln V: what guessing all tokens alike costs. In nats."""
    colours = palette(theme)
    uniform, last = math.log(vocab_size), max(1, len(losses))
    figure = go.Figure()
    for name, x, y, colour, dash in (
        (labels["line_batch"], list(range(len(losses))), list(losses), colours.value, "solid"),
        (labels["line_held"], [step for step, _ in held], [loss for _, loss in held], colours.key, "dash"),
        (labels["line_uniform"], [0, last], [uniform, uniform], colours.muted, "dot"),
    ):
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            name=name,
            line={"color": colour, "dash": dash, "width": 2},
            hovertemplate="%{x:,}: %{y:.3f}<extra>" + name + "</extra>",
        )
    figure.update_layout(
        xaxis={"title": {"text": labels["axis_steps"]}},
        yaxis={"title": {"text": labels["axis_loss"]}, "rangemode": "tozero"},
    )
    return figure
