"""The KV cache as columns: each pass keeps the keys and values that it added, a path is their sum.

Two branches share the columns of their common prefix and never each other's cache: the cache object
that the model changes in place is handed to one child only, the others get one rebuilt from columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import DynamicCache

if TYPE_CHECKING:
    from core.engine.passes import Pass


@dataclass(frozen=True)
class Column:
    """K and V that one pass added to one layer, (1, kv_heads, n, head_dim) each."""

    keys: torch.Tensor
    values: torch.Tensor

    @property
    def n_bytes(self) -> int:
        """Bytes of both tensors."""
        return sum(t.numel() * t.element_size() for t in (self.keys, self.values))


@dataclass(frozen=True)
class CacheLayerView:
    """What the cache of one layer holds.

    Attributes:
        keys, values: (kv_heads, t, head_dim) float32.
        first_position: the position of the first column; above 0 where a sliding window dropped some.
        window: how many columns the layer may keep besides the current token's, or ``None``.
        n_bytes: bytes of the tensors themselves, in the model's own dtype.
    """

    keys: np.ndarray
    values: np.ndarray
    first_position: int
    window: int | None
    n_bytes: int


def _layer_window(layer: Any) -> int | None:
    """Columns that a sliding-window layer keeps: the cache drops all but the last ``window - 1``."""
    return int(layer.sliding_window) - 1 if getattr(layer, "is_sliding", False) else None


def layer_windows(config: Any) -> list[int | None]:
    """Per layer the number of columns that the model's own cache keeps, ``None`` for all."""
    return [_layer_window(layer) for layer in DynamicCache(config=config).layers]


def take_cache(parent: Pass | None, config: Any) -> Any:
    """A cache holding everything up to ``parent``, free to be changed in place."""
    if parent is None:
        return DynamicCache(config=config)
    if parent.live_cache is not None:
        cache, parent.live_cache = parent.live_cache, None
        return cache
    return rebuild(parent, config)


def rebuild(tip: Pass, config: Any) -> Any:
    """A fresh cache from the columns of the path that ends in ``tip``."""
    cache = DynamicCache(config=config)
    layers: list[Any] = cache.layers
    for index, layer in enumerate(layers):
        keys, values = joined(tip, index, _layer_window(layer))
        layer.lazy_initialization(keys, values)
        layer.keys, layer.values = keys, values
        if hasattr(layer, "cumulative_length"):
            layer.cumulative_length = tip.end
    return cache


def joined(tip: Pass, layer: int, window: int | None) -> tuple[torch.Tensor, torch.Tensor]:
    """K and V of one layer up to ``tip``, (1, kv_heads, t, head_dim); the last ``window`` columns only."""
    path = tip.path()
    keys = torch.cat([p.kv[layer].keys for p in path], dim=-2)
    values = torch.cat([p.kv[layer].values for p in path], dim=-2)
    if window is not None and keys.shape[-2] > window:
        keys, values = keys[..., -window:, :], values[..., -window:, :]
    return keys, values


def new_columns(cache: Any, rows: int) -> tuple[Column, ...]:
    """The last ``rows`` columns of each layer (fewer where a window keeps fewer), copied."""
    return tuple(
        # Copied, because a slice would keep the whole growing tensor of each step alive.
        Column(layer.keys[..., -rows:, :].clone(), layer.values[..., -rows:, :].clone())
        for layer in cache.layers
    )


def layer_view(tip: Pass, layer: int, window: int | None) -> CacheLayerView:
    """What the cache of ``layer`` holds after ``tip``."""
    keys, values = joined(tip, layer, window)
    return CacheLayerView(
        keys=keys[0].float().numpy(),
        values=values[0].float().numpy(),
        first_position=tip.end - int(keys.shape[-2]),
        window=window,
        n_bytes=sum(t.numel() * t.element_size() for t in (keys, values)),
    )
