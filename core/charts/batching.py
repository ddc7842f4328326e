"""Charts of the serving simulation: who is served when, how much memory is held, and the block table."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.charts.palette import palette, with_alpha
from core.lessons.batching import DECODE, HELD, PREFILL, Frame, Outcome

COLUMNS = 16
"""Blocks in one row of the block table."""


def request_colour(index: int, theme: str | None) -> str:
    """The colour of a request; eight of them, then again, always beside its number."""
    c = palette(theme)
    ring = (c.key, c.query, c.value, c.attention, c.logits, c.expert, c.residual, c.ffn)
    return ring[index % len(ring)]


def timeline(outcome: Outcome, passes: int, axis: tuple[str, str], theme: str | None) -> go.Figure:
    """Places × passes: a request's spans in its colour; prompt passes are framed, held places are hatched."""
    colours = palette(theme)
    figure = go.Figure()
    for kind in (DECODE, PREFILL, HELD):
        spans = [span for span in outcome.spans if span.kind == kind]
        shades = [request_colour(span.request, theme) for span in spans]
        figure.add_bar(
            x=[span.end - span.start for span in spans],
            y=[span.slot for span in spans],
            base=[span.start for span in spans],
            orientation="h",
            width=0.78,
            text=[f"{span.request + 1}" if kind == PREFILL else "" for span in spans],
            textposition="inside",
            textangle=0,
            insidetextanchor="middle",
            constraintext="none",
            textfont={"color": colours.paper, "size": 11},
            marker={
                "color": [
                    with_alpha(s, 0.12 if kind == HELD else 0.5 if kind == DECODE else 1) for s in shades
                ],
                "line": {
                    "color": shades if kind != DECODE else colours.paper,
                    "width": 0 if kind == HELD else 1,
                },
                "pattern": {
                    "shape": "/" if kind == HELD else "",
                    "fgcolor": shades,
                    "solidity": 0.15,
                    "size": 6,
                },
            },
            customdata=[[span.request + 1, span.start + 1, span.end] for span in spans],
            hovertemplate=f"%{{customdata[0]}} · {kind} %{{customdata[1]}}–%{{customdata[2]}}<extra></extra>",
            showlegend=False,
        )
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_xaxes(title=axis[0], range=[0, passes], showgrid=True)
    slots = list(range(outcome.slots))
    figure.update_yaxes(
        title=axis[1],
        tickvals=slots,
        ticktext=[str(s + 1) for s in slots],
        autorange="reversed",
        showgrid=False,
    )
    return figure


def memory_lines(
    rows: Sequence[tuple[str, Outcome, str]], names: tuple[str, str], axis: tuple[str, str], theme: str | None
) -> go.Figure:
    """Reserved (line) and used (area) tokens pass by pass, for each (name, outcome, colour role)."""
    colours = palette(theme)
    figure = go.Figure()
    for name, outcome, role in rows:
        colour = getattr(colours, role)
        steps = list(range(outcome.passes + 1))
        last = [*outcome.frames, Frame(0, 0)]
        figure.add_scatter(
            x=steps,
            y=[frame.reserved_tokens for frame in last],
            name=f"{name}: {names[0]}",
            mode="lines",
            line={"shape": "hv", "color": colour, "width": 2},
        )
        figure.add_scatter(
            x=steps,
            y=[frame.used_tokens for frame in last],
            name=f"{name}: {names[1]}",
            mode="lines",
            line={"shape": "hv", "color": colour, "width": 1, "dash": "dot"},
            fill="tozeroy",
            fillcolor=with_alpha(colour, 0.18),
        )
    figure.update_layout(legend={"y": -0.28, "yanchor": "top"})  # below: on a phone it takes four lines
    figure.update_xaxes(title=axis[0], rangemode="tozero")
    figure.update_yaxes(title=axis[1], rangemode="tozero")
    return figure


def block_table(
    frame: Frame, n_blocks: int, block_tokens: int, words: tuple[str, str, str], theme: str | None
) -> go.Figure:
    """All blocks as a grid: the filled part in its request's colour, the rest of it pale, free ones empty.

    ``words`` are the names of free, request and shared in the tooltips.
    """
    colours = palette(theme)
    owners: dict[int, list[int]] = {}
    for request, table in frame.tables.items():
        for block in table:
            owners.setdefault(block, []).append(request)
    figure = go.Figure()
    x, y = [b % COLUMNS for b in range(n_blocks)], [b // COLUMNS for b in range(n_blocks)]
    shade = [_block_colour(owners.get(b, []), theme) for b in range(n_blocks)]
    text = [
        _block_text(b, owners.get(b, []), frame.fill.get(b, 0), block_tokens, words) for b in range(n_blocks)
    ]
    pale = [with_alpha(c, 0.2) if c else "rgba(0,0,0,0)" for c in shade]
    figure.add_bar(
        x=x,
        y=[0.86] * n_blocks,
        base=[row - 0.43 for row in y],
        width=0.92,
        marker={"color": pale, "line": {"color": [c or colours.line for c in shade], "width": 1}},
        hovertext=text,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    fill = [0.86 * frame.fill.get(b, 0) / block_tokens for b in range(n_blocks)]
    figure.add_bar(
        x=x,
        y=fill,
        base=[row + 0.43 - height for row, height in zip(y, fill, strict=True)],
        width=0.92,
        text=["+".join(str(r + 1) for r in owners.get(b, [])[:2]) for b in range(n_blocks)],
        textposition="inside",
        textangle=0,
        constraintext="none",
        insidetextanchor="middle",
        textfont={"color": colours.paper, "size": 11},
        marker={"color": [c or "rgba(0,0,0,0)" for c in shade]},
        hovertext=text,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_xaxes(visible=False, range=[-0.6, COLUMNS - 0.4])
    figure.update_yaxes(visible=False, range=[(n_blocks - 1) // COLUMNS + 0.6, -0.6])
    return figure


def _block_colour(owners: Sequence[int], theme: str | None) -> str:
    if not owners:
        return ""
    return palette(theme).muted if len(owners) > 1 else request_colour(owners[0], theme)


def _block_text(block: int, owners: Sequence[int], held: int, size: int, words: tuple[str, str, str]) -> str:
    if not owners:
        return f"#{block} · {words[0]}"
    kind = words[1] if len(owners) == 1 else words[2]
    return f"#{block} · {kind} {', '.join(str(o + 1) for o in owners)} · {held}/{size}"
