"""Dense beside Mixture of Experts: parameters stored and used, bytes, FLOPs, two answers to one prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from core.engine.catalogue import CATALOGUE, find
from core.errors import UserError
from core.lessons.attention_experiment import Comparison, comparison
from core.lessons.calculators import from_shape, measured_parts
from core.lessons.costs import WEIGHT_BYTES, weight_bytes
from core.lessons.costs_compute import decode_flops
from core.lessons.experts_change import kl_nats, step_seconds

COST_NAMES = {
    "embedding": "embeddings",
    "position": "positions",
    "norm": "norms",
    "shared_expert": "shared_experts",
    "other": "norms",
}
"""Roles of real tensors under the names that the cost charts colour."""


@dataclass(frozen=True)
class Counts:
    """Parameters of one loaded model, summed over its own tensors, tied weights once.

    Attributes:
        parts: (role, stored, used by one token, bytes as loaded).
        total: all stored. active: used by one token, the embedding table counted in full.
        active_without: the same without the input table, where it is a matrix of its own; a tied table is
            also the LM head, so it stays.
    """

    name: str
    parts: tuple[tuple[str, int, int, int], ...]
    total: int
    active: int
    active_without: int
    tied: bool

    def bytes_as(self) -> Mapping[str, float]:
        """Bytes of all stored weights per type of number."""
        return {dtype: weight_bytes(self.total, dtype) for dtype in WEIGHT_BYTES}


def counts(model: Any) -> Counts:
    """Count a loaded model."""
    rows = model.parameters()
    parts = measured_parts(rows)
    return Counts(
        name=model.name,
        parts=tuple((p.role, p.count, p.active, p.n_bytes) for p in parts),
        total=sum(p.count for p in parts),
        active=sum(p.active for p in parts),
        active_without=sum(row.active_count for row in rows),
        tied=model.shape.tied_embeddings,
    )


def flops(model: Any, context: int) -> dict[str, int] | None:
    """FLOPs of one decode step at ``context`` tokens, by part; ``None`` for a shape that is not known."""
    shape = from_shape(model.shape, model.name)
    return None if shape is None else decode_flops(shape, context).as_dict()


def partner_of(name: str) -> str | None:
    """The model to hold beside this one: what it was made from, or what was made from it."""
    try:
        made_from = find(name).made_from
    except UserError:
        return None
    if made_from:
        return made_from
    return next((spec.name for spec in CATALOGUE if spec.made_from == name), None)


@dataclass(frozen=True)
class SideBySide:
    """Two models on one text. ``kl``: KL(dense ‖ MoE) of the next token in nats. ``same_tokens``: both
    tokenizers give the same ids."""

    compared: Comparison
    kl: float
    same_tokens: bool


def side_by_side(dense: Any, moe: Any, trace: Any) -> SideBySide:
    """The next token's chances from both, for the text of ``trace`` (of either model), each in one pass."""
    tips = both_tips(dense, moe, trace)
    text = dense.codec.decode(list(trace.token_ids))
    same = dense.codec.encode(text) == moe.codec.encode(text)
    logits = [tip.logits for tip in tips]
    return SideBySide(comparison(*logits), kl_nats(*logits), same)


def both_tips(dense: Any, moe: Any, trace: Any) -> tuple[Any, Any]:
    """Both models' passes over the text of ``trace``; kept with its last pass."""
    known = _TIPS.setdefault(trace.tip, {})
    for model in (dense, moe):
        if model.name not in known:
            known[model.name] = model.prefill(trace.token_ids)
    return known[dense.name], known[moe.name]


def step_times(dense: Any, moe: Any, trace: Any, rounds: int = 7) -> Sequence[float]:
    """Median seconds of one decode step, dense then MoE, measured in turn on this machine now."""
    first, second = both_tips(dense, moe, trace)
    return step_seconds([(dense, first), (moe, second)], rounds)


_TIPS: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
