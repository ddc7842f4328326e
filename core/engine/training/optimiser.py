"""SGD and AdamW by their formulas, on pieces of weights, so that a step can be interrupted between them.

SGD: w ← w − lr · g. AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101, with the defaults of torch)::

    m ← β₁m + (1 − β₁)g        v ← β₂v + (1 − β₂)g²
    w ← w − lr · λ · w − lr · m̂ / (√v̂ + ε)     with m̂ = m / (1 − β₁ᵗ), v̂ = v / (1 − β₂ᵗ)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal, get_args

import torch

from core.engine.measure import never

Kind = Literal["sgd", "adamw"]
KINDS: tuple[Kind, ...] = get_args(Kind)

BETA1, BETA2, EPSILON, WEIGHT_DECAY = 0.9, 0.999, 1e-8, 0.01
PIECE_NUMBERS = 2_000_000
"""Weights moved at once: a few milliseconds of memory traffic."""


def extra_tensors(kind: Kind) -> int:
    """How many tensors of the weights' size the optimiser keeps."""
    return 2 if kind == "adamw" else 0


def row_pieces(tensor: torch.Tensor) -> Iterator[slice]:
    """Slices of the first dimension that hold about PIECE_NUMBERS values each."""
    rows = tensor.shape[0]
    step = max(1, PIECE_NUMBERS * rows // max(1, tensor.numel()))
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))


class Optimiser:
    """Moves tensors along their gradients. ``between`` is called after each piece (to give a turn away)."""

    def __init__(self, kind: Kind, lr: float, between: Callable[[], object] = never) -> None:
        self.kind = kind
        self.lr = lr
        self._between = between
        self._moments: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._steps = 0

    @torch.no_grad()
    def step(self, weights: dict[str, torch.Tensor], gradients: dict[str, torch.Tensor]) -> None:
        """One step in place, for the tensors that have a gradient."""
        self._steps += 1
        for name, gradient in gradients.items():
            weight = weights[name]
            if self.kind == "adamw" and name not in self._moments:
                self._moments[name] = (torch.empty_like(weight), torch.empty_like(weight))
            for rows in row_pieces(weight):
                self._move(name, weight[rows], gradient[rows], rows)
                self._between()

    def _move(self, name: str, weight: torch.Tensor, gradient: torch.Tensor, rows: slice) -> None:
        if self.kind == "sgd":
            weight.add_(gradient, alpha=-self.lr)
            return
        first, second = (moment[rows] for moment in self._moments[name])
        if self._steps == 1:  # they start from zero; filling whole tensors with it would hold others up
            first.zero_()
            second.zero_()
        first.lerp_(gradient, 1 - BETA1)
        second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        weight.mul_(1 - self.lr * WEIGHT_DECAY)
        root = second.sqrt().div_(math.sqrt(1 - BETA2**self._steps)).add_(EPSILON)
        weight.addcdiv_(first, root, value=-self.lr / (1 - BETA1**self._steps))
