"""One layer of a run as plain data and as lines: shapes, lengths of the vectors, attention rows, router
choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.engine.layer_view import LayerView

_TENSORS = (
    "resid_in", "attn_norm", "q_pre_rope", "k_pre_rope", "q", "k", "v", "attn_out", "resid_mid",
    "mlp_norm", "gate", "up", "act", "mlp_out", "resid_out",
)  # fmt: skip
_VECTORS = ("resid_in", "attn_out", "mlp_out", "resid_out")


def layer_report(view: LayerView, layer: int, n_heads: int) -> dict[str, Any]:
    """Shapes of all tensors, norms per position, and (head, query, key) attention weights of T positions.

    Only keys up to the query are listed: row i has i + 1 numbers. Tensors that this model lacks are left out.
    """
    tensors = {name: getattr(view, name) for name in _TENSORS}
    report: dict[str, Any] = {
        "layer": layer,
        "shapes": {name: list(tensor.shape) for name, tensor in tensors.items() if tensor is not None},
        "norms": {name: _numbers(np.linalg.norm(tensors[name], axis=-1)) for name in _VECTORS},
        "attention": [_rows(view.weights(head)) for head in range(n_heads)],
    }
    if view.router is not None:
        report["router"] = {
            "probabilities": [_numbers(row) for row in view.router.probabilities],
            "experts": view.router.indices.tolist(),
            "weights": [_numbers(row) for row in view.router.weights],
        }
    return report


def _rows(weights: np.ndarray) -> list[list[float]]:
    return [_numbers(row[: query + 1]) for query, row in enumerate(weights)]


def _numbers(values: np.ndarray) -> list[float]:
    """float32 has seven digits; more would only be noise of the conversion."""
    return [float(f"{value:.7g}") for value in values]


def layer_lines(report: dict[str, Any]) -> list[str]:
    """The report for a reader: every shape and length, and of each head where its last position looks
    most."""
    lines = ["", f"layer {report['layer']}"]
    lines += [f"  {name:11} {' x '.join(map(str, shape))}" for name, shape in report["shapes"].items()]
    lines.append("  length of each position's vector")
    lines += [f"  {name:11} {' '.join(f'{n:.1f}' for n in norms)}" for name, norms in report["norms"].items()]
    lines.append("  attention of the last position (position: weight)")
    for head, rows in enumerate(report["attention"]):
        best = sorted(enumerate(rows[-1]), key=lambda item: -item[1])[:5]
        lines.append(
            f"  head {head:<6} " + "  ".join(f"{position}: {weight:.3f}" for position, weight in best)
        )
    if "router" in report:
        lines.append("  experts chosen per position")
        lines.append("  " + " ".join("+".join(map(str, chosen)) for chosen in report["router"]["experts"]))
    return lines
