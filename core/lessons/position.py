"""How a model knows places: rotary position embedding (RoPE) from a run's real queries and keys.

RoPE turns pairs of numbers of each query and key by an angle that grows with the position (Su et al.,
"RoFormer", 2021). Pair j of a query at position m turns by m·θⱼ, of a key at n by n·θⱼ; in their dot product
only (m − n)·θⱼ is left. Symbols: T positions, hd head size, r ≤ hd rotated numbers, P = r/2 pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SHOWN_KEYS = 24


@dataclass(frozen=True)
class Pairing:
    """Which two numbers of a head turn together.

    ``before`` (P, 2): where each pair stands before the turn. ``after`` (P, 2): where the model writes it:
    the same places in nearly all families (DeepSeek moves them). ``interleaved``: pair j is (2j, 2j + 1).
    """

    before: np.ndarray
    after: np.ndarray
    interleaved: bool


@dataclass(frozen=True)
class Rotation:
    """One layer's rotation for one head and its key/value head.

    Attributes:
        q_pre, k_pre: (T, hd) before the turn. q, k: (T, hd) after it, as attention used them.
        pairing: which numbers turn together. inv_freq: (P,) radians per position.
        factor: what every turned number is multiplied by as well (1 in most models; YaRN scales a little).
        scale: the factor on q·k before the softmax.
        error: largest difference between q, k and q_pre, k_pre turned by ``inv_freq``.
    """

    q_pre: np.ndarray
    k_pre: np.ndarray
    q: np.ndarray
    k: np.ndarray
    pairing: Pairing
    inv_freq: np.ndarray
    factor: float
    scale: float
    error: float

    @property
    def rotated(self) -> int:
        """r: how many numbers of the head turn; the others pass unchanged ("partial RoPE")."""
        return 2 * len(self.pairing.before)

    @property
    def size(self) -> float:
        """The largest number in q and k: what an error is measured against."""
        return max(1.0, float(np.abs(self.q).max()), float(np.abs(self.k).max()))

    def score(self, query: int, key: int, shift_query: int = 0, shift_key: int = 0) -> float:
        """The scaled score of two tokens, moved from their own places by the shifts."""
        q = turned(self.q_pre[query], query + shift_query, self)
        k = turned(self.k_pre[key], key + shift_key, self)
        return float(q @ k) * self.scale


@dataclass(frozen=True)
class ByDistance:
    """Scores of one head against the distance between query and key.

    ``distances`` (n,); ``mean`` (n,): average of the run's own scores at each distance; ``typical`` (n,): the
    score of the head's average query with its average key, set at each distance by rotation alone, which is
    the mean over all pairs of the run if each of them stood that far apart. ``own`` (query + 1,): the chosen
    query's scores, at distance 0, 1, ….
    """

    distances: np.ndarray
    mean: np.ndarray
    typical: np.ndarray
    own: np.ndarray


@dataclass(frozen=True)
class OneToken:
    """A token of the second order and the place in the first that holds the same token, ``None`` if none."""

    position: int
    twin: int | None


@dataclass(frozen=True)
class Orders:
    """Two orders of words as two runs of their own.

    ``pairs``: (position in A, position in B) of the same tokens; ``cosines`` (n_layers + 1, pairs): the
    cosine between their two vectors in the residual stream, row 0 before the first block. ``top``: for A and
    B the likeliest next tokens (id, probability).
    """

    ids: tuple[tuple[int, ...], tuple[int, ...]]
    pairs: tuple[tuple[int, int], ...]
    cosines: np.ndarray
    top: tuple[tuple[tuple[int, float], ...], tuple[tuple[int, float], ...]]


def rotation(model: Any, trace: Any, layer: int, head: int) -> Rotation | None:
    """The rotation of one layer and head in this run; ``None`` where the layer does not turn anything."""
    view = trace.layer(layer)
    if not view.has_rope:
        return None
    table = model.rope(layer, range(trace.n_positions))
    if table is None:
        return None
    group = view.kv_head(head)
    factor = float(np.hypot(table.cos[0, 0], table.sin[0, 0]))
    q_pre, q = view.q_pre_rope[head], view.q[head]
    k_pre, k = view.k_pre_rope[group], view.k[group]
    best: Rotation | None = None
    for pairing in _pairings(len(table.inv_freq), q.shape[-1], table.interleaved):
        made = Rotation(q_pre, k_pre, q, k, pairing, table.inv_freq, factor, view.scale, 0.0)
        error = max(_misfit(q_pre, q, made), _misfit(k_pre, k, made))
        if best is None or error < best.error:
            best = Rotation(q_pre, k_pre, q, k, pairing, table.inv_freq, factor, view.scale, error)
        if best.error < 1e-4 * made.size:
            break
    return best


def turned(vectors: np.ndarray, positions: Any, of: Rotation) -> np.ndarray:
    """(…, hd) vectors before RoPE, turned to ``positions`` (a number, or one for each row)."""
    angle = np.multiply.outer(np.asarray(positions, dtype=np.float64), of.inv_freq.astype(np.float64))
    cos, sin = np.cos(angle) * of.factor, np.sin(angle) * of.factor  # (…, P)
    a, b = vectors[..., of.pairing.before[:, 0]], vectors[..., of.pairing.before[:, 1]]
    out = vectors.astype(np.float64)
    out[..., of.pairing.after[:, 0]] = a * cos - b * sin
    out[..., of.pairing.after[:, 1]] = a * sin + b * cos
    return out


def pair_terms(of: Rotation, query: int, key: int) -> np.ndarray:
    """(P,) what each pair gives to the scaled score of two tokens at their own places."""
    q, k = turned(of.q_pre[query], query, of), turned(of.k_pre[key], key, of)
    places = of.pairing.after
    return (q[places] * k[places]).sum(axis=-1) * of.scale


def shown_keys(query: int, limit: int = SHOWN_KEYS) -> tuple[int, ...]:
    """Positions a query can be compared with: the first and the nearest ones, itself among them."""
    if query < limit:
        return tuple(range(query + 1))
    return (0, *range(query - limit + 2, query + 1))


def default_key(weights: np.ndarray, query: int, among: Sequence[int]) -> int:
    """The key that gets most weight, the first token (where many heads rest) and the query itself aside."""
    others = [key for key in among if 0 < key < query] or [key for key in among if key < query] or [query]
    return max(others, key=lambda key: (float(weights[key]), key))


def by_distance(of: Rotation, query: int, reach: int) -> ByDistance:
    """Scores of a head against distance, for distances 0 … ``reach`` − 1."""
    count = len(of.q)
    scores = (of.q.astype(np.float64) @ of.k.astype(np.float64).T) * of.scale  # (T, T)
    distances = np.arange(reach)
    mean = np.full(reach, np.nan)
    for distance in range(min(reach, count)):
        mean[distance] = np.diagonal(scores, -distance).mean()
    q = turned(np.broadcast_to(of.q_pre.mean(axis=0), (reach, of.q.shape[-1])), distances, of)
    k = turned(of.k_pre.mean(axis=0), 0, of)
    return ByDistance(distances, mean, q @ k * of.scale, scores[query, query::-1])


def moved_error(model: Any, of: Rotation, layer: int, query: int, key: int, shift: int) -> float:
    """How far the score moves when both tokens go ``shift`` places on, turned by the model's own tables."""
    scores = []
    for offset in (0, shift):
        table = model.rope(layer, [query + offset, key + offset])
        vectors = []
        for row, pre in enumerate((of.q_pre[query], of.k_pre[key])):
            out = pre.astype(np.float32).copy()
            cos, sin = (_per_pair(values[row], of) for values in (table.cos, table.sin))
            a, b = pre[of.pairing.before[:, 0]], pre[of.pairing.before[:, 1]]
            out[of.pairing.after[:, 0]], out[of.pairing.after[:, 1]] = a * cos - b * sin, a * sin + b * cos
            vectors.append(out)
        scores.append(float(vectors[0] @ vectors[1]) * of.scale)
    return abs(scores[1] - scores[0])


def match_orders(a: Sequence[int], b: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Same tokens of two texts, each used once, the n-th of A with the n-th of B."""
    places: dict[int, list[int]] = {}
    for position, token in enumerate(b):
        places.setdefault(token, []).append(position)
    return tuple((position, places[token].pop(0)) for position, token in enumerate(a) if places.get(token))


def orders(model: Any, a: Sequence[int], b: Sequence[int], top: int = 3) -> Orders:
    """Two texts as two prefills of their own; nothing of the learner's run is used or changed."""
    tips = [model.prefill(list(ids)) for ids in (a, b)]
    traces = [model.trace(tip) for tip in tips]
    pairs = match_orders(a, b)
    cosines = np.zeros((model.shape.n_layers + 1, len(pairs)))
    for layer in range(model.shape.n_layers + 1):
        first, second = (trace.residual(layer).astype(np.float64) for trace in traces)
        for index, (i, j) in enumerate(pairs):
            cosines[layer, index] = cosine(first[i], second[j])
    likely = [_top(tip.logits, top) for tip in tips]
    return Orders((tuple(a), tuple(b)), pairs, cosines, (likely[0], likely[1]))


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Cosine of the angle between two vectors; 0 when one of them is zero."""
    lengths = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(np.clip(a @ b / lengths, -1, 1)) if lengths else 0.0


def position_alikeness(rows: np.ndarray, limit: int = 64) -> tuple[np.ndarray, np.ndarray]:
    """Cosines between learned position vectors: (n,) shown positions, at most ``limit``, and (n, n)."""
    shown = np.unique(np.linspace(0, len(rows) - 1, min(limit, len(rows))).round().astype(int))
    kept = rows[shown].astype(np.float64)
    lengths = np.linalg.norm(kept, axis=1, keepdims=True)
    kept = kept / np.where(lengths > 0, lengths, 1)
    return shown, kept @ kept.T


def _top(logits: np.ndarray, count: int) -> tuple[tuple[int, float], ...]:
    powers = np.exp(logits.astype(np.float64) - float(logits.max()))
    chances = powers / powers.sum()
    return tuple((int(token), float(chances[token])) for token in np.argsort(-chances, kind="stable")[:count])


def _pairings(pairs: int, size: int, interleaved: bool) -> list[Pairing]:
    """The declared pairing first, then the same at the head's end, then DeepSeek's rearranging one."""
    halves = np.stack([np.arange(pairs), np.arange(pairs) + pairs], axis=1)
    neighbours = np.arange(2 * pairs).reshape(pairs, 2)
    own = neighbours if interleaved else halves
    found = [Pairing(own, own, interleaved)]
    if size > 2 * pairs:
        end = size - 2 * pairs
        found.append(Pairing(own + end, own + end, interleaved))
        found.append(Pairing(neighbours + end, halves + end, True))
    return found


def _misfit(pre: np.ndarray, post: np.ndarray, of: Rotation) -> float:
    return float(np.abs(turned(pre, np.arange(len(pre)), of) - post).max())


def _per_pair(values: np.ndarray, of: Rotation) -> np.ndarray:
    """(r,) of the model's table → (P,): each pair's angle stands there twice, or once."""
    pairs = len(of.pairing.before)
    if len(values) == pairs:
        return values
    return values[::2] if of.pairing.interleaved and len(values) == 2 * pairs else values[:pairs]
