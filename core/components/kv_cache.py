"""The KV cache in the browser, drawn by ``assets/js/kv_cache.js``: both grids and one cell's vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.components.base import EventHandler, mount
from core.lessons.kv_cache import Cell, Grid


def cache_grid(
    held: Grid,
    shown: Cell,
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
    """Keys and values of every layer and token, and the vectors of ``shown``.

    ``new_from``: the first position that the last pass added. ``on_choose`` and ``on_look`` get
    ``{"layer": int, "position": int}``: a cell that was chosen for all pages, or one that is pointed at.
    """
    nothing = np.zeros((1, 1), dtype=np.float32)
    header = {
        "tokens": list(tokens),
        "prompt": prompt_length,
        "new_from": new_from,
        "layers": len(held.windows),
        "windows": list(held.windows),
        "layer": layer,
        "position": position,
        "cell": {
            "layer": shown.layer,
            "position": shown.position,
            "readers": [list(heads) for heads in shown.readers],
            "dropped": shown.keys is None,
        },
        "labels": dict(labels),
    }
    arrays = {
        "keys": held.keys,
        "values": held.values,
        "cell_keys": nothing if shown.keys is None else shown.keys,
        "cell_values": nothing if shown.values is None else shown.values,
    }
    events = {"choose": on_choose, "look": on_look}
    return mount("kv_cache", key="nt_kv_cache", header=header, arrays=arrays, on=events)


def read_cell(payload: Any) -> tuple[int, int] | None:
    """(layer, position) that the browser sent, None for anything else."""
    if not isinstance(payload, Mapping):
        return None
    found = [payload.get(name) for name in ("layer", "position")]
    if all(isinstance(value, int) and not isinstance(value, bool) and value >= 0 for value in found):
        return int(found[0]), int(found[1])  # type: ignore[arg-type]
    return None
