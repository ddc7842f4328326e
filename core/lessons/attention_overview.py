"""All heads of all layers at a glance: small pictures of their weights, and measures of what they look at.

A run is a prefill and decode steps. What a pass adds is worked out once and kept with the pass, so one
more token costs one more row. Symbols: L layers, H heads, T positions, M measures, n rows of a pass.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.engine.block_parts import allowed_keys
from core.engine.replay import BlockRecord

MEASURES = ("previous", "first", "itself", "same", "induction", "spread")
"""What is measured of a head, each a mean over the rows (queries) where it means something:

previous: weight on the token just before; first: weight on the first token (both from the third row on,
where they are different places); itself: weight on its own position, same rows; same: weight on earlier
occurrences of the same token; induction: weight on the tokens that came right after those (Olsson et al.,
"In-context Learning and Induction Heads", 2022); spread: entropy of the row over its highest possible
value, 0 for one token only, 1 for all alike.
"""

MASKED = 255
_FULL = 254
_SHOWN = 32  # a picture has at most this many rows and columns
_KEPT = 64  # what is kept of a pass, so that a longer run can be pooled further
_ROWS = 128  # a longer prefill is looked at through evenly spaced rows, at most this many


@dataclass
class _PassPatterns:
    """What one pass adds. ``pooled[l]`` (H, rows, columns) bytes in blocks of ``block``; ``sums[l]`` (M, H).

    ``at``: the positions of the rows that are looked at; ``counts``: (M,) how many of them each measure has.
    """

    block: int
    at: np.ndarray
    counts: np.ndarray
    pooled: list[np.ndarray] = field(default_factory=list)
    sums: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True)
class Overview:
    """All heads as far as they are worked out.

    Attributes:
        cells: (done, H, B, B) bytes: 254 · √weight, 255 where masked. A cell of a downsampled picture is the
            largest weight of its ``block`` × ``block`` positions, among the rows looked at.
        measures: (done, H, M) float32, NaN where the text has no row for it.
        rows: (M,) how many rows each measure is a mean of.
        block: positions per cell side. stride: every how many rows of the prompt one is looked at.
        done, n_layers: layers worked out, layers in all.
    """

    cells: np.ndarray
    measures: np.ndarray
    rows: np.ndarray
    block: int
    stride: int
    done: int
    n_layers: int

    @property
    def complete(self) -> bool:
        return self.done == self.n_layers

    def triangle(self) -> np.ndarray:
        """(done, H, B·(B+1)/2) the cells on and below the diagonal, row by row: all that is not masked."""
        rows, columns = np.tril_indices(self.cells.shape[-1])
        return self.cells[:, :, rows, columns]


def overview(trace: Any, n_layers: int, n_heads: int, budget_s: float = np.inf) -> Overview:
    """Go on for about ``budget_s`` seconds (one replay at least) and return what is there."""
    ends = time.monotonic() + budget_s
    known = [_of_pass(made, trace.token_ids) for made in trace.passes]
    first = min(len(patterns.pooled) for patterns in known)
    for layer in range(first, n_layers):
        for made, patterns in zip(trace.passes, known, strict=True):
            if len(patterns.pooled) > layer:
                continue
            _add_layer(patterns, trace.record(made, layer), trace.token_ids[: made.end], made.start)
            if time.monotonic() > ends:
                return _assembled(trace, known, n_layers, n_heads)
    return _assembled(trace, known, n_layers, n_heads)


def is_complete(trace: Any, n_layers: int) -> bool:
    """Whether all layers of all passes are worked out already."""
    return all(len(_of_pass(made, trace.token_ids).pooled) >= n_layers for made in trace.passes)


def _of_pass(made: Any, ids: tuple[int, ...]) -> _PassPatterns:
    if made not in _KNOWN:
        rows = made.end - made.start
        at = np.arange(made.start, made.end, block_size(rows, _ROWS))
        # A decode step is one row and stays whole; a long prefill is kept in blocks.
        block = 1 if rows == 1 else block_size(made.end, _KEPT)
        _KNOWN[made] = _PassPatterns(block, at, _row_counts(ids[: made.end], at))
    return _KNOWN[made]


_KNOWN: WeakKeyDictionary[Any, _PassPatterns] = WeakKeyDictionary()


def block_size(total: int, most: int) -> int:
    """The smallest power of two that cuts ``total`` positions into at most ``most`` blocks."""
    block = 1
    while -(-total // block) > most:
        block *= 2
    return block


def _add_layer(patterns: _PassPatterns, record: BlockRecord, ids: tuple[int, ...], start: int) -> None:
    weights, choices = pass_weights(record, len(ids), patterns.at - start)
    patterns.sums.append(_sums(weights, choices, ids, patterns.at))
    shades = np.rint(np.float32(_FULL) * np.sqrt(weights)).astype(np.uint8)
    patterns.pooled.append(_pool(shades, patterns.block, patterns.at))


def pass_weights(record: BlockRecord, total: int, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(H, n, total) attention weights of the ``chosen`` rows of one pass, and (n,) how many keys each has."""
    attention = record.attention
    q = attention.q[0].float().numpy()[:, chosen]  # (H, n, hd)
    k = attention.k[0].float().numpy()  # (G, t, hd): the last t positions up to this pass's end
    heads, rows, _ = q.shape
    seen = allowed_keys(record)[chosen]  # (n, t)
    grouped = q.reshape(k.shape[0], -1, rows, q.shape[-1])  # (G, H/G, n, hd)
    scores = (grouped @ k[:, None].swapaxes(-1, -2)).reshape(heads, rows, -1) * np.float32(attention.scale)
    if attention.softcap is not None:
        scores = np.tanh(scores / attention.softcap) * attention.softcap
    scores = np.where(seen, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True)
    sinks = None
    if attention.sinks is not None:
        sinks = attention.sinks.detach().float().numpy().reshape(-1, 1, 1)
        top = np.maximum(top, sinks)
    powers = np.exp(scores - top)
    mass = powers.sum(axis=-1, keepdims=True)
    if sinks is not None:
        mass = mass + np.exp(sinks - top)
    powers /= mass
    missing = total - k.shape[1]
    weights = np.pad(powers, ((0, 0), (0, 0), (missing, 0))) if missing else powers
    return weights, seen.sum(axis=-1)


# -- measures ------------------------------------------------------------------------------------------


def _sums(weights: np.ndarray, choices: np.ndarray, ids: tuple[int, ...], at: np.ndarray) -> np.ndarray:
    """(M, H) each measure summed over the rows of one pass, which stand at positions ``at``."""
    late = np.flatnonzero(at >= 2)
    same, after = earlier_places(ids, at)
    mass = weights.sum(axis=-1)  # (H, n); below 1 where a head has a sink
    with np.errstate(divide="ignore", invalid="ignore"):
        products = np.nan_to_num(weights * np.log2(weights)).sum(axis=-1)  # 0 · log 0 counts as 0
        bits = np.nan_to_num(np.log2(mass) - products / mass)  # entropy of the row shared out to 1
    relative = bits / np.log2(np.maximum(choices, 2)) * (choices > 1)
    return np.stack(
        [
            weights[:, late, at[late] - 1].sum(axis=-1),
            weights[:, late, 0].sum(axis=-1),
            weights[:, late, at[late]].sum(axis=-1),
            (weights * same).sum(axis=(1, 2)),
            (weights * after).sum(axis=(1, 2)),
            relative.sum(axis=-1),
        ]
    ).astype(np.float64)


def earlier_places(ids: tuple[int, ...], at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two (n, T) tables of truth for the rows at positions ``at``: where the same token stood before, and the
    places right after those (other than the row itself)."""
    tokens, rows = np.asarray(ids), at[:, None]
    columns = np.arange(len(ids))[None]
    same = (tokens[rows] == tokens[None]) & (columns < rows)
    after = np.zeros_like(same)
    after[:, 1:] = same[:, :-1]
    after &= columns < rows
    return same, after


def _row_counts(ids: tuple[int, ...], at: np.ndarray) -> np.ndarray:
    """(M,) how many of the rows at positions ``at`` each measure is defined for."""
    same, after = earlier_places(ids, at)
    late = int((at >= 2).sum())
    return np.array([late, late, late, same.any(1).sum(), after.any(1).sum(), (at >= 1).sum()])


# -- pictures ------------------------------------------------------------------------------------------


def _pool(shades: np.ndarray, block: int, at: np.ndarray) -> np.ndarray:
    """(…, rows, columns) → the largest of each block; blocks lie at multiples of ``block`` positions."""
    if block == 1:
        return shades
    edges = np.flatnonzero(np.diff(at // block, prepend=-1))
    pooled = np.maximum.reduceat(shades, edges, axis=-2)
    columns: np.ndarray = np.maximum.reduceat(pooled, range(0, shades.shape[-1], block), axis=-1)
    return columns


def _assembled(trace: Any, known: list[_PassPatterns], n_layers: int, n_heads: int) -> Overview:
    total = trace.n_positions
    done = min(len(patterns.pooled) for patterns in known)
    block = block_size(total, _SHOWN)
    size = -(-total // block)
    cells = np.zeros((done, n_heads, size, size), dtype=np.uint8)
    for made, patterns in zip(trace.passes, known, strict=True):
        if done:
            _place_pass(cells, np.stack(patterns.pooled[:done]), patterns.block, block, made.start)
    cells[..., np.triu(np.ones((size, size), dtype=bool), 1)] = MASKED
    counts = np.sum([patterns.counts for patterns in known], axis=0)
    sums = np.zeros((done, len(MEASURES), n_heads))
    for patterns in known if done else []:
        sums += np.stack(patterns.sums[:done])
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(counts > 0, sums.swapaxes(1, 2) / counts, np.nan)  # (done, H, M)
    stride = block_size(trace.passes[0].end, _ROWS)
    return Overview(cells, means.astype(np.float32), counts, block, stride, done, n_layers)


def _place_pass(cells: np.ndarray, pooled: np.ndarray, kept: int, block: int, start: int) -> None:
    columns = pooled
    if block > kept:
        columns = np.maximum.reduceat(pooled, range(0, pooled.shape[-1], block // kept), axis=-1)
    width = columns.shape[-1]
    for row in range(columns.shape[-2]):
        target = (start // kept + row) * kept // block
        np.maximum(cells[:, :, target, :width], columns[:, :, row], out=cells[:, :, target, :width])
