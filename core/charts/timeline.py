"""Charts of the Timeline page: time to first token, time per token, and the roofline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from core.charts.labels import number, seconds
from core.charts.palette import Palette, palette
from core.lessons.measure import LengthTimes
from core.lessons.timeline import Roofline

Words = Mapping[str, str]


def time_to_first_token(rows: Sequence[LengthTimes], labels: Words, theme: str | None) -> go.Figure:
    """Time to first token against prompt length, both logarithmic, and what it is made of."""
    colours = palette(theme)
    figure = _lines(
        rows,
        [
            (labels["line_ttft"], lambda row: row.ttft_s, colours.accent, "solid"),
            (labels["line_prefill"], lambda row: row.prefill_s, colours.residual, "dash"),
            (labels["line_tokenise"], lambda row: row.tokenise_s, colours.muted, "dot"),
            (labels["line_choose"], lambda row: row.choose_s, colours.logits, "dashdot"),
        ],
    )
    _axes(figure, rows, labels["axis_tokens"], labels["axis_ms"])
    return figure


def time_per_token(rows: Sequence[LengthTimes], labels: Words, theme: str | None) -> go.Figure:
    """Prefill time over its tokens, and time of one decode step, against prompt length; both logarithmic."""
    colours = palette(theme)
    figure = _lines(
        rows,
        [
            (labels["line_per_token"], lambda row: row.prefill_per_token_s, colours.residual, "solid"),
            (labels["line_decode"], lambda row: row.decode_s, colours.key, "dash"),
        ],
    )
    _axes(figure, rows, labels["axis_tokens"], labels["axis_ms_per_token"])
    return figure


Line = tuple[str, Callable[[LengthTimes], float], str, str]


def _lines(rows: Sequence[LengthTimes], lines: Sequence[Line]) -> go.Figure:
    figure = go.Figure()
    for name, read, colour, dash in lines:
        values = [read(row) for row in rows]
        figure.add_scatter(
            x=[row.tokens for row in rows],
            y=[1000 * value for value in values],
            mode="lines+markers",
            name=name,
            line={"color": colour, "dash": dash, "width": 2.5},
            marker={"size": 8},
            customdata=[seconds(value) for value in values],
            hovertemplate="%{x:,}: %{customdata}<extra>" + name + "</extra>",
        )
    return figure


def _axes(figure: go.Figure, rows: Sequence[LengthTimes], x: str, y: str) -> None:
    lengths = [row.tokens for row in rows]
    figure.update_layout(
        xaxis={
            "type": "log",
            "title": {"text": x},
            "tickvals": lengths,
            "ticktext": [f"{length:,}" for length in lengths],
        },
        yaxis={"type": "log", "title": {"text": y}, "tickformat": "~g"},
        hovermode="x",
    )


def roofline(found: Roofline, labels: Words, theme: str | None) -> go.Figure:
    """FLOPs per second over FLOPs per byte, both logarithmic: the machine's roof, and each measured pass."""
    colours = palette(theme)
    low = min([dot.flops_per_byte for dot in found.dots] + [found.ridge]) / 2
    high = max([dot.flops_per_byte for dot in found.dots] + [found.ridge]) * 2
    corners = [low, found.ridge, high]
    figure = go.Figure()
    figure.add_scatter(
        x=corners,
        y=[found.roof(at) / 1e9 for at in corners],
        mode="lines",
        name=labels["line_roof"],
        line={"color": colours.ink, "width": 2},
        hovertemplate="%{y:.3~g} GFLOP/s<extra>" + labels["line_roof"] + "</extra>",
    )
    for kind, colour, symbol in _marks(colours):
        dots = [dot for dot in found.dots if dot.kind == kind]
        figure.add_scatter(
            x=[dot.flops_per_byte for dot in dots],
            y=[dot.reached / 1e9 for dot in dots],
            mode="markers+text",
            name=labels[f"dot_{kind}"],
            text=[f"{dot.tokens:,}" if kind == "prefill" else "" for dot in dots],
            textposition="bottom center",
            textfont={"color": colours.muted, "size": 11},
            marker={"color": colour, "symbol": symbol, "size": 11},
            customdata=[
                [f"{dot.tokens:,}", number(dot.flops_per_byte), number(dot.reached / 1e9)] for dot in dots
            ],
            hovertemplate="%{customdata[0]} tokens: %{customdata[1]} FLOP/byte, %{customdata[2]} GFLOP/s"
            "<extra>" + labels[f"dot_{kind}"] + "</extra>",
        )
    figure.update_layout(
        xaxis={"type": "log", "title": {"text": labels["axis_intensity"]}, "tickformat": "~g"},
        yaxis={"type": "log", "title": {"text": labels["axis_gflops"]}, "tickformat": "~g"},
    )
    return figure


def _marks(colours: Palette) -> list[tuple[str, str, str]]:
    return [("prefill", colours.residual, "circle"), ("decode", colours.key, "diamond")]
