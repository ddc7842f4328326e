"""The feed-forward part of one block, neuron by neuron: gate, up, their product, and the tokens it pushes.

A neuron is one of the F columns of the down projection: its activation times that column is what it adds to
the residual stream. Its column against the rows of the LM head says which tokens it raises (Geva et al.,
"Transformer Feed-Forward Layers Build Predictions by Promoting Concepts in the Vocabulary Space", 2022).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    from core.engine.layer_view import DenseView, LayerView

_CHUNK = 8192
_KEPT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Activation:
    """Which function stands between gate and product (or after up), and how well it explains ``act``."""

    name: str
    gated: bool
    error: float


@dataclass(frozen=True)
class Down:
    """The down projection: ``columns`` (F, d), one row for each neuron; ``error``: act · columns (+ bias)
    against the captured output at one position."""

    name: str
    shape: tuple[int, ...]
    columns: np.ndarray
    error: float


@dataclass(frozen=True)
class Neuron:
    """One neuron at one position. ``gate`` and ``gated`` (after the function) are ``None`` without a gate.

    ``size``: length of what it adds to the stream, before any shared-expert gate or norm that follows.
    """

    index: int
    gate: float | None
    gated: float | None
    up: float
    act: float
    size: float


@dataclass(frozen=True)
class Pushed:
    """Tokens whose LM-head rows a neuron's column points to most, and least: (id, change of the logit)."""

    up: tuple[tuple[int, float], ...]
    down: tuple[tuple[int, float], ...]


def dense_of(view: LayerView) -> DenseView | None:
    """The dense part, or the always-on expert of a Mixture of Experts; ``None`` when there is neither."""
    if view.dense is not None:
        return view.dense
    return view.router.shared if view.router is not None else None


def silu(x: np.ndarray) -> np.ndarray:
    """x · sigmoid(x)."""
    wide = x.astype(np.float64)
    return wide / (1 + np.exp(-np.clip(wide, -700, 700)))


def gelu_tanh(x: np.ndarray) -> np.ndarray:
    """GELU in its tanh form."""
    wide = x.astype(np.float64)
    return 0.5 * wide * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)))


def gelu(x: np.ndarray) -> np.ndarray:
    """x · Φ(x), Φ by Abramowitz and Stegun 7.1.26 (error below 1.5e-7)."""
    wide = x.astype(np.float64)
    z = np.abs(wide) / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(wide) * (1 - series * np.exp(-z * z))
    return 0.5 * wide * (1 + erf)


def relu(x: np.ndarray) -> np.ndarray:
    """max(x, 0)."""
    return np.maximum(x, 0).astype(np.float64)


FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "SiLU": silu,
    "GELU (tanh)": gelu_tanh,
    "GELU": gelu,
    "ReLU": relu,
    "ReLU²": lambda x: relu(x) ** 2,
}


def activation(dense: DenseView, position: int) -> Activation:
    """The function that turns gate and up into ``act`` at one position: the one with the least error."""
    up, act = dense.up[position], dense.act[position]
    errors = {}
    for name, function in FUNCTIONS.items():
        made = function(up) if dense.gate is None else function(dense.gate[position]) * up
        errors[name] = float(np.abs(made - act).max())
    best = min(errors, key=lambda name: errors[name])
    return Activation(best, dense.gate is not None, errors[best])


def down(model: Any, view: LayerView, dense: DenseView, position: int) -> Down | None:
    """The matrix behind ``dense.out``, found by multiplying; ``None`` when no weight of the block fits."""
    width, model_width = dense.act.shape[1], dense.out.shape[1]
    best: Down | None = None
    names = {row.name: row for row in model.parameters() if row.layer == view.layer}
    for name, row in names.items():
        if row.role not in ("ffn", "shared_expert") or row.shape not in (
            (model_width, width),
            (width, model_width),
        ):
            continue
        part = _part_of(name)
        matrix = model.weight(view.layer, part)
        bias_name = name.removesuffix("weight") + "bias"
        bias = model.weight(view.layer, _part_of(bias_name)) if bias_name in names else np.zeros(model_width)
        if bias.shape != (model_width,):
            continue  # it belongs to the map in the other direction
        for columns in {True: matrix.T, False: matrix}.values():
            if columns.shape != (width, model_width):
                continue
            error = float(np.abs(dense.act[position] @ columns + bias - dense.out[position]).max())
            if best is None or error < best.error:
                best = Down(name, row.shape, columns, error)
    return best


def top_neurons(dense: DenseView, found: Down, position: int, function: str, count: int) -> list[Neuron]:
    """The neurons that add most to the stream at ``position``, by the length of what they add."""
    sizes = np.abs(dense.act[position]) * np.linalg.norm(found.columns, axis=1)
    order = np.argsort(-sizes, kind="stable")[:count]
    gated = None if dense.gate is None else FUNCTIONS[function](dense.gate[position])
    return [
        Neuron(
            int(i),
            None if dense.gate is None else float(dense.gate[position, i]),
            None if gated is None else float(gated[i]),
            float(dense.up[position, i]),
            float(dense.act[position, i]),
            float(sizes[i]),
        )
        for i in order
    ]


def share_of(dense: DenseView, found: Down, position: int, count: int) -> float:
    """Share of all neurons' lengths that the ``count`` strongest hold, from 0 to 1."""
    sizes = np.sort(np.abs(dense.act[position]) * np.linalg.norm(found.columns, axis=1))[::-1]
    total = float(sizes.sum())
    return float(sizes[:count].sum()) / total if total else 0.0


def pushed(model: Any, layer: int, found: Down, neuron: Neuron, count: int) -> Pushed:
    """The tokens that a neuron raises and lowers most with its activation as it is, over all V tokens.

    The change of a logit is activation · (column · LM-head row); the final norm, which scales all of them and
    each direction by its gain, is left out. Kept per neuron, so that asking again costs nothing.
    """
    scores = _against_head(model, layer, found, neuron.index) * np.float32(neuron.act)
    count = min(count, len(scores))
    high = np.argpartition(-scores, count - 1)[:count]
    low = np.argpartition(scores, count - 1)[:count]
    return Pushed(
        tuple((int(t), float(scores[t])) for t in sorted(high, key=lambda t: (-scores[t], t))),
        tuple((int(t), float(scores[t])) for t in sorted(low, key=lambda t: (scores[t], t))),
    )


def _against_head(model: Any, layer: int, found: Down, index: int) -> np.ndarray:
    kept = _HEAD.setdefault(model, {})
    key = (layer, found.name, index)
    if key not in kept:
        if len(kept) * model.shape.vocab_size * 4 > _KEPT_BYTES:
            kept.clear()
        column = np.ascontiguousarray(found.columns[index])
        if model.shape.tied_embeddings:
            kept[key] = model.embedding_matrix() @ column
        else:
            size = model.shape.vocab_size
            chunks = [range(at, min(size, at + _CHUNK)) for at in range(0, size, _CHUNK)]
            kept[key] = np.concatenate([model.lm_head_rows(chunk) @ column for chunk in chunks])
    return kept[key]


def _part_of(name: str) -> str:
    """A weight's name inside its block: what follows the block's number."""
    pieces = name.split(".")
    number = next(i for i, piece in enumerate(pieces) if piece.isdigit())
    return ".".join(pieces[number + 1 :])


_HEAD: WeakKeyDictionary[Any, dict[tuple[int, str, int], np.ndarray]] = WeakKeyDictionary()
