"""The Block page in the browser: the block as a flow, a norm worked out, neurons and the tokens they push."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.charts.labels import number
from core.components.base import EventHandler, mount
from core.lessons.block import Flow
from core.lessons.block_neurons import Neuron, Pushed
from core.lessons.block_norm import NormSteps

Words = Mapping[str, str]


def block_flow(
    made: Flow,
    *,
    head: int,
    group: int,
    tokens: Sequence[str],
    dtype: str,
    labels: Words,
    on_head: EventHandler,
) -> Any:
    """The flow with its tensors. ``head`` and its K/V head ``group`` are lit; ``tokens``: texts of positions
    0 … chosen. ``on_head`` gets ``{"head": int}``."""
    values: list[np.ndarray] = []
    boxes = []
    offset = 0
    for box in made.boxes:
        rows = []
        for row in box.rows:
            rows.append(
                {
                    "kind": row.kind,
                    "number": row.number,
                    "start": offset,
                    "length": len(row.values),
                    "share": row.share,
                }
            )
            values.append(row.values.astype(np.float32, copy=False))
            offset += len(row.values)
        boxes.append(
            {
                "name": box.name,
                "colour": box.colour,
                "lane": box.lane,
                "column": box.column,
                "rows": rows,
                "weights": [[name, list(shape)] for name, shape in box.weights],
            }
        )
    header = {
        "view": "flow",
        "boxes": boxes,
        "links": [list(link) for link in made.links],
        "columns": made.columns,
        "parallel": made.parallel,
        "head": head,
        "group": group,
        "tokens": list(tokens),
        "dtype": dtype,
        "labels": dict(labels),
    }
    return mount(
        "block",
        key="nt_block_flow",
        header=header,
        arrays={"values": np.concatenate(values)},
        on={"head": on_head},
    )


def norm_parts(steps: NormSteps, labels: Words) -> Any:
    """A norm as stripes: the vector, divided by its size, the gain, the result."""
    parts: list[tuple[str, np.ndarray]] = [("norm_x", steps.x), ("norm_scaled", steps.scaled)]
    parts += [("norm_gain", steps.gain)] if steps.gain is not None else []
    parts += [("norm_bias", steps.bias)] if steps.bias is not None else []
    parts.append(("norm_out", steps.out))
    readout = labels["norm_readout"] + "".join(
        f" · {labels[name]} {{{place}}}" for place, (name, _) in enumerate(parts)
    )
    return _parts("nt_block_norm", parts, readout, int(np.abs(steps.out).argmax()), labels)


def gate_parts(parts: Sequence[tuple[str, np.ndarray]], at: int, labels: Words) -> Any:
    """The feed-forward part as stripes of F numbers, (label, values); ``at``: the neuron read out first."""
    readout = labels["neuron_readout"] + "".join(
        f" · {labels[name]} {{{place}}}" for place, (name, _) in enumerate(parts)
    )
    return _parts("nt_block_gate", parts, readout, at, labels)


def _parts(key: str, parts: Sequence[tuple[str, np.ndarray]], readout: str, at: int, labels: Words) -> Any:
    header = {
        "view": "parts",
        "parts": [{"name": labels[name], "note": labels[f"{name}_note"]} for name, _ in parts],
        "readout": readout,
        "at": at,
        "labels": dict(labels),
    }
    return mount("block", key=key, header=header, arrays=[values for _, values in parts])


def neuron_lists(
    neurons: Sequence[Neuron],
    chosen: int,
    pushed: Pushed,
    names: Mapping[int, str],
    function: str,
    *,
    labels: Words,
    on_neuron: EventHandler,
) -> Any:
    """The strongest neurons and the tokens that the chosen one pushes. ``on_neuron`` gets ``{"id": int}``."""
    top = max((one.size for one in neurons), default=1.0) or 1.0
    header = {
        "view": "neurons",
        "neurons": [
            {
                "id": one.index,
                "text": labels["neuron"].format(index=one.index),
                "value": number(one.size),
                "to": one.size / top,
                "lit": one.index == chosen,
                "sum": _product(one, function, labels),
            }
            for one in neurons
        ],
        "lists": [
            {
                "title": labels[title].format(index=chosen),
                "items": [
                    {"id": token, "text": names[token], "value": number(change), "size": abs(change)}
                    for token, change in found
                ],
            }
            for title, found in (("pushed_up", pushed.up), ("pushed_down", pushed.down))
        ],
        "labels": dict(labels),
    }
    return mount("block", key="nt_block_neurons", header=header, on={"neuron": on_neuron})


def _product(one: Neuron, function: str, labels: Words) -> str:
    if one.gate is None:
        return labels["sum_plain"].format(function=function, up=number(one.up), act=number(one.act))
    return labels["sum_gated"].format(
        function=function,
        gate=number(one.gate),
        gated=number(one.gated or 0.0),
        up=number(one.up),
        act=number(one.act),
    )
