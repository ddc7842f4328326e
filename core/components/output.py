"""The Output page in the browser: hidden states, dot products, logits over the whole vocabulary, the lens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.components.base import EventHandler, mount
from core.lessons.lens import LensGrid
from core.lessons.output import Dots

Words = Mapping[str, str]


def hidden_states(
    positions: Sequence[int],
    texts: Sequence[str],
    notes: Sequence[str],
    vectors: np.ndarray,
    *,
    position: int,
    labels: Words,
    on_choose: EventHandler,
) -> Any:
    """``vectors`` (n, d): one final hidden state for each of ``positions``; the last one is marked by its
    note."""
    header = {
        "view": "hidden",
        "tokens": [
            {"position": at, "text": text, "note": note}
            for at, text, note in zip(positions, texts, notes, strict=True)
        ],
        "position": position,
        "labels": dict(labels),
    }
    return mount(
        "output", key="nt_hidden_states", header=header, arrays={"vectors": vectors}, on={"choose": on_choose}
    )


def dot_products(
    found: Dots, texts: Sequence[str], normed: np.ndarray, *, token_id: int, labels: Words
) -> Any:
    """The products of ``normed`` (d,) with the row of one of ``found``'s tokens, chosen in the browser."""
    header = {
        "view": "dots",
        "tokens": [
            {"id": token, "text": text, "logit": float(logit)}
            for token, text, logit in zip(found.token_ids, texts, found.logits, strict=True)
        ],
        "token": token_id,
        "labels": dict(labels),
    }
    return mount(
        "output", key="nt_dot_products", header=header, arrays={"normed": normed, "rows": found.rows}
    )


def logits_view(
    logits: np.ndarray,
    texts: Mapping[int, str],
    *,
    highest: Sequence[int],
    lowest: Sequence[int],
    token_id: int,
    labels: Words,
    on_look: EventHandler,
) -> Any:
    """All logits (V,): histogram, highest and lowest, softmax, and a constant that is added in the browser.

    ``on_look`` gets ``{"id": int}`` when a token of the lists is chosen.
    """
    header = {
        "view": "logits",
        "texts": {str(token): text for token, text in texts.items()},
        "highest": list(highest),
        "lowest": list(lowest),
        "token": token_id,
        "labels": dict(labels),
    }
    return mount("output", key="nt_logits", header=header, arrays={"logits": logits}, on={"look": on_look})


def lens_view(
    grid: LensGrid,
    texts: Sequence[str],
    names: Mapping[int, str],
    *,
    layer: int,
    position: int,
    n_layers: int,
    labels: Words,
    on_choose: EventHandler,
    on_more: EventHandler,
) -> Any:
    """The logit lens. ``texts``: of ``grid.plan.positions``; ``names``: of every guess in the grid.

    ``on_choose`` gets ``{"layer", "position"}``; ``on_more`` is called when the grid is painted and not
    complete.
    """
    header = {
        "view": "lens",
        "rows": list(grid.plan.rows),
        "positions": list(grid.plan.positions),
        "texts": list(texts),
        "names": {str(token): name for token, name in names.items()},
        "layer": layer,
        "position": position,
        "layers": n_layers,
        "done": grid.done,
        "complete": grid.complete,
        "labels": dict(labels),
    }
    return mount(
        "output",
        key="nt_lens",
        header=header,
        arrays={"ids": grid.ids, "probabilities": grid.probabilities},
        on={"choose": on_choose, "more": on_more},
    )
