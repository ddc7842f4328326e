"""The KV cache in the browser, drawn by ``assets/js/kv_cache.js``: both grids and one cell's vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.components.base import EventHandler, mount
from core.lessons.kv_cache import Cell, Grid


def cache_grid(
    held: Grid,
    tokens: Sequence[str],
    *,
    prompt_length: int,
    new_from: int,
    layer: int,
    position: int,
    labels: Mapping[str, str],
    on_choose: EventHandler,
    on_look: EventHandler,
) -> Any:
    """Keys and values of every layer and token.

    ``new_from``: the first position that the last pass added. ``on_choose`` and ``on_look`` get
    ``{"layer": int, "position": int}``: a cell that was chosen for all pages, or one that is pointed at. The
    message does not hold the cell that is pointed at, so that pointing sends one cell's vectors and no more.
    """
    header = {
        "view": "grid",
        "tokens": list(tokens),
        "prompt": prompt_length,
        "new_from": new_from,
        "layers": len(held.windows),
        "windows": list(held.windows),
        "layer": layer,
        "position": position,
        "labels": dict(labels),
    }
    arrays = {"keys": held.keys, "values": held.values}
    events = {"choose": on_choose, "look": on_look}
    return mount("kv_cache", key="nt_kv_cache", header=header, arrays=arrays, on=events)


def cell_vectors(shown: Cell, token: str, *, latent: bool, labels: Mapping[str, str]) -> Any:
    """The key and value vectors of one cell, a stripe each, with the query heads that read them.

    ``latent``: the two stripes are the compressed vector and the rotated part that all heads share.
    """
    nothing = np.zeros((1, 1), dtype=np.float32)
    header = {
        "view": "cell",
        "layer": shown.layer,
        "position": shown.position,
        "token": token,
        "readers": [list(heads) for heads in shown.readers],
        "dropped": shown.keys is None,
        "latent": latent,
        "labels": dict(labels),
    }
    arrays = {
        "keys": nothing if shown.keys is None else shown.keys,
        "values": nothing if shown.values is None else shown.values,
    }
    return mount("kv_cache", key="nt_kv_cell", header=header, arrays=arrays)


def read_cell(payload: Any) -> tuple[int, int] | None:
    """(layer, position) that the browser sent, None for anything else."""
    if not isinstance(payload, Mapping):
        return None
    found = [payload.get(name) for name in ("layer", "position")]
    if all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in found):
        return int(found[0]), int(found[1])  # type: ignore[arg-type]
    return None
