"""What the routers of a Mixture of Experts did with a text: choices, loads, and the rule behind the weights.

M layers with a router, T positions, E experts, k chosen per token. Sources: Shazeer et al. 2017 (sparsely
gated experts); Fedus et al. 2022 (Switch Transformer, load balance).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.engine.routing import Routing

RULES = ("renormalised", "as_is", "scaled", "own")
_CLOSE = 1e-4


@dataclass(frozen=True)
class Choices:
    """A text's routing and what follows from it. ``probabilities`` (M, T, E) as the router gave them."""

    routing: Routing
    probabilities: np.ndarray

    @property
    def layers(self) -> tuple[int, ...]:
        """The M layers that have a router."""
        return self.routing.layers

    @property
    def n_experts(self) -> int:
        """E."""
        return int(self.probabilities.shape[2])

    @property
    def n_positions(self) -> int:
        """T."""
        return int(self.probabilities.shape[1])

    def row(self, layer: int) -> int | None:
        """Where a layer stands among the M, ``None`` for a dense one."""
        return self.layers.index(layer) if layer in self.layers else None

    @cached_property
    def weight_rule(self) -> tuple[str, float]:
        """How weights follow from probabilities (one of ``RULES``), and the factor of ``scaled``.

        ``renormalised``: the chosen ones' probabilities divided by their sum. ``as_is``: the probabilities
        themselves, the rest is lost. ``scaled``: renormalised, then times a fixed factor. ``own``: neither.
        """
        chosen = np.take_along_axis(self.probabilities, self.routing.indices.astype(np.int64), axis=-1)
        shares = chosen / chosen.sum(axis=-1, keepdims=True)
        weights = self.routing.weights
        if np.abs(weights - shares).max() < _CLOSE:
            return "renormalised", 1.0
        if np.abs(weights - chosen).max() < _CLOSE:
            return "as_is", 1.0
        sums = weights.sum(axis=-1)
        factor = float(sums.mean())
        if np.abs(weights - shares * factor).max() < _CLOSE * factor:
            return "scaled", factor
        return "own", 1.0

    @cached_property
    def unused(self) -> float:
        """Mean share of the router's probability that goes to experts which were not chosen."""
        chosen = np.take_along_axis(self.probabilities, self.routing.indices.astype(np.int64), axis=-1)
        total = self.probabilities.sum(axis=-1)
        return float(1 - (chosen.sum(axis=-1) / total).mean())


def choices_of(trace: Any) -> Choices | None:
    """The routing of a run, kept with its last pass; ``None`` for a dense model."""
    known = _KNOWN.get(trace.tip)
    if known is None:
        routing = trace.routing()
        if routing is None:
            return None
        known = _KNOWN[trace.tip] = Choices(routing, routing.probabilities)
    return known


_KNOWN: WeakKeyDictionary[Any, Choices] = WeakKeyDictionary()


@dataclass(frozen=True)
class Cell:
    """One token at one layer, the likeliest expert first.

    Attributes:
        order: (E,) experts by falling probability. probabilities: (E,) in that order.
        chosen: (k,) experts and their weights, the heaviest first.
        runner_up: the likeliest expert that was not chosen, ``None`` when all are.
    """

    order: tuple[int, ...]
    probabilities: tuple[float, ...]
    chosen: tuple[tuple[int, float], ...]
    runner_up: int | None
    shared_gate: float | None

    def probability(self, expert: int) -> float:
        """The router's probability of one expert."""
        return self.probabilities[self.order.index(expert)]


def cell(found: Choices, layer: int, position: int) -> Cell | None:
    """The router's word on one token at one layer; ``None`` at a dense layer."""
    at = found.row(layer)
    if at is None:
        return None
    scores = found.probabilities[at, position]
    order = tuple(int(e) for e in np.argsort(-scores, kind="stable"))
    pairs = zip(found.routing.indices[at, position], found.routing.weights[at, position], strict=True)
    chosen = tuple(sorted(((int(e), float(w)) for e, w in pairs), key=lambda pair: -pair[1]))
    taken = {expert for expert, _ in chosen}
    gate = found.routing.shared_gate
    return Cell(
        order=order,
        probabilities=tuple(float(scores[e]) for e in order),
        chosen=chosen,
        runner_up=next((e for e in order if e not in taken), None),
        shared_gate=None if gate is None else float(gate[at, position]),
    )


# -- load ----------------------------------------------------------------------------------------------


def load(found: Choices, start: int = 0, end: int | None = None) -> np.ndarray:
    """(M, E) share of all choices in positions ``[start, end)`` that fell on each expert; rows sum to 1.

    Uniform would be 1/E everywhere. An expert whose weight an experiment set to zero still counts as chosen.
    """
    indices = found.routing.indices[:, start:end]  # (M, t, k)
    rows = indices.reshape(len(found.layers), -1)
    counts = np.stack([np.bincount(row, minlength=found.n_experts) for row in rows])
    return counts / np.maximum(1, counts.sum(axis=1, keepdims=True))


def load_evenness(shares: np.ndarray) -> np.ndarray:
    """(M,) entropy of each layer's load over its highest possible value: 1 is perfectly even."""
    logs = np.log(np.where(shares > 0, shares, 1.0))
    return -(shares * logs).sum(axis=1) / np.log(shares.shape[1])


# -- one expert, two contexts --------------------------------------------------------------------------


def taken_by(found: Choices, layer: int, expert: int) -> np.ndarray:
    """(T,) the weight with which ``expert`` of ``layer`` took each token; 0 where it was not chosen."""
    at = found.row(layer)
    if at is None:
        return np.zeros(found.n_positions, dtype=np.float32)
    hits = found.routing.indices[at] == expert  # (T, k)
    weights: np.ndarray = (found.routing.weights[at] * hits).sum(axis=-1)
    return weights


def shared_tokens(left: tuple[int, ...], right: tuple[int, ...]) -> list[tuple[int, int]]:
    """(position in left, position in right) of tokens that stand in both texts, the last occurrence of each.

    In the order of the left text.
    """
    last = {token: at for at, token in enumerate(right)}
    pairs = {token: (at, last[token]) for at, token in enumerate(left) if token in last}
    return sorted(pairs.values())


def agreement(a: Choices, at: int, b: Choices, other: int) -> float:
    """Mean share of chosen experts that two tokens have in common, over the layers."""
    k = a.routing.indices.shape[-1]
    pairs = zip(a.routing.indices[:, at], b.routing.indices[:, other], strict=True)
    return float(np.mean([len(set(x.tolist()) & set(y.tolist())) / k for x, y in pairs]))


# -- other texts ---------------------------------------------------------------------------------------

KEPT_TEXTS = 8


def choices_of_text(model: Any, token_ids: tuple[int, ...]) -> Choices:
    """The routing of a text beside the run, read in one pass; the last few are kept with the model."""
    known = _TEXTS.setdefault(model, {})
    if token_ids not in known:
        routing = model.trace(model.prefill(token_ids)).routing()
        while len(known) >= KEPT_TEXTS:
            known.pop(next(iter(known)))
        known[token_ids] = Choices(routing, routing.probabilities)
    return known[token_ids]


_TEXTS: WeakKeyDictionary[Any, dict[tuple[int, ...], Choices]] = WeakKeyDictionary()


# -- check ---------------------------------------------------------------------------------------------


def router_error(model: Any, trace: Any, found: Choices, layer: int) -> float:
    """Largest difference between the shown logits and router weight · normed vector (+ bias)."""
    at = found.row(layer)
    assert at is not None, "only for layers with a router"
    known = _ERRORS.setdefault(trace.tip, {})
    if layer not in known:
        x = trace.layer(layer).mlp_norm.astype(np.float64)  # (T, d)
        logits = np.zeros((found.n_positions, found.n_experts))
        for row in router_rows(model, layer):
            tensor = model.weight(layer, row.name.split(f".{layer}.", 1)[1]).astype(np.float64)
            logits += x @ tensor.T if tensor.ndim == 2 else tensor
        known[layer] = float(np.abs(logits - found.routing.logits[at]).max())
    return known[layer]


def router_rows(model: Any, layer: int) -> list[Any]:
    """The parameter rows of a layer's router: weight (E, d), and bias (E,) in families that have one."""
    return [row for row in layer_rows(model, layer, "router") if row.shape[0] == model.shape.n_experts]


def layer_rows(model: Any, layer: int, role: str) -> list[Any]:
    """The parameter rows of one part of one layer; the model's list is made once."""
    if model not in _ROWS:
        _ROWS[model] = model.parameters()
    return [row for row in _ROWS[model] if row.role == role and row.layer == layer]


_ROWS: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()
_ERRORS: WeakKeyDictionary[Any, dict[int, float]] = WeakKeyDictionary()
