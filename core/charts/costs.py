"""Charts of the calculators: K/V bytes, what fits, parameters, FLOPs and FLOPs per byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10

import plotly.graph_objects as go

from core.charts.palette import Palette, palette, with_alpha

Series = tuple[str, Sequence[float], bool]
"""Name, values, and whether it is the one to stand out."""

VARIANT_DASH = {False: "dot", True: "solid"}


def _part_colour(part: str, colours: Palette) -> str:
    """The house colour of a part of the model, the same in every chart here."""
    return {
        "weights": colours.logits,
        "kv": colours.key,
        "overhead": colours.muted,
        "embeddings": colours.residual,
        "positions": colours.residual,
        "attention": colours.attention,
        "attention_projections": colours.attention,
        "attention_small": colours.attention,
        "attention_scores": colours.query,
        "ffn": colours.ffn,
        "experts": colours.expert,
        "shared_experts": colours.ffn,
        "router": colours.accent,
        "norms": colours.muted,
        "lm_head": colours.logits,
    }[part]


def kv_curves(
    contexts: Sequence[int],
    series: Sequence[Series],
    chosen: int,
    weights: tuple[str, float],
    axis: tuple[str, str],
    theme: str | None,
) -> go.Figure:
    """Cache in GB against context length, both logarithmic; a line for the weights, a mark at ``chosen``."""
    colours = palette(theme)
    figure = go.Figure()
    for name, values, own in series:
        figure.add_scatter(
            x=contexts,
            y=[value / 1e9 for value in values],
            mode="lines",
            name=name,
            line={
                "color": colours.key if own else colours.muted,
                "width": 3 if own else 1.5,
                "dash": VARIANT_DASH[own],
            },
            hovertemplate="%{x:,} · %{y:.4~g} GB<extra>" + name + "</extra>",
        )
        if own and chosen in contexts:
            figure.add_scatter(
                x=[chosen],
                y=[values[list(contexts).index(chosen)] / 1e9],
                mode="markers",
                marker={"color": colours.key, "size": 12, "line": {"color": colours.paper, "width": 2}},
                showlegend=False,
                hovertemplate="%{x:,} · %{y:.4~g} GB<extra>" + name + "</extra>",
            )
    name, value = weights
    figure.add_scatter(
        x=[contexts[0], contexts[-1]],
        y=[value / 1e9] * 2,
        mode="lines",
        name=name,
        line={"color": colours.logits, "width": 2, "dash": "dash"},
        hovertemplate="%{y:.4~g} GB<extra>" + name + "</extra>",
    )
    figure.update_xaxes(type="log", title=axis[0], tickformat="~s", dtick=1)
    figure.update_yaxes(type="log", title=axis[1], tickformat="~g", dtick=1)
    figure.update_layout(legend={"y": 1.0, "yanchor": "bottom"})
    return figure


def kv_bars(rows: Sequence[tuple[str, float, str, bool]], axis: str, theme: str | None) -> go.Figure:
    """One bar per way of caching: (name, bytes, text at its end, is the model's own)."""
    colours = palette(theme)
    top = max(value for _, value, _, _ in rows) / 1e9
    figure = go.Figure(
        go.Bar(
            x=[value / 1e9 for _, value, _, _ in rows],
            y=[name for name, _, _, _ in rows],
            orientation="h",
            text=[text for _, _, text, _ in rows],
            textposition="outside",
            cliponaxis=False,
            marker={"color": [colours.key if own else with_alpha(colours.key, 0.35) for *_, own in rows]},
            hovertemplate="%{y}: %{text}<extra></extra>",
        )
    )
    figure.update_yaxes(autorange="reversed", showgrid=False, ticklabelstandoff=6)
    figure.update_xaxes(title=axis, range=[0, top * 1.4], tickformat="~g", nticks=5)
    return figure


def card_bars(
    need: Sequence[tuple[str, str, float]],
    need_label: str,
    rows: Sequence[tuple[str, float, bool, str]],
    axis: str,
    theme: str | None,
) -> go.Figure:
    """What is needed, (part, name, bytes), stacked over one bar per card, (name, bytes, fits, text)."""
    colours = palette(theme)
    total = sum(value for *_, value in need) / 1e9
    figure = go.Figure()
    for part, name, value in need:
        figure.add_bar(
            x=[value / 1e9],
            y=[need_label],
            orientation="h",
            name=name,
            marker={"color": _part_colour(part, colours)},
            hovertemplate=f"{name}: %{{x:.4~g}} GB<extra></extra>",
        )
    figure.add_bar(
        x=[size / 1e9 for _, size, _, _ in rows],
        y=[name for name, *_ in rows],
        orientation="h",
        showlegend=False,
        text=[text for *_, text in rows],
        textposition="outside",
        cliponaxis=False,
        marker={
            "color": [
                with_alpha(colours.value, 0.55) if fits else with_alpha(colours.muted, 0.15)
                for _, _, fits, _ in rows
            ],
            "line": {
                "color": [colours.value if fits else colours.muted for _, _, fits, _ in rows],
                "width": 1,
            },
            "pattern": {
                "shape": ["" if fits else "/" for _, _, fits, _ in rows],
                "fgcolor": colours.muted,
                "solidity": 0.12,
            },
        },
        hovertemplate="%{y}: %{x:.4~g} GB · %{text}<extra></extra>",
    )
    figure.add_vline(x=total, line={"color": colours.ink, "width": 1.5, "dash": "dot"})
    widest = max([total, *(size / 1e9 for _, size, _, _ in rows)])
    figure.update_layout(barmode="stack", legend={"traceorder": "normal"})
    figure.update_yaxes(autorange="reversed", showgrid=False, ticklabelstandoff=6)
    figure.update_xaxes(title=axis, range=[0, widest * 1.4], tickformat="~g")
    return figure


def parameter_bars(
    rows: Sequence[tuple[str, str, int, int]], names: tuple[str, str], axis: str, theme: str | None
) -> go.Figure:
    """Stored and used parameters of each part: (part, name, total, active)."""
    colours = palette(theme)
    labels = [name for _, name, _, _ in rows]
    full = [_part_colour(part, colours) for part, *_ in rows]
    figure = go.Figure()
    figure.add_bar(
        x=[total for *_, total, _ in rows],
        y=labels,
        orientation="h",
        name=names[0],
        marker={"color": [with_alpha(c, 0.22) for c in full], "line": {"color": full, "width": 1}},
        hovertemplate="%{y}: %{x:,}<extra>" + names[0] + "</extra>",
    )
    figure.add_bar(
        x=[active for *_, active in rows],
        y=labels,
        orientation="h",
        name=names[1],
        width=0.4,
        marker={"color": full},
        hovertemplate="%{y}: %{x:,}<extra>" + names[1] + "</extra>",
    )
    figure.update_layout(barmode="overlay", showlegend=False)
    figure.update_yaxes(autorange="reversed", showgrid=False, ticklabelstandoff=6)
    figure.update_xaxes(title=axis, exponentformat="B", tickformat="")
    return figure


def flops_bars(
    columns: Sequence[str],
    parts: Mapping[str, tuple[str, Sequence[int]]],
    line: tuple[str, float],
    axis: tuple[str, str],
    theme: str | None,
) -> go.Figure:
    """FLOPs of a decode step per context length, stacked by part, and what active weights alone suggest."""
    colours = palette(theme)
    figure = go.Figure()
    for part, (name, values) in parts.items():
        figure.add_bar(
            x=list(range(len(columns))),
            y=[value / 1e9 for value in values],
            name=name,
            marker={"color": _part_colour(part, colours)},
            hovertemplate="%{y:.4~g} GFLOPs<extra>" + name + "</extra>",
        )
    figure.add_scatter(
        x=[-0.5, len(columns) - 0.5],
        y=[line[1] / 1e9] * 2,
        mode="lines",
        name=line[0],
        line={"color": colours.ink, "width": 1.5, "dash": "dot"},
        hovertemplate="%{y:.4~g} GFLOPs<extra>" + line[0] + "</extra>",
    )
    figure.update_layout(barmode="stack", legend={"traceorder": "normal", "y": 1.0, "yanchor": "bottom"})
    figure.update_xaxes(
        title=axis[0],
        tickvals=list(range(len(columns))),
        ticktext=[column.replace(", ", "<br>") for column in columns],  # two lines find room on a phone
        showgrid=False,
    )
    figure.update_yaxes(title=axis[1], tickformat="~g")
    return figure


def intensity_strip(
    dots: Sequence[tuple[str, float, str]],
    ridges: Sequence[tuple[str, float]],
    axis: str,
    theme: str | None,
) -> go.Figure:
    """FLOPs per byte on a logarithmic line: passes, (name, value, colour role), over the cards' ridges."""
    colours = palette(theme)
    figure = go.Figure()
    for name, value in ridges:
        figure.add_scatter(
            x=[value],
            y=[0],
            mode="markers",
            marker={"symbol": "line-ns", "size": 18, "line": {"color": colours.muted, "width": 2}},
            hovertemplate=f"{name}: %{{x:.0f}}<extra></extra>",
            showlegend=False,
        )
    low, high = min(value for _, value in ridges), max(value for _, value in ridges)
    figure.add_vrect(x0=low, x1=high, fillcolor=with_alpha(colours.muted, 0.1), line_width=0)
    for name, value, role in dots:
        figure.add_scatter(
            x=[value],
            y=[1],
            mode="markers+text",
            text=[f"{name} {value:,.0f}" if value >= 10 else f"{name} {value:.2g}"],
            textposition="top center",
            marker={"size": 16, "color": getattr(colours, role)},
            hovertemplate=f"{name}: %{{x:.4~g}}<extra></extra>",
            showlegend=False,
        )
    values = [value for _, value, _ in dots] + [low, high]
    figure.update_xaxes(type="log", title=axis, range=_log_range(values), tickformat="~g", dtick=1)
    figure.update_yaxes(visible=False, range=[-0.6, 1.9])
    return figure


def _log_range(values: Sequence[float]) -> list[float]:
    return [log10(min(values)) - 0.6, log10(max(values)) + 0.6]
