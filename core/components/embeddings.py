"""The Embeddings page in the browser: stripes of looked-up rows, and lists of tokens with their cosines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.components.base import EventHandler, mount
from core.lessons.embeddings import Lookup, Neighbour

Words = Mapping[str, str]


def stripe_rows(
    found: Lookup,
    texts: Sequence[str],
    notes: Sequence[str],
    *,
    position: int,
    labels: Words,
    on_choose: EventHandler,
) -> Any:
    """A row of E for each position. ``on_choose`` gets ``{"position": int}``."""
    header = {
        "view": "rows",
        "tokens": [
            {"position": at, "text": text, "note": note, "row": row}
            for at, text, note, row in zip(found.positions, texts, notes, found.row_of, strict=True)
        ],
        "position": position,
        "labels": dict(labels),
    }
    return mount(
        "embeddings",
        key="nt_embedding_rows",
        header=header,
        arrays={"rows": found.rows},
        on={"choose": on_choose},
    )


def vector_parts(
    key: str,
    parts: Sequence[tuple[str, str, np.ndarray]],
    *,
    readout: str,
    at: int,
    labels: Words,
) -> Any:
    """Vectors one below the other, (name, note, values): one number of all of them is read out at once.

    ``readout``: words with the places ``{index}``, ``{0}``, ``{1}`` …; ``at``: the number that is read out
    first.
    """
    header = {
        "view": "parts",
        "parts": [{"name": name, "note": note} for name, note, _ in parts],
        "readout": readout,
        "at": at,
        "labels": dict(labels),
    }
    return mount("embeddings", key=key, header=header, arrays=[values for *_, values in parts])


def neighbour_lists(
    key: str,
    lists: Sequence[tuple[str, Sequence[Neighbour]]],
    names: Mapping[int, str],
    *,
    notes: Mapping[int, str],
    labels: Words,
    on_look: EventHandler | None = None,
) -> Any:
    """Lists of tokens with their cosines, (title, tokens). ``on_look`` gets ``{"id": int}``; None: no
    clicks."""
    header = {
        "view": "lists",
        "lists": [
            {
                "title": title,
                "items": [
                    {
                        "id": one.token_id,
                        "text": names[one.token_id],
                        "cosine": round(one.cosine, 6),
                        "note": notes.get(one.token_id, ""),
                    }
                    for one in found
                ],
            }
            for title, found in lists
        ],
        "look": on_look is not None,
        "labels": dict(labels),
    }
    return mount("embeddings", key=key, header=header, on={"look": on_look} if on_look else {})
