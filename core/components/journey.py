"""The journey's component: the run's grid packed for ``assets/js/journey.js``, and the events it sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from core.components.base import Message, mount
from core.components.lines import Line
from core.components.small_grid import shades
from core.lessons.journey import PassTime

LENSES = ("size", "say", "attention", "cache", "time", "expert")


@dataclass(frozen=True)
class LensData:
    """What the chosen lens adds: its arrays by name, and plain values for the header."""

    name: str
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)


def journey_header(
    *,
    place: tuple[int, int, int],
    heads: int,
    lenses: Sequence[str],
    lens: LensData,
    predictions: Sequence[tuple[str, float] | None],
    times: Sequence[PassTime],
    first_kept: np.ndarray,
    bytes_per_token: float,
    angles: np.ndarray,
    blocks: str,
    pages: Sequence[str],
    check: str,
) -> dict[str, Any]:
    """The part of the message beside the Generate component's header.

    ``place`` is (position, layer, head); ``predictions`` has one entry per position, None where none was
    worked out; ``blocks`` is "ffn" or "moe"; ``pages`` names the pages that stations may open;
    ``check`` is the check line.
    """
    return {
        "position": place[0],
        "layer": place[1],
        "head": place[2],
        "heads": heads,
        "lenses": list(lenses),
        "lens": {"name": lens.name, **lens.values},
        "predictions": [None if p is None else [p[0], round(float(p[1]), 5)] for p in predictions],
        "times": [
            [t.start, t.end, [round(1000 * s, 4) for s in t.layer_s], round(1000 * t.total_s, 3)]
            for t in times
        ],
        "first_kept": [int(start) for start in first_kept],
        "bytes_per_token": float(bytes_per_token),
        "angles": [round(float(angle), 5) for angle in angles],
        "blocks": blocks,
        "pages": list(pages),
        "check": check,
    }


def journey_arrays(
    *,
    logits: np.ndarray,
    sizes: np.ndarray,
    embeddings: np.ndarray,
    final: np.ndarray,
    weights: np.ndarray,
    lens: LensData,
) -> dict[str, np.ndarray]:
    """The message's arrays.

    ``logits`` (V,) of the position on screen; ``sizes`` (L, T) of each block's output; ``embeddings`` (T, b)
    and ``final`` (b,): condensed vectors; ``weights`` (T,): what the chosen cell takes in the chosen head.
    """
    return {
        "logits": logits,
        "shades": shades(sizes),
        "sizes": sizes.astype(np.float32),
        "embeddings": embeddings,
        "final": final,
        "weights": weights,
        **lens.arrays,
    }


def journey(message: Message, on: Mapping[str, Callable[[Any], None]], line: Line) -> Any:
    """Show the page's component."""
    return mount("journey", key="nt_journey", header=message[0], arrays=message[1], on=on, line=line)


def read_place(payload: Any) -> dict[str, int]:
    """The place (layer, position, head) that the browser sent; what is no whole number is left out."""
    if not isinstance(payload, Mapping):
        return {}
    found = {name: payload.get(name) for name in ("layer", "position", "head")}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    }
