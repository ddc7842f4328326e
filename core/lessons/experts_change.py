"""Another routing for the same text: experts forced or switched off, another k, and what that moves."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.engine.experiment import Experiment, ForcedExpert
from core.lessons.attention_experiment import Comparison, comparison

TOP_KS = (1, 2, 4, 8)
SCORED = 24
"""At most so many positions go into the mean KL."""


@dataclass(frozen=True)
class Forced:
    """At ``layer`` and ``position``, ``expert`` sits in the place of ``instead`` and gets its weight."""

    layer: int
    position: int
    instead: int
    expert: int


@dataclass(frozen=True)
class Change:
    """What is changed. ``off``: (layer, expert) pairs that add nothing, for every token."""

    off: frozenset[tuple[int, int]] = frozenset()
    forced: tuple[Forced, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.off or self.forced)

    def toggled(self, layer: int, expert: int) -> Change:
        """With this expert switched the other way."""
        return Change(self.off ^ {(layer, expert)}, self.forced)

    def with_forced(self, forced: Forced) -> Change:
        """With one choice replaced; a second one for the same place takes the first one's stead."""
        place = (forced.layer, forced.position)
        rest = tuple(f for f in self.forced if (f.layer, f.position) != place)
        return Change(self.off, (*rest, forced))

    def inside(self, layers: Sequence[int], n_experts: int, n_positions: int) -> Change:
        """Without places that this model or text does not have."""
        return Change(
            frozenset((layer, e) for layer, e in self.off if layer in layers and e < n_experts),
            tuple(
                f
                for f in self.forced
                if f.layer in layers and max(f.expert, f.instead) < n_experts and f.position < n_positions
            ),
        )


@dataclass(frozen=True)
class Moved:
    """The next token's chances before and after. ``kl``: KL(model ‖ experiment) in nats."""

    compared: Comparison
    kl: float


def kl_nats(logits_p: np.ndarray, logits_q: np.ndarray) -> float:
    """KL(p ‖ q) in nats of two (V,) vectors of logits, over the whole vocabulary, in double precision."""
    p, q = _log_softmax(logits_p), _log_softmax(logits_q)
    return max(0.0, float((np.exp(p) * (p - q)).sum()))


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits.astype(np.float64) - float(logits.max())
    return shifted - np.log(np.exp(shifted).sum())


def moved(model: Any, trace: Any, change: Change) -> Moved:
    """The whole text read again in one pass under ``change``. The run itself is not touched."""
    known = _MOVED.setdefault(trace.tip, {})
    if change not in known:
        made = model.prefill(trace.token_ids, experiment_of(trace, change))
        before = trace.tip.logits
        known[change] = Moved(comparison(before, made.logits), kl_nats(before, made.logits))
    return known[change]


def experiment_of(trace: Any, change: Change) -> Experiment:
    """The engine's experiment: the slot in which the replaced expert sits is looked up in the run."""
    routing = trace.routing()
    forced = []
    for f in change.forced:
        row = routing.indices[routing.layers.index(f.layer), f.position]
        slots = np.flatnonzero(row == f.instead)
        if len(slots):
            forced.append(ForcedExpert(f.layer, f.expert, int(slots[0]), f.position))
    return Experiment(experts_off=change.off, experts_forced=tuple(forced))


_MOVED: WeakKeyDictionary[Any, dict[Change, Moved]] = WeakKeyDictionary()


# -- another k -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TopK:
    """One row of the top-k table.

    ``used``: experts that the router really chose (a family may pick a fixed number). ``kl_next`` and
    ``kl_mean``: KL(own ‖ this k) in nats for the next token, and its mean over ``positions`` positions.
    ``active``: parameters that one token uses. ``step_s``: median seconds of one decode step.
    """

    k: int
    used: int
    own: bool
    kl_next: float
    kl_mean: float
    positions: int
    active: int
    step_s: float


def top_k_table(model: Any, trace: Any, rounds: int = 5) -> list[TopK]:
    """Every k of ``TOP_KS`` that the model can take, and its own, on this text. One warm-up step per k."""
    shape = model.shape
    own = shape.experts_per_token
    ks = sorted({k for k in (*TOP_KS, own) if k <= shape.n_experts})
    positions = sorted(
        {int(p) for p in np.linspace(0, trace.n_positions - 1, min(SCORED, trace.n_positions))}
    )
    tips = {k: model.prefill(trace.token_ids, Experiment(experts_per_token=k)) for k in ks}
    base = model.trace(tips[own]).lens(shape.n_layers, positions)  # (positions, V): the model's own logits
    seconds = step_seconds([(model, tips[k]) for k in ks], rounds)
    rows = []
    for k, step_s in zip(ks, seconds, strict=True):
        logits = model.trace(tips[k]).lens(shape.n_layers, positions)
        each = [kl_nats(p, q) for p, q in zip(base, logits, strict=True)]
        used = int(tips[k].routing.indices.shape[-1])
        rows.append(
            TopK(
                k, used, k == own, each[-1], float(np.mean(each)), len(each), active_with(model, used), step_s
            )
        )
    return rows


def step_seconds(tips: Sequence[tuple[Any, Any]], rounds: int = 5) -> list[float]:
    """Median seconds of a decode step after each (model, pass), in turn; the first round is dropped."""
    times: list[list[float]] = [[] for _ in tips]
    for _ in range(rounds + 1):
        for at, (model, tip) in enumerate(tips):
            times[at].append(model.step(tip, int(tip.token_ids[-1])).timing.total_s)
    return [statistics.median(each[1:]) for each in times]


def active_with(model: Any, k: int) -> int:
    """Parameters that one token uses when k experts are chosen, from the model's own tensors."""
    experts = sum(row.count for row in model.parameters() if row.role == "experts")
    rest = sum(row.active_count for row in model.parameters() if row.role != "experts")
    return rest + experts * k // max(1, model.shape.n_experts)
