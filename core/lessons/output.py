"""What the Output page shows: final norm, LM head as dot products, logits, softmax.

The way from the last block to a probability: h → final norm → n; logit of token v = n · W_v; softmax over V.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.decoding.sampling import top_ids

EDGE_TOKENS = 40
"""How many of the highest and of the lowest logits go to the browser with their text."""


@dataclass(frozen=True)
class FinalNorm:
    """The final norm of one position, step by step. All vectors (d,).

    ``kind``: "rms" or "layer". ``mean``: what is subtracted (0 for RMSNorm). ``mean_square``: of what is
    left.
    ``divisor`` = √(mean_square + eps). ``divided`` = (h − mean) / divisor. ``normed`` = divided · gain +
    bias.
    ``error``: largest difference between this arithmetic and the model's own norm.
    """

    kind: str
    hidden: np.ndarray
    mean: float
    mean_square: float
    eps: float
    divisor: float
    divided: np.ndarray
    gain: np.ndarray
    bias: np.ndarray | None
    normed: np.ndarray
    error: float


@dataclass(frozen=True)
class HeadSteps:
    """What some families do to a logit after the dot product: bias (Phi), soft cap (Gemma 2), factor (Cohere,
    Granite)."""

    bias: np.ndarray | None
    cap: float | None
    factor: float

    @property
    def plain(self) -> bool:
        """The logit is the dot product itself."""
        return self.bias is None and self.cap is None and self.factor == 1.0

    def apply(self, dots: np.ndarray, token_ids: Sequence[int]) -> np.ndarray:
        """(n,) dot products to logits."""
        logits = dots.astype(np.float64)
        if self.bias is not None:
            logits = logits + self.bias[list(token_ids)]
        if self.cap is not None:
            logits = np.tanh(logits / self.cap) * self.cap
        return logits * self.factor


@dataclass(frozen=True)
class Dots:
    """Dot products of one normed vector with rows of the LM head.

    ``rows`` (n, d); ``dots`` (n,) summed from the products; ``logits`` (n,) the model's own; ``error``:
    largest
    difference between the logits made from ``dots`` and the model's own.
    """

    token_ids: tuple[int, ...]
    rows: np.ndarray
    dots: np.ndarray
    logits: np.ndarray
    error: float


@dataclass(frozen=True)
class SoftmaxOf:
    """p = e^(z − max) / Σ e^(z − max), for one token, over the whole vocabulary."""

    logit: float
    largest: float
    numerator: float
    denominator: float
    probability: float


def final_norm(model: Any, trace: Any, position: int) -> FinalNorm:
    """The final norm worked out for one position, held against the model's own."""
    hidden = trace.residual(model.shape.n_layers)[position].astype(np.float64)
    own = trace.final_norm()[position].astype(np.float64)
    kind, eps = model.shape.norm, model.shape.norm_eps
    mean = float(hidden.mean()) if kind == "layer" else 0.0
    centred = hidden - mean
    mean_square = float((centred**2).mean())
    divisor = float(np.sqrt(mean_square + eps))
    divided = centred / divisor
    gain, bias = _gain(model, divided, own), _bias(model)
    normed = divided * gain + (0.0 if bias is None else bias)
    return FinalNorm(
        kind, hidden, mean, mean_square, eps, divisor, divided, gain, bias, normed,
        error=float(np.abs(normed - own).max()),
    )  # fmt: skip


def _gain(model: Any, divided: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The factor per number. Gemma stores gain − 1; a norm without weights multiplies by one."""
    if getattr(model.roles.final_norm, "weight", None) is None:
        return np.ones_like(divided)
    stored = model.final_norm_gain().astype(np.float64)
    bias = _bias(model)
    rest = own - (0.0 if bias is None else bias)
    as_is, plus_one = (np.abs(divided * gain - rest).max() for gain in (stored, stored + 1))
    return stored + 1 if plus_one < as_is else stored


def _bias(model: Any) -> np.ndarray | None:
    bias = getattr(model.roles.final_norm, "bias", None)
    return None if bias is None else bias.detach().float().numpy().astype(np.float64)


def head_steps(model: Any) -> HeadSteps:
    """What this model does to its logits after the LM head's dot products."""
    config = model.hf_model.config
    bias = getattr(model.roles.lm_head, "bias", None)
    factor = getattr(model.hf_model, "logit_scale", None) or getattr(config, "logit_scale", None) or 1.0
    divisor = getattr(config, "logits_scaling", None) or 1.0
    return HeadSteps(
        bias=None if bias is None else bias.detach().float().numpy().astype(np.float64),
        cap=getattr(config, "final_logit_softcapping", None),
        factor=float(factor) / float(divisor),
    )


def logits_of(model: Any, trace: Any, position: int) -> np.ndarray:
    """(V,) logits of a position: the pass's own where it kept them, else one row through norm and LM head.

    A single row can differ from the same row inside a block of many in its last bits (about 1e-5).
    """
    if any(position == made.end - 1 for made in trace.passes):
        return np.asarray(trace.logits_at(position))
    return np.asarray(trace.lens(model.shape.n_layers, [position])[0])


def dots(model: Any, normed: np.ndarray, logits: np.ndarray, token_ids: Sequence[int]) -> Dots:
    """The LM head's dot products for some tokens, from the normed vector (d,) and the position's logits
    (V,)."""
    ids = tuple(int(token_id) for token_id in token_ids)
    rows = model.lm_head_rows(ids)  # (n, d)
    sums = rows.astype(np.float64) @ normed.astype(np.float64)
    own = logits[list(ids)].astype(np.float64)
    made = head_steps(model).apply(sums, ids)
    return Dots(ids, rows, sums, own, float(np.abs(made - own).max()) if ids else 0.0)


def largest_products(normed: np.ndarray, row: np.ndarray, count: int) -> tuple[list[int], float]:
    """The ``count`` dimensions with the largest products n_i · w_i in size, and the sum of all the others."""
    products = normed.astype(np.float64) * row.astype(np.float64)
    order = [int(i) for i in np.argsort(-np.abs(products), kind="stable")[:count]]
    return order, float(products.sum() - products[order].sum())


def edges(logits: np.ndarray, count: int = EDGE_TOKENS) -> tuple[list[int], list[int]]:
    """Ids of the highest logits (highest first) and of the lowest (lowest first)."""
    count = min(count, logits.size)
    return [int(i) for i in top_ids(logits, count)], [int(i) for i in top_ids(-logits, count)]


def softmax_of(logits: np.ndarray, token_id: int) -> SoftmaxOf:
    """Softmax worked out for one token in double precision."""
    exact = logits.astype(np.float64)
    largest = float(exact.max())
    weights = np.exp(exact - largest)
    total = float(weights.sum())
    own = float(weights[token_id])
    return SoftmaxOf(float(exact[token_id]), largest, own, total, own / total)
