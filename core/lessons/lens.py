"""The logit lens: what the final norm and the LM head make of every layer's vector (nostalgebraist, 2020).

A grid of layers × positions costs one LM head per cell, so it is filled step by step within a budget of time:
first the chosen position's column, then row by row from the top.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

TOP_K = 5
WHOLE_UP_TO = 40
"""Up to this many positions the grid shows all; a longer text shows this many of them and every second
layer."""


@dataclass(frozen=True)
class LensPlan:
    """Which cells the grid has. ``rows``: indices of the residual stream, 0 = the embedding, n_layers = the
    end.

    ``whole``: every layer and position is there.
    """

    rows: tuple[int, ...]
    positions: tuple[int, ...]
    chosen: int
    whole: bool


@dataclass(frozen=True)
class LensGrid:
    """``ids`` and ``probabilities`` (rows, positions, k), the likeliest first; −1 and 0 where not yet
    computed."""

    plan: LensPlan
    ids: np.ndarray
    probabilities: np.ndarray

    @property
    def done(self) -> int:
        """Rows that are complete."""
        return int((self.ids[:, :, 0] >= 0).all(axis=1).sum())

    @property
    def complete(self) -> bool:
        return self.done == len(self.plan.rows)


def plan(n_layers: int, n_positions: int, chosen: int) -> LensPlan:
    """All layers and positions of a short text; of a long one a sample that holds the chosen and the last."""
    if n_positions <= WHOLE_UP_TO:
        return LensPlan(tuple(range(n_layers + 1)), tuple(range(n_positions)), chosen, True)
    rows = tuple(sorted({*range(n_layers, -1, -2), 0}))
    spread = np.linspace(0, n_positions - 1, WHOLE_UP_TO - 1).round().astype(int)
    return LensPlan(rows, tuple(sorted({*(int(p) for p in spread), chosen})), chosen, False)


def grid(trace: Any, wanted: LensPlan, budget_s: float, k: int = TOP_K) -> LensGrid:
    """The cells that are known, after working on the others for about ``budget_s`` seconds (0: not at all).

    What is computed stays with the run's passes, so the next call goes on where this one stopped.
    """
    end = time.monotonic() + budget_s
    shape = (len(wanted.rows), len(wanted.positions), k)
    ids, probabilities = np.full(shape, -1, np.int32), np.zeros(shape, np.float32)

    def take(row: int, columns: Any, top: tuple[np.ndarray, np.ndarray]) -> None:
        width = top[0].shape[-1]
        ids[row, columns, :width], probabilities[row, columns, :width] = top

    column = wanted.positions.index(wanted.chosen)
    order = range(len(wanted.rows) - 1, -1, -1)
    for row in order:
        found = _known(trace, wanted, wanted.rows[row], k)
        if found is not None:
            take(row, slice(None), found)
            continue
        alone = time.monotonic() < end and _missing(trace, wanted, wanted.rows[row], k) > 1
        own = _column(trace, wanted.rows[row], wanted.chosen, k, compute=alone)
        if own is not None:
            take(row, column, own)
    for row in order:
        if time.monotonic() >= end:
            break
        if (ids[row, :, 0] < 0).any():
            take(row, slice(None), _compute(trace, wanted, wanted.rows[row], k))
    return LensGrid(wanted, ids, probabilities)


def end_error(trace: Any) -> float:
    """Largest difference between the lens after the last layer and the logits of the pass, at the end."""
    if trace.tip not in _END_ERRORS:
        own = trace.tip.logits
        rows = len(trace.tip.residuals) - 1
        lens_logits = trace.lens(rows, [trace.n_positions - 1])[0]
        _END_ERRORS[trace.tip] = float(np.abs(lens_logits - own).max())
    return _END_ERRORS[trace.tip]


def top_of(logits: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, V) logits to the ids and probabilities (n, k) of the likeliest, by a softmax over all V."""
    k = min(k, logits.shape[1])
    part = np.argpartition(-logits, k - 1, axis=1)[:, :k]
    values = np.take_along_axis(logits, part, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    ids = np.take_along_axis(part, order, axis=1)
    largest = logits.max(axis=1, keepdims=True)
    total = np.exp(logits - largest).sum(axis=1, keepdims=True, dtype=np.float64)
    chances = np.exp(np.take_along_axis(logits, ids, axis=1) - largest) / total
    return ids.astype(np.int32), chances.astype(np.float32)


def _known(trace: Any, wanted: LensPlan, layer: int, k: int) -> tuple[np.ndarray, np.ndarray] | None:
    if not wanted.whole:
        return _kept(trace).get((layer, wanted.positions))
    if _missing(trace, wanted, layer, k):
        return None
    return _compute(trace, wanted, layer, k)


def _missing(trace: Any, wanted: LensPlan, layer: int, k: int) -> int:
    """How many cells of a row are yet to be computed: after a decode step it is one."""
    if not wanted.whole:
        return len(wanted.positions)
    new = (made for made in trace.passes if layer not in made.lens or made.lens[layer].ids.shape[1] < k)
    return sum(len(made.token_ids) for made in new)


def _compute(trace: Any, wanted: LensPlan, layer: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    if wanted.whole:
        top = trace.lens_top(layer, k)
        return top.ids, top.probabilities
    kept = _kept(trace)
    found = kept[(layer, wanted.positions)] = top_of(trace.lens(layer, wanted.positions), k)
    return found


def _column(
    trace: Any, layer: int, position: int, k: int, compute: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """(k,) ids and probabilities of one cell."""
    kept = _kept(trace)
    key = (layer, (position,))
    if key not in kept:
        if not compute:
            return None
        kept[key] = top_of(trace.lens(layer, [position]), k)
    ids, probabilities = kept[key]
    return ids[0], probabilities[0]


def _kept(trace: Any) -> dict[tuple[int, Sequence[int]], tuple[np.ndarray, np.ndarray]]:
    """What was computed for the run that ends where this trace ends."""
    return _CELLS.setdefault(trace.tip, {})


_END_ERRORS: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
_CELLS: WeakKeyDictionary[Any, dict[tuple[int, Sequence[int]], tuple[np.ndarray, np.ndarray]]] = (
    WeakKeyDictionary()
)
