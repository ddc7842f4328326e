"""The knowledge laboratory packed for ``assets/js/knowledge.js``: wordings, curves, and how far it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.components.base import mount


@dataclass(frozen=True)
class WordingRow:
    """One wording with the model as it is. ``text`` and ``favourite`` are shown literally."""

    text: str
    tokens: int
    probability: float
    rank: int
    favourite: str
    favourite_probability: float


@dataclass(frozen=True)
class Curves:
    """The answer's chance along an axis. ``probabilities`` (wordings, points) may hold NaN: not measured
    yet."""

    title: str
    kind: str
    at: Sequence[float]
    probabilities: np.ndarray
    ranks: np.ndarray
    note: str


def knowledge(
    rows: Sequence[WordingRow], answer: str, labels: Mapping[str, str], curves: Curves | None
) -> Any:
    """Show the wordings, and under them the curves of a sweep, badged as an experiment."""
    message = {
        "answer": answer,
        "labels": dict(labels),
        "rows": [
            [r.text, r.tokens, r.probability, r.rank, r.favourite, r.favourite_probability] for r in rows
        ],
        "curves": None if curves is None else _axis(curves),
    }
    arrays = {} if curves is None else {"probabilities": curves.probabilities, "ranks": curves.ranks}
    return mount("knowledge", key="nt_knowledge", header=message, arrays=arrays)


def _axis(curves: Curves) -> dict[str, Any]:
    return {"title": curves.title, "kind": curves.kind, "at": list(curves.at), "note": curves.note}
