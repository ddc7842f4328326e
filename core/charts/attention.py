"""The next token's chances before and after an experiment, as paired bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.charts.labels import chart_text, percent
from core.charts.palette import palette
from core.lessons.attention_experiment import Comparison


def before_and_after(
    compared: Comparison, names: Sequence[str], labels: Mapping[str, str], theme: str | None
) -> go.Figure:
    """Two bars for each token and two for the rest. ``names``: the tokens' texts; ``labels`` has before,
    after, others, axis_probability."""
    colours = palette(theme)
    ticks = [*(chart_text(name) for name in names), labels["others"]]
    figure = go.Figure()
    for label, values, rest, colour in (
        ("before", compared.before, compared.rest_before, colours.logits),
        ("after", compared.after, compared.rest_after, colours.accent),
    ):
        shares = [*(float(value) for value in values), rest]
        figure.add_bar(
            y=list(range(len(shares))),
            x=shares,
            orientation="h",
            name=labels[label],
            marker={"color": colour},
            text=[percent(share) for share in shares],
            textposition="outside",
            cliponaxis=False,
            customdata=[[tick, percent(share)] for tick, share in zip(ticks, shares, strict=True)],
            hovertemplate="%{customdata[0]}: %{customdata[1]}<extra>" + labels[label] + "</extra>",
        )
    figure.update_layout(
        barmode="group",
        legend={"y": 1.0, "yanchor": "bottom"},
        yaxis={"tickvals": list(range(len(ticks))), "ticktext": ticks, "autorange": "reversed"},
        xaxis={
            "title": {"text": labels["axis_probability"]},
            "tickformat": ".0%",
            "range": [0, 1.2],
            "tickvals": [0, 0.25, 0.5, 0.75, 1],
        },
    )
    return figure
