"""What the Embeddings page shows: looked-up rows of E, neighbours by cosine, a 2-D map, sums of rows.

E is the embedding matrix, (V, d): one row of d numbers for each of V tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.lessons.generate import name_of

SHOWN_ROWS = 24
MAP_TOKENS = 16
MAP_NEIGHBOURS = 5
_KEPT_LOOKUPS = 4096
_KEPT_SUMS = 256


@dataclass(frozen=True)
class Lookup:
    """The rows behind some positions. ``rows`` (u, d) holds each distinct token once; ``row_of`` points into
    it."""

    positions: tuple[int, ...]
    token_ids: tuple[int, ...]
    rows: np.ndarray
    row_of: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """How what enters block 0 is made: ``scale`` · row of E, plus ``position_row`` where positions are
    learned.

    ``error``: largest difference to what the pass captured at the input of block 0, over all positions.
    """

    row: np.ndarray
    scale: float
    position_row: np.ndarray | None
    block_input: np.ndarray
    error: float

    @property
    def plain(self) -> bool:
        """The row of E goes into the first block as it is."""
        return self.scale == 1.0 and self.position_row is None


@dataclass(frozen=True)
class Neighbour:
    """A token and the cosine of the angle between its row and another vector, from −1 to 1."""

    token_id: int
    cosine: float


@dataclass(frozen=True)
class Sum:
    """a − b + c in E: the tokens nearest to the result, with the three inputs left in and taken out."""

    vector: np.ndarray
    with_inputs: list[Neighbour]
    without_inputs: list[Neighbour]


@dataclass(frozen=True, eq=False)
class TokenMap:
    """A projection of n rows of E, each made one long, to two directions (principal components).

    ``points`` (n, 2); ``explained`` (2,): share of the rows' variance along each direction; ``parent[i]``:
    index
    of the prompt token whose neighbour point i is, its own index for a prompt token.
    """

    token_ids: tuple[int, ...]
    points: np.ndarray
    explained: tuple[float, float]
    parent: tuple[int, ...]

    def is_prompt(self, index: int) -> bool:
        """Point ``index`` is a token of the prompt itself."""
        return self.parent[index] == index


@dataclass(frozen=True)
class Found:
    """A typed text as a token: the chosen one and all that the text was cut into."""

    token_id: int
    token_ids: tuple[int, ...]


def window(count: int, chosen: int, limit: int = SHOWN_ROWS) -> tuple[int, ...]:
    """At most ``limit`` neighbouring positions of ``count``, with ``chosen`` among them."""
    start = max(0, min(chosen - limit // 2, count - limit))
    return tuple(range(start, min(count, start + limit)))


def lookup(model: Any, token_ids: Sequence[int], positions: Sequence[int]) -> Lookup:
    """Rows of E for some positions of a text."""
    ids = tuple(int(token_ids[position]) for position in positions)
    distinct = list(dict.fromkeys(ids))
    place = {token_id: index for index, token_id in enumerate(distinct)}
    return Lookup(
        tuple(positions), ids, model.embedding_rows(distinct), tuple(place[token_id] for token_id in ids)
    )


def entry(model: Any, trace: Any, position: int) -> Entry:
    """How the input of block 0 at ``position`` follows from E.

    The factor that some families put on the rows (Gemma: √d, Granite: a constant) is measured by least
    squares
    over the prompt and then held against every number, so a family that does anything else shows as an error.
    """
    rows = model.embedding_rows(trace.token_ids).astype(np.float64)  # (T, d)
    inputs = trace.residual(0).astype(np.float64)
    learned = model.position_rows(range(trace.n_positions))
    added = np.zeros_like(rows) if learned is None else learned.astype(np.float64)
    square = float((rows * rows).sum())
    scale = float(((inputs - added) * rows).sum() / square) if square else 1.0
    if abs(scale - 1.0) < 1e-6:
        scale = 1.0
    error = float(np.abs(scale * rows + added - inputs).max())
    return Entry(
        row=rows[position].astype(np.float32),
        scale=scale,
        position_row=None if learned is None else learned[position],
        block_input=inputs[position].astype(np.float32),
        error=error,
    )


def nearest(model: Any, vector: np.ndarray, count: int, leave_out: Sequence[int] = ()) -> list[Neighbour]:
    """The ``count`` tokens whose rows point most in the direction of ``vector``, over the whole vocabulary.

    cos = E·v / (|E_i| |v|). Rows of zeros have no direction and are never neighbours. Empty for a zero
    vector.
    """
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0:
        return []
    cosines = _cosines(model, vector[None])[0]
    cosines[list(leave_out)] = -np.inf
    return _best(cosines, count)


def neighbours(model: Any, token_id: int, count: int) -> list[Neighbour]:
    """The tokens nearest to a token's row, without the token itself; kept, so that asking again costs
    nothing."""
    kept = _LOOKUPS.setdefault(model, {})
    found = kept.get((token_id, count))
    if found is None:
        if len(kept) >= _KEPT_LOOKUPS:
            kept.clear()
        found = nearest(model, model.embedding_rows([token_id])[0], count, [token_id])
        kept[(token_id, count)] = found
    return found


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Cosine of the angle between two vectors; 0 when one of them is zero."""
    lengths = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else 0.0


def add_up(model: Any, plus: int, minus: int, plus_too: int, count: int) -> Sum:
    """``plus`` − ``minus`` + ``plus_too`` as rows of E, and the tokens nearest to it (Mikolov et al.
    2013)."""
    kept = _SUMS.setdefault(model, {})
    key = (plus, minus, plus_too, count)
    if key not in kept:
        if len(kept) >= _KEPT_SUMS:
            kept.clear()
        a, b, c = model.embedding_rows(key[:3])
        near = nearest(model, a - b + c, count + 3)
        others = [one for one in near if one.token_id not in key[:3]]
        kept[key] = Sum(a - b + c, near[:count], others[:count])
    return kept[key]


def named_weight(model: Any, role: str) -> tuple[str, tuple[int, ...]] | None:
    """Name and shape of the first weight outside the blocks with this role; None when there is none."""
    kept = _NAMED.get(model)
    if kept is None:
        kept = _NAMED[model] = {}
        for row in model.parameters():
            if row.layer is None:
                kept.setdefault(row.role, (row.name, row.shape))
    return kept.get(role)


def map_tokens(token_ids: Sequence[int], position: int, limit: int = MAP_TOKENS) -> list[int]:
    """The distinct tokens that stand closest to ``position``, at most ``limit``, in the order of the text."""
    by_distance = sorted(range(len(token_ids)), key=lambda at: (abs(at - position), at))
    kept = set(list(dict.fromkeys(int(token_ids[at]) for at in by_distance))[:limit])
    return [token_id for token_id in dict.fromkeys(int(t) for t in token_ids) if token_id in kept]


def token_map(model: Any, token_ids: Sequence[int], each: int = MAP_NEIGHBOURS) -> TokenMap:
    """Distinct tokens and ``each`` neighbours of every one, projected to the plane that keeps most
    variance."""
    kept = _MAPS.setdefault(model, {})
    key = (tuple(token_ids), each)
    if key not in kept:
        if len(kept) >= 64:
            kept.clear()
        kept[key] = _project(model, tuple(token_ids), each)
    return kept[key]


def token_name(codec: Any, token_id: int) -> str:
    """The text of one token; bytes that are no character on their own as ``⟨F0 9F⟩``.

    Their space is a thin one, so that it is not taken for a space of the token's own.
    """
    name = name_of(codec, token_id)
    return name if codec.piece(token_id).valid else name.replace(" ", "\u2009")


def find_token(codec: Any, text: str) -> Found | None:
    """The token that a person means by ``text``; None for an empty text.

    Most words are in the vocabulary with the space before them, so that form comes first; a text that starts
    with a space is taken as it is. ``#7042`` names an id. A longer text gives the first of its tokens.
    """
    if text.startswith("#") and text[1:].isdigit():
        number = int(text[1:])
        return Found(number, (number,)) if number < codec.vocab_size else None
    forms = [text] if text[:1].isspace() else [f" {text}", text]
    cut = [_ids(codec, form) for form in forms if form.strip()]
    single = next((ids for ids in cut if len(ids) == 1), None)
    ids = single or (cut[0] if cut else ())
    return Found(ids[0], ids) if ids else None


def _ids(codec: Any, text: str) -> tuple[int, ...]:
    before, after = codec.added_at_ends
    ids = codec.encode(text)
    return tuple(ids[before : len(ids) - after])


def _cosines(model: Any, vectors: np.ndarray) -> np.ndarray:
    """(n, V) cosines of n vectors with every row of E. Norms are kept instead of a second, normalised E."""
    matrix = model.embedding_matrix()
    norms = _NORMS.get(model)
    if norms is None:
        norms = _NORMS[model] = np.sqrt(np.einsum("vd,vd->v", matrix, matrix))
    dots = vectors @ matrix.T if len(vectors) > 1 else (matrix @ vectors[0])[None]
    lengths = np.linalg.norm(vectors, axis=1)[:, None] * norms
    return np.divide(dots, lengths, out=np.full(dots.shape, -np.inf, dots.dtype), where=lengths > 0)


def _best(cosines: np.ndarray, count: int) -> list[Neighbour]:
    count = min(count, int(np.isfinite(cosines).sum()))
    if count == 0:
        return []
    top = np.argpartition(-cosines, count - 1)[:count]
    order = sorted(top, key=lambda token: (-cosines[token], token))
    return [Neighbour(int(token), float(np.clip(cosines[token], -1, 1))) for token in order]


def _project(model: Any, token_ids: tuple[int, ...], each: int) -> TokenMap:
    ids, parent = list(token_ids), list(range(len(token_ids)))
    table = _cosines(model, model.embedding_rows(token_ids))  # (n, V)
    seen = set(ids)
    for index, token_id in enumerate(token_ids):
        table[index, token_id] = -np.inf
        for found in _best(table[index], each):
            if found.token_id not in seen:
                seen.add(found.token_id)
                ids.append(found.token_id)
                parent.append(index)
    rows = model.embedding_rows(ids).astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1)
    points, explained = principal_plane(rows)
    return TokenMap(tuple(ids), points.astype(np.float32), explained, tuple(parent))


def principal_plane(rows: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """(n, d) rows to (n, 2) coordinates along the two directions of largest variance, and their shares.

    A direction's sign is free; here its largest entry is positive, so that the same rows give the same
    picture.
    """
    centred = rows - rows.mean(axis=0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    total = float((sizes**2).sum())
    plane = directions[:2]
    largest = np.abs(plane).argmax(axis=1)
    plane = plane * np.where(plane[range(len(plane)), largest] < 0, -1, 1)[:, None]
    points = np.zeros((len(rows), 2))
    points[:, : len(plane)] = centred @ plane.T
    shares = [float(size**2 / total) if total else 0.0 for size in sizes[:2]] + [0.0, 0.0]
    return points, (shares[0], shares[1])


_NORMS: WeakKeyDictionary[Any, np.ndarray] = WeakKeyDictionary()
_LOOKUPS: WeakKeyDictionary[Any, dict[tuple[int, int], list[Neighbour]]] = WeakKeyDictionary()
_SUMS: WeakKeyDictionary[Any, dict[tuple[int, int, int, int], Sum]] = WeakKeyDictionary()
_NAMED: WeakKeyDictionary[Any, dict[str, tuple[str, tuple[int, ...]]]] = WeakKeyDictionary()
_MAPS: WeakKeyDictionary[Any, dict[tuple[tuple[int, ...], int], TokenMap]] = WeakKeyDictionary()
