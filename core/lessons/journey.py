"""The whole run on one grid: what the journey shows of each position and layer. Pure: trace to numbers.

Symbols: L layers, T positions, d model width, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.decoding.sampling import softmax
from core.lessons.lens import top_of

BINS = 24
DIALS = 4
FIRST_PREDICTED, LAST_PREDICTED = 4, 32
"""Of a long prompt only the first and the last positions get their (unused) prediction worked out: one LM
head each. The others are folded away on the screen."""


@dataclass(frozen=True)
class PassTime:
    """When positions [start, end) were computed together: seconds per layer, and of the embedding, the head,
    all."""

    start: int
    end: int
    layer_s: tuple[float, ...]
    embed_s: float
    head_s: float
    total_s: float


@dataclass(frozen=True)
class Predictions:
    """The favourite of every position's own distribution; −1 and 0 where it was not worked out. (T,) each."""

    ids: np.ndarray
    chances: np.ndarray


@dataclass(frozen=True)
class Experts:
    """Per routed layer and position the expert with the largest weight, and that weight: (M, T) each."""

    layers: tuple[int, ...]
    indices: np.ndarray
    weights: np.ndarray


def condensed(vectors: np.ndarray, bins: int = BINS) -> np.ndarray:
    """(n, d) to (n, b): each number is the largest in size of its share of the vector, b = min(bins, d)."""
    count, width = vectors.shape
    b = min(bins, width)
    edges = [i * width // b for i in range(b + 1)]
    out = np.empty((count, b), dtype=np.float32)
    for i in range(b):
        part = vectors[:, edges[i] : edges[i + 1]]
        at = np.abs(part).argmax(axis=1)
        out[:, i] = part[np.arange(count), at]
    return out


def times(trace: Any) -> list[PassTime]:
    """One entry per pass, the prefill first, as the engine measured them."""
    return [
        PassTime(p.start, p.end, p.timing.layer_s, p.timing.embed_s, p.timing.head_s, p.timing.total_s)
        for p in trace.passes
    ]


def predictions(trace: Any) -> Predictions:
    """What the model itself would say after every position (softmax over all V, temperature 1).

    A decode step adds its own row alone; the prompt's rows are worked out once and kept.
    """
    ids = np.full(trace.n_positions, -1, dtype=np.int32)
    chances = np.zeros(trace.n_positions, dtype=np.float32)
    for made in trace.passes:
        if made not in _PREDICTED:
            _PREDICTED[made] = _predict(trace, made)
        places, top, chance = _PREDICTED[made]
        ids[places], chances[places] = top, chance
    return Predictions(ids, chances)


def _predict(trace: Any, made: Any) -> tuple[list[int], np.ndarray, np.ndarray]:
    last = made.end - 1
    favourite = int(made.logits.argmax())
    own = float(softmax(made.logits)[favourite])
    early = [
        p for p in range(made.start, last) if p - made.start < FIRST_PREDICTED or last - p < LAST_PREDICTED
    ]
    if not early:
        return [last], np.array([favourite]), np.array([own])
    ids, chances = top_of(trace.lens(len(made.residuals) - 1, early), 1)
    return [*early, last], np.append(ids[:, 0], favourite), np.append(chances[:, 0], own)


def attention_row(trace: Any, layer: int, head: int, position: int) -> np.ndarray:
    """(T,) how much ``position`` takes from every position in one head; zero to its right.

    Kept with the run's tip, because the page is drawn again for many other reasons.
    """
    kept = _ATTENDED.setdefault(trace.tip, {})
    key = (layer, head, position)
    if key not in kept:
        kept[key] = trace.layer(layer).weights(head)[position].astype(np.float32)
    return kept[key]


def experts(trace: Any) -> Experts | None:
    """The first choice of every router, as the model used it; None for a dense model."""
    routing = trace.routing()
    if routing is None:
        return None
    best = routing.weights.argmax(axis=2)[..., None]  # (M, T, 1)
    return Experts(
        layers=tuple(routing.layers),
        indices=np.take_along_axis(routing.indices, best, axis=2)[..., 0].astype(np.int32),
        weights=np.take_along_axis(routing.weights, best, axis=2)[..., 0].astype(np.float32),
    )


def first_kept(windows: tuple[int | None, ...], n_positions: int) -> np.ndarray:
    """(L,) the first position whose K and V each layer still keeps: 0, or later with a sliding window."""
    starts = [0 if window is None else max(0, n_positions - window) for window in windows]
    return np.array(starts, dtype=np.int32)


def dials(model: Any, position: int, count: int = DIALS) -> np.ndarray:
    """The first ``count`` angles (radians) by which RoPE turns ``position``; empty where there is no RoPE."""
    table = model.rope(0, [position])
    return np.zeros(0, dtype=np.float32) if table is None else table.angle[0, :count].astype(np.float32)


_ATTENDED: WeakKeyDictionary[Any, dict[tuple[int, int, int], np.ndarray]] = WeakKeyDictionary()
_PREDICTED: WeakKeyDictionary[Any, tuple[list[int], np.ndarray, np.ndarray]] = WeakKeyDictionary()
