"""What each expert that was chosen for a token added to the residual stream, and whether it all adds up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.lessons.attention import frozen_norm
from core.lessons.experts import Choices


@dataclass(frozen=True)
class Added:
    """One vector that the layer added at a position.

    Attributes:
        expert: its number, ``None`` for the shared expert. weight: what it was multiplied by.
        length: Euclidean length of the weighted vector.
        along_stream: cosine with the residual stream before it: above 0 it strengthens what is there.
        along_sum: cosine with all that the layer's experts added together.
        effect: what it adds to the likeliest next token's logit along the direct path, or ``None``.
    """

    expert: int | None
    weight: float
    length: float
    along_stream: float
    along_sum: float
    effect: float | None


@dataclass(frozen=True)
class Addition:
    """All vectors that a layer of experts added at one position.

    ``stream``: length of the residual stream before; ``total``: length of the sum; ``token_id``: the token
    whose logit the effects are about; ``error``: largest difference between the sum of the parts and the
    layer's own output, relative to its largest number (at least 1).
    """

    parts: tuple[Added, ...]
    stream: float
    total: float
    token_id: int
    error: float


def addition(model: Any, trace: Any, found: Choices, layer: int, position: int) -> Addition | None:
    """What the chosen experts and the shared one added, kept with the tip; ``None`` at a dense layer."""
    at = found.row(layer)
    if at is None:
        return None
    known = _KNOWN.setdefault(trace.tip, {})
    if (layer, position) not in known:
        known[layer, position] = _addition(model, trace, found, layer, position, at)
    return known[layer, position]


def _addition(model: Any, trace: Any, found: Choices, layer: int, position: int, at: int) -> Addition:
    view = trace.layer(layer)
    router = view.router
    rows = view.expert_out(position)  # (k, d)
    names: list[int | None] = [int(e) for e in found.routing.indices[at, position]]
    weights = [float(w) for w in found.routing.weights[at, position]]
    if router.shared is not None:
        gate = 1.0 if router.shared_gate is None else float(router.shared_gate[position])
        rows = np.concatenate([rows, gate * router.shared.out[position][None]])
        names.append(None)
        weights.append(gate)
    total = rows.sum(axis=0)
    own = view.mlp_out[position]
    # A norm or a factor of its own may stand between the experts and the stream.
    factor = np.float32(1.0) if view.mlp_post_norm is not None else _factor(view, position)
    stream = view.resid_mid[position] if view.resid_mid is not None else view.resid_in[position]
    token_id, effects = _effects(model, trace, position, rows * factor, view.mlp_post_norm is None)
    parts = [
        Added(
            expert=name,
            weight=weight,
            length=float(np.linalg.norm(row * factor)),
            along_stream=_cosine(row, stream),
            along_sum=_cosine(row, total),
            effect=None if effects is None else float(effects[i]),
        )
        for i, (name, weight, row) in enumerate(zip(names, weights, rows, strict=True))
    ]
    return Addition(
        parts=tuple(sorted(parts, key=lambda part: (part.expert is None, -part.length))),
        stream=float(np.linalg.norm(stream)),
        total=float(np.linalg.norm(total * factor)),
        token_id=token_id,
        error=float(np.abs(total - own).max()) / max(1.0, float(np.abs(own).max())),
    )


def _factor(view: Any, position: int) -> np.float32:
    """The residual multiplier of the family, read off what was added over what came out."""
    out, added = view.mlp_out[position], view.mlp_added[position]
    largest = int(np.abs(out).argmax())
    return np.float32(added[largest] / out[largest]) if out[largest] else np.float32(1.0)


def _effects(
    model: Any, trace: Any, position: int, rows: np.ndarray, direct: bool
) -> tuple[int, np.ndarray | None]:
    """The likeliest token at ``position`` and what each row adds to its logit, the final norm held still."""
    n_layers = model.shape.n_layers
    last = position == trace.n_positions - 1
    logits = trace.tip.logits if last else trace.lens(n_layers, [position])[0]
    token_id = int(logits.argmax())
    norm = None
    if direct:
        residual = trace.residual(n_layers)[position]
        norm = frozen_norm(model, residual, trace.final_norm()[position])
    if norm is None:
        return token_id, None
    return token_id, norm.through(rows) @ model.lm_head_rows([token_id])[0]


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    lengths = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / lengths if lengths else 0.0


_KNOWN: WeakKeyDictionary[Any, dict[tuple[int, int], Addition]] = WeakKeyDictionary()
