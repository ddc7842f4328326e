"""Charts of the KV cache page: one step with and without the cache, and a whole answer."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from core.charts.labels import seconds
from core.charts.palette import palette, with_alpha
from core.lessons.measure import Curve, StepResult

Words = Mapping[str, str]


def step_times(result: StepResult, labels: Words, theme: str | None) -> go.Figure:
    """Two bars, medians, with every counted round as a dot."""
    colours = palette(theme)
    figure = go.Figure()
    rows = (("cached", result.cached, colours.key), ("uncached", result.uncached, colours.accent))
    for place, (key, rounds, colour) in enumerate(rows):
        middle = result.cached_s if key == "cached" else result.uncached_s
        figure.add_bar(
            y=[place],
            x=[1000 * middle],
            orientation="h",
            name=labels[key],
            marker={"color": with_alpha(colour, 0.75)},
            hovertemplate=f"{seconds(middle)}<extra>{labels[key]}</extra>",
        )
        figure.add_scatter(
            y=[place] * len(rounds),
            x=[1000 * value for value in rounds],
            mode="markers",
            marker={"color": colours.ink, "size": 7, "symbol": "line-ns-open"},
            name=labels["rounds"],
            customdata=[seconds(value) for value in rounds],
            hovertemplate="%{customdata}<extra>" + labels["rounds"] + "</extra>",
        )
    figure.update_layout(
        showlegend=False,
        xaxis={"title": {"text": labels["axis_ms"]}, "rangemode": "tozero"},
        yaxis={
            "tickvals": [0, 1],
            "ticktext": [labels["cached"], labels["uncached"]],
            "autorange": "reversed",
            "tickfont": {"size": 13, "color": colours.ink},
        },
        bargap=0.35,
    )
    return figure


def answer_curves(cached: Curve, uncached: Curve, labels: Words, theme: str | None) -> go.Figure:
    """Seconds for an answer of 1, 2, … tokens; what is measured is solid, what is carried on is dashed."""
    colours = palette(theme)
    figure = go.Figure()
    for key, curve, colour in (("uncached", uncached, colours.accent), ("cached", cached, colours.key)):
        for part, first, last in (
            ("measured", 0, curve.measured),
            ("carried_on", max(0, curve.measured - 1), len(curve.seconds)),
        ):
            if last - first < (1 if part == "measured" else 2):
                continue
            name = f"{labels[key]}, {labels[part]}"
            figure.add_scatter(
                x=list(range(first + 1, last + 1)),
                y=list(curve.seconds[first:last]),
                mode="lines",
                name=labels[key] if part == "measured" else name,
                showlegend=part == "measured",
                line={
                    "color": colour,
                    "width": 3 if part == "measured" else 2,
                    "dash": "solid" if part == "measured" else "dash",
                },
                customdata=[seconds(value) for value in curve.seconds[first:last]],
                hovertemplate="%{x:,}: %{customdata}<extra>" + name + "</extra>",
            )
    figure.update_layout(
        xaxis={"title": {"text": labels["axis_answer"]}, "rangemode": "tozero"},
        yaxis={"title": {"text": labels["axis_s"]}, "rangemode": "tozero"},
        hovermode="x",
    )
    return figure
