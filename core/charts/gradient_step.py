"""Charts of the gradient step: a map of layers × parts, and the losses step by step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from core.charts.labels import number
from core.charts.palette import palette
from core.lessons.gradient_step import Picture, Result

Words = Mapping[str, str]
_EVERY = 5  # layers between two tick labels when there are many


def part_map(picture: Picture, scale: str, labels: Words, theme: str | None) -> go.Figure:
    """Values by layer and part, coloured by their logarithm; what was trained is framed when it is not all.

    ``scale`` names the values. ``labels`` has axis_layer, outside, cell_tip.
    """
    colours = palette(theme)
    columns = [*picture.columns, labels["outside"]]
    with np.errstate(divide="ignore"):
        logs = np.log10(picture.values)
    logs[~np.isfinite(logs)] = np.nan
    places = [
        [_place(row, column, float(value), labels) for column, value in zip(columns, values, strict=True)]
        for row, values in zip(picture.rows, picture.values, strict=True)
    ]
    low, high = _decades(logs)
    figure = go.Figure(
        go.Heatmap(
            z=logs,
            x=list(range(len(columns))),
            y=list(range(len(picture.rows))),
            zmin=low,
            zmax=high,
            colorscale=colours.colorscale(),
            colorbar={"title": {"text": scale, "side": "right"}} | _decade_ticks(low, high),
            customdata=places,
            hovertemplate="%{customdata}<extra></extra>",
            xgap=1,
            ygap=1,
        )
    )
    for shape in _frames(picture.trained, colours.accent):
        figure.add_shape(**shape)
    ticks = [(at, _tick(row, len(picture.rows))) for at, row in enumerate(picture.rows)]
    shown = [(at, text) for at, text in ticks if text]
    figure.update_layout(
        xaxis={
            "tickvals": list(range(len(columns))),
            "ticktext": columns,
            "tickangle": -45,
            "showgrid": False,
        },
        yaxis={
            "title": {"text": labels["axis_layer"]},
            "tickvals": [at for at, _ in shown],
            "ticktext": [text for _, text in shown],
            "showgrid": False,
        },
    )
    return figure


def _place(row: int | str, column: str, value: float, labels: Words) -> str:
    if isinstance(row, str):
        return f"{row}: {number(value)}"
    return labels["cell_tip"].format(layer=row, part=column, value=number(value))


def _tick(row: int | str, rows: int) -> str:
    if isinstance(row, str):
        return row.rsplit(".", 1)[-1]
    return str(row) if rows < 16 or row % _EVERY == 0 else ""


def _decades(logs: np.ndarray) -> tuple[float, float]:
    """The scale's ends: the values' own, never less than one decade apart."""
    known = logs[np.isfinite(logs)]
    if not known.size:
        return -1.0, 0.0
    high = float(known.max())
    return min(float(known.min()), high - 1), high


def _decade_ticks(low: float, high: float) -> dict[str, object]:
    first, last = int(np.ceil(low)), int(np.floor(high))
    step = max(1, (last - first) // 5)
    at = list(range(first, last + 1, step))
    return {"tickvals": at, "ticktext": [f"{10.0**k:g}" if -4 <= k <= 4 else f"1e{k}" for k in at]}


def _frames(trained: np.ndarray, colour: str) -> list[dict[str, object]]:
    """One frame for each run of trained cells in a row; none when every row has some."""
    if trained.any(axis=1).all():
        return []
    frames: list[dict[str, object]] = []
    for y, row in enumerate(trained):
        places = np.flatnonzero(row)
        for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
            if run.size:
                edges = {"x0": run[0] - 0.5, "x1": run[-1] + 0.5, "y0": y - 0.5, "y1": y + 0.5}
                frames.append({"type": "rect", **edges, "line": {"color": colour, "width": 2}})
    return frames


def loss_curves(result: Result, labels: Words, theme: str | None) -> go.Figure:
    """Mean loss in nats after 0, 1, 2, … steps: the text trained on and the untouched sentence."""
    colours = palette(theme)
    figure = go.Figure()
    for key, values, colour, dash in (
        ("text_line", result.losses, colours.accent, "solid"),
        ("other_line", result.other, colours.residual, "dash"),
    ):
        if values:
            figure.add_scatter(
                x=list(range(len(values))),
                y=list(values),
                mode="lines+markers",
                name=labels[key],
                line={"color": colour, "dash": dash, "width": 2.5},
                marker={"size": 8},
                hovertemplate="%{x}: %{y:.4f}<extra>" + labels[key] + "</extra>",
            )
    steps = result.setting.steps
    figure.update_layout(
        xaxis={
            "title": {"text": labels["axis_step"]},
            "range": [-0.3, steps + 0.3],
            "dtick": 1 if steps <= 10 else 5,
        },
        yaxis={"title": {"text": labels["axis_loss"]}, "rangemode": "tozero"},
        legend={"y": 1.0, "yanchor": "bottom"},
    )
    return figure
