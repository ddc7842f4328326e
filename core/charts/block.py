"""The figures of the Block page: the residual stream through the layers, and parameters per part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.charts.palette import palette

Words = Mapping[str, str]
Line = Sequence[float | None]


def stream_sizes(stream: Line, attention: Line, ffn: Line, words: Words, theme: str | None) -> go.Figure:
    """Lengths through the layers: the stream before each block and at the end, and what each part added."""
    figure = _lines(
        [("stream", stream, "residual"), ("attention", attention, "attention"), ("ffn", ffn, "ffn")],
        words,
        theme,
    )
    figure.update_yaxes(title=words["size"], type="log")
    return figure


def directions(attention: Line, ffn: Line, words: Words, theme: str | None) -> go.Figure:
    """Cosine between what each part added and the stream it was added to."""
    figure = _lines([("attention", attention, "attention"), ("ffn", ffn, "ffn")], words, theme)
    figure.update_yaxes(title=words["cosine"], range=[-1.05, 1.05])
    return figure


def part_bars(
    rows: Sequence[tuple[str, int]], colours_of: Mapping[str, str], words: Words, theme: str | None
) -> go.Figure:
    """Numbers per part of the model, the largest at the top."""
    colours = palette(theme)
    names = [name for name, _ in rows]
    total = sum(count for _, count in rows) or 1
    figure = go.Figure()
    figure.add_bar(
        x=[count for _, count in rows],
        y=list(range(len(rows))),
        orientation="h",
        marker={"color": [getattr(colours, colours_of.get(name, "muted")) for name in names]},
        text=[f"{count:,} · {count / total:.1%}" for _, count in rows],
        textposition="auto",
        customdata=[words[name] for name in names],
        hovertemplate="%{customdata}: %{x:,}<extra></extra>",
    )
    figure.update_yaxes(
        tickvals=list(range(len(rows))), ticktext=[words[name] for name in names], autorange="reversed"
    )
    figure.update_xaxes(title=words["numbers"])
    return figure


def _lines(lines: Sequence[tuple[str, Line, str]], words: Words, theme: str | None) -> go.Figure:
    colours = palette(theme)
    figure = go.Figure()
    for name, values, colour in lines:
        figure.add_scatter(
            x=list(range(len(values))),
            y=list(values),
            name=words[name],
            mode="lines+markers",
            line={"color": getattr(colours, colour), "width": 2},
            marker={"size": 5},
            hovertemplate=f"{words[name]}, {words['layer']} %{{x}}: %{{y:.4g}}<extra></extra>",
        )
    figure.update_xaxes(title=words["layer"])
    figure.update_layout(legend={"y": 1.0, "yanchor": "bottom"})
    return figure
