"""The small grid on every page: columns are positions, rows are layers; the map and the selector of all
pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.components.base import EventHandler, mount


def shades(norms: np.ndarray) -> np.ndarray:
    """(n_layers, T) residual sizes to (n_layers, T) bytes for the colour ramp, the smallest 0, the largest
    255.

    Logarithmic, because a first token's vector can be a hundred times as long as its neighbours'. Sizes that
    are not finite count as the smallest.
    """
    finite = np.where(np.isfinite(norms) & (norms > 0), norms, np.nan)
    if not np.isfinite(finite).any():
        return np.zeros(norms.shape, dtype=np.uint8)
    logs = np.log(finite)
    low, high = np.nanmin(logs), np.nanpercentile(logs, 99)
    span = max(float(high - low), 1e-9)
    return np.nan_to_num(np.clip(255 * (logs - low) / span, 0, 255)).astype(np.uint8)


def header(
    tokens: Sequence[str],
    *,
    prompt_length: int,
    prompt_limit: int,
    layer: int,
    position: int,
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """The grid's header. ``tokens``: T texts; ``layer`` and ``position``: the chosen cell."""
    return {
        "tokens": list(tokens),
        "prompt_length": prompt_length,
        "limit": f"{prompt_limit:,}",
        "layer": layer,
        "position": position,
        "labels": dict(labels),
    }


def small_grid(message: Mapping[str, Any], norms: np.ndarray, *, key: str, on_choose: EventHandler) -> Any:
    """Show the grid. ``norms`` (n_layers, T): the size of each block's output, layer 0 first.

    ``on_choose`` is called with ``{"layer": int, "position": int}``.
    """
    return mount(
        "small_grid", key=key, header=message, arrays={"shades": shades(norms)}, on={"choose": on_choose}
    )
