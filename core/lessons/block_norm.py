"""A block's norms, worked out step by step on one vector.

RMSNorm: Zhang and Sennrich, 2019. LayerNorm: Ba, Kiros and Hinton, 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.lessons.block import layer_rows

if TYPE_CHECKING:
    from core.engine.layer_view import LayerView


@dataclass(frozen=True)
class NormSteps:
    """A norm worked out on one vector (d,): (x − mean) / √(spread + eps) · gain + bias.

    ``kind``: "rms" (mean left in, spread = mean square) or "layer" (mean taken out, spread = variance).
    ``gain`` and ``bias`` are ``None`` where the norm has none; a gain stored as an offset from 1 is given
    with the 1 added. ``error``: largest difference between the steps and the captured output.
    """

    place: str
    kind: str
    x: np.ndarray
    mean: float
    spread: float
    eps: float
    scaled: np.ndarray
    gain: np.ndarray | None
    bias: np.ndarray | None
    out: np.ndarray
    error: float
    weight: str | None


def norm_steps(model: Any, view: LayerView, place: str, position: int) -> NormSteps | None:
    """The norm at ``place`` worked out on one vector; ``None`` where the block has none there.

    Which weight and which kind of norm it is, is found by trying the block's own norm weights: the one whose
    result is the captured output.
    """
    ends = _norm_ends(view, place)
    if ends is None:
        return None
    x, out = ends[0][position], ends[1][position]
    best: NormSteps | None = None
    for name, gain, bias in _norm_weights(model, view.layer, len(x)):
        for kind in ("rms", "layer"):
            for eps in (model.shape.norm_eps or 1e-5, 1e-5, 1e-6):
                made = _norm(place, kind, x, out, eps, gain, bias, name)
                if best is None or made.error < best.error:
                    best = made
    return best


def norm_places(view: LayerView) -> tuple[str, ...]:
    """The norms that this block has."""
    places = ("attn_norm", "mlp_norm", "attn_post_norm", "mlp_post_norm")
    return tuple(place for place in places if _norm_ends(view, place) is not None)


def _norm_ends(view: LayerView, place: str) -> tuple[np.ndarray, np.ndarray] | None:
    out: np.ndarray | None = getattr(view, place)
    if out is None:
        return None
    middle = view.resid_in if view.resid_mid is None else view.resid_mid
    before: dict[str, Callable[[], np.ndarray]] = {
        "attn_norm": lambda: view.resid_in,
        "mlp_norm": lambda: middle,
        "attn_post_norm": lambda: view.attn_out,
        "mlp_post_norm": lambda: view.mlp_out,
    }
    return before[place](), out


def _norm_weights(
    model: Any, layer: int, width: int
) -> list[tuple[str | None, np.ndarray | None, np.ndarray | None]]:
    """(name, gain, bias) of every norm of the block that fits this width; no weight at all last."""
    found: list[tuple[str | None, np.ndarray | None, np.ndarray | None]] = []
    rows = {row.name: row for row in layer_rows(model, layer)}
    for name, row in rows.items():
        if row.role == "norm" and row.shape == (width,) and name.endswith(".weight"):
            part = name.split(".")[-2]
            gain = model.weight(layer, f"{part}.weight")
            has_bias = name.removesuffix("weight") + "bias" in rows
            bias = model.weight(layer, f"{part}.bias") if has_bias else None
            found += [(name, gain, bias), (name, 1 + gain, bias)]
    return [*found, (None, None, None)]


def _norm(
    place: str,
    kind: str,
    x: np.ndarray,
    out: np.ndarray,
    eps: float,
    gain: np.ndarray | None,
    bias: np.ndarray | None,
    name: str | None,
) -> NormSteps:
    wide = x.astype(np.float64)
    mean = float(wide.mean()) if kind == "layer" else 0.0
    spread = float(((wide - mean) ** 2).mean())
    scaled = (wide - mean) / math.sqrt(spread + eps)
    result = scaled if gain is None else scaled * gain
    if bias is not None:
        result = result + bias
    error = float(np.abs(result - out).max())
    return NormSteps(
        place, kind, x, mean, spread, eps, scaled.astype(np.float32), gain, bias, out, error, name
    )
