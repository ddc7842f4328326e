"""What the KV cache holds: its columns, one cell's vectors, bytes; and what a step computed and read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.lessons.costs import CostShape
from core.lessons.costs_compute import FLOPS_PER_MULTIPLY_ADD, Flops, decode_flops, prefill_flops


@dataclass(frozen=True)
class Grid:
    """Lengths of what is stored, layers × positions, all K/V heads of a cell together.

    Attributes:
        keys, values: (L, T) float32, Euclidean lengths; -1 where a sliding window has dropped the column.
        first: per layer the position of its first column.
        windows: per layer how many columns it keeps, None for all.
        n_bytes: bytes of all tensors together, summed here over the layers.
        numbers: per layer the numbers that one column holds; ``number_bytes`` is the size of one.
    """

    keys: np.ndarray
    values: np.ndarray
    first: tuple[int, ...]
    windows: tuple[int | None, ...]
    n_bytes: int
    numbers: tuple[int, ...]
    number_bytes: int

    @property
    def full(self) -> tuple[bool, ...]:
        """Per layer: its window is full, so that it grows no more."""
        count = self.keys.shape[1]
        return tuple(window is not None and count >= window for window in self.windows)


def grid(trace: Any, n_layers: int) -> Grid:
    """The cache after the trace's last pass. Kept with that pass."""
    known = _GRIDS.get(trace.tip)
    if known is not None:
        return known
    count = trace.n_positions
    keys, values = (np.full((n_layers, count), -1.0, dtype=np.float32) for _ in range(2))
    first, windows, numbers, n_bytes, size = [], [], [], 0, 0
    for layer in range(n_layers):
        view = trace.kv_cache(layer)
        for into, vectors in ((keys, view.keys), (values, view.values)):
            into[layer, view.first_position :] = np.sqrt(np.square(vectors).sum(axis=(0, 2)))  # (G, t, hd)
        first.append(view.first_position)
        windows.append(view.window)
        n_bytes += view.n_bytes
        numbers.append(view.keys.shape[0] * (view.keys.shape[2] + view.values.shape[2]))
        size = view.n_bytes // (numbers[-1] * view.keys.shape[1])
    made = Grid(keys, values, tuple(first), tuple(windows), n_bytes, tuple(numbers), size)
    _GRIDS[trace.tip] = made
    return made


_GRIDS: WeakKeyDictionary[Any, Grid] = WeakKeyDictionary()


@dataclass(frozen=True)
class Cell:
    """What one layer stores for one position: ``keys`` and ``values`` (G, head size), one row per K/V head.

    ``readers``: per K/V head the query heads that read it. None instead of the rows when it was dropped.
    """

    layer: int
    position: int
    keys: np.ndarray | None
    values: np.ndarray | None
    readers: tuple[tuple[int, ...], ...]


def cell(trace: Any, layer: int, position: int, n_heads: int) -> Cell:
    """The vectors of one cell, as they lie in the cache."""
    view = trace.kv_cache(layer)
    heads = view.keys.shape[0]
    group = n_heads // heads
    readers = tuple(tuple(range(head * group, (head + 1) * group)) for head in range(heads))
    at = position - view.first_position
    if at < 0:
        return Cell(layer, position, None, None, readers)
    return Cell(layer, position, view.keys[:, at], view.values[:, at], readers)


def cell_error(trace: Any, shown: Cell) -> float | None:
    """Largest difference between the cell and the K and V that the layer's replay computes there.

    None for a cell that was dropped, and for a latent cache, which stores neither K nor V.
    """
    if shown.keys is None or shown.values is None:
        return None
    view = trace.layer(shown.layer)
    if view.k.shape[0] != shown.keys.shape[0]:
        return None
    return max(
        float(np.abs(shown.keys - view.k[:, shown.position]).max()),
        float(np.abs(shown.values - view.v[:, shown.position]).max()),
    )


@dataclass(frozen=True)
class Bytes:
    """Bytes of the cache. ``growth``: what the next token adds; ``at_limit``: at the model's longest context.

    ``formula`` is what the sizes say for the tokens at hand; ``tensors`` what the tensors weigh.
    """

    tensors: int
    formula: int
    per_token: int
    growth: int
    tokens: int
    at_limit: int
    limit: int


def cache_bytes(trace: Any, shape: Any, held: Grid) -> Bytes:
    """Bytes now, per token and at the context limit.

    Per layer and column 2 · K/V heads · head size numbers, read off the tensors themselves, because a latent
    cache keeps others than its shape says. A sliding window stops at its size.
    """
    size, numbers = held.number_bytes, held.numbers
    count = trace.n_positions

    def at(tokens: int) -> int:
        columns = [min(tokens, window or tokens) for window in held.windows]
        return sum(n * size * c for n, c in zip(numbers, columns, strict=True))

    return Bytes(
        tensors=trace.kv_bytes(),
        formula=at(count),
        per_token=sum(numbers) * size,
        growth=at(count + 1) - at(count),
        tokens=count,
        at_limit=at(shape.max_positions),
        limit=shape.max_positions,
    )


@dataclass(frozen=True)
class StepWork:
    """What the pass at the cursor did in each layer, in vectors of a head's size.

    ``new`` tokens were processed, each with ``queries`` + ``keys`` + ``values`` vectors computed per layer.
    ``columns`` older columns were in the cache of a layer without a window. Bytes are of all layers together.
    """

    new: int
    queries: int
    keys: int
    values: int
    columns: int
    layers: int
    bytes_read: int
    bytes_written: int

    @property
    def is_prefill(self) -> bool:
        return self.columns == 0


def step_work(trace: Any, shape: Any, held: Grid) -> StepWork:
    """The work of the trace's last pass: what it computed, and what it found in the cache and read."""
    tip = trace.tip
    stored = trace.kv_cache(0).keys.shape[0]
    read = (min(tip.start, window or tip.start) for window in held.windows)
    return StepWork(
        new=tip.end - tip.start,
        queries=shape.n_heads,
        keys=stored,
        values=stored,
        columns=tip.start,
        layers=shape.n_layers,
        bytes_read=sum(n * held.number_bytes * c for n, c in zip(held.numbers, read, strict=True)),
        bytes_written=tip.kv_bytes,
    )


@dataclass(frozen=True)
class Work:
    """Multiply-adds of one step in a context of ``tokens``, with the cache and without."""

    tokens: int
    cached: int
    uncached: int


def step_multiply_adds(cost: CostShape | None, tokens: int) -> Work | None:
    """Counted from the shape: one column on top of a cache, or all ``tokens`` columns again."""
    if cost is None:
        return None
    cached, uncached = decode_flops(cost, tokens), prefill_flops(cost, tokens)
    return Work(tokens, _multiply_adds(cached), _multiply_adds(uncached))


def _multiply_adds(flops: Flops) -> int:
    return flops.total // FLOPS_PER_MULTIPLY_ADD
