"""Cross-entropy over the whole vocabulary, piece by piece: loss, gradient, and a way out in between.

The LM head is the largest single product of a pass. It is cut along the vocabulary; the softmax's
denominator comes from all pieces, so loss and gradient are those of the undivided product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from core.engine.training.optimiser import row_pieces

PIECE_FLOPS = 5e8
"""Of one piece of the LM head: some ten milliseconds."""
PIECE_NUMBERS = 16_000_000
"""Weights read by one piece at most, however few vectors meet them."""
MIN_PIECE_ROWS = 256


class TableGradient:
    """The gradient of a (V, d) table that arrives in pieces: through the LM head, the lookup, or both.

    ``keep=False`` counts its size only: then just the looked-up rows are held. ``looked_up`` are their ids.
    """

    def __init__(self, table: torch.Tensor, looked_up: torch.Tensor, keep: bool) -> None:
        self.looked_up = looked_up.unique()
        self.full = torch.empty_like(table) if keep else None
        self._rows = table.new_zeros((len(self.looked_up), *table.shape[1:]))
        self._rest = 0.0

    def add(self, start: int, gradient: torch.Tensor) -> None:
        """The gradient of rows ``start``… through the LM head: each row once, before any looked-up row."""
        if self.full is not None:
            self.full[start : start + len(gradient)] = gradient
        mine = (self.looked_up >= start) & (self.looked_up < start + len(gradient))
        picked = gradient[self.looked_up[mine] - start]
        self._rows[mine] += picked
        self._rest += float(gradient.square().sum()) - float(picked.square().sum())

    def clear(self, between: Callable[[], object]) -> None:
        """Begin at zero, for a table that is no LM head and gets no rows through :meth:`add`."""
        for rows in row_pieces(self.full) if self.full is not None else ():
            self.full[rows] = 0  # type: ignore[index]
            between()

    def add_rows(self, gradient: torch.Tensor) -> None:
        """The gradient of the looked-up rows, in their order."""
        if self.full is not None:
            self.full.index_add_(0, self.looked_up, gradient)
        self._rows += gradient

    @property
    def squared(self) -> float:
        """Squared length of the whole gradient."""
        return max(0.0, self._rest) + float(self._rows.square().sum())


@dataclass(frozen=True)
class Linear:
    """The LM head: ``weight`` (V, d), ``bias`` (V,) or None, and what the family does to its logits."""

    weight: torch.Tensor
    bias: torch.Tensor | None
    adjusted: Callable[[torch.Tensor], torch.Tensor]

    def pieces(self, rows: int) -> list[slice]:
        """The vocabulary in pieces whose product with ``rows`` vectors costs about PIECE_FLOPS."""
        vocabulary, width = self.weight.shape
        step = min(PIECE_FLOPS / (2 * max(1, rows)), PIECE_NUMBERS) / width
        step = max(MIN_PIECE_ROWS, int(step))
        return [slice(start, min(vocabulary, start + step)) for start in range(0, vocabulary, step)]


def logits(hidden: torch.Tensor, head: Linear, between: Callable[[], object]) -> torch.Tensor:
    """(n, V) logits of normed vectors (n, d), without a graph."""
    made = []
    with torch.no_grad():
        for piece in head.pieces(len(hidden)):
            bias = None if head.bias is None else head.bias[piece]
            made.append(head.adjusted(F.linear(hidden, head.weight[piece], bias)))
            between()
    return torch.cat(made, dim=-1)


def loss(hidden: torch.Tensor, targets: torch.Tensor, head: Linear, between: Callable[[], object]) -> float:
    """Mean −ln p(target) in nats of normed vectors (n, d), without a graph."""
    out = logits(hidden, head, between)
    sizes = [piece.stop - piece.start for piece in head.pieces(len(hidden))]
    denominator = _denominator(out.split(sizes, dim=-1))
    return float((denominator - out.gather(-1, targets[:, None])[:, 0]).sum()) / len(targets)


def _denominator(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    """(n,) ln Σ exp over all pieces of the vocabulary: short sums first, which keeps more digits."""
    with torch.no_grad():
        return torch.stack([part.logsumexp(-1) for part in parts]).logsumexp(0)


def loss_and_gradient(
    hidden: torch.Tensor,
    targets: torch.Tensor,
    head: Linear,
    between: Callable[[], object],
    weight_gradient: TableGradient | None,
    bias_gradient: TableGradient | None,
) -> tuple[float, torch.Tensor]:
    """Mean −ln p(target), and its gradient for ``hidden`` (n, d); those of the head go where they are asked.

    ``hidden`` (n, d) normed vectors, ``targets`` (n,) ids.
    """
    leaf = hidden.detach().requires_grad_()
    parts = []
    for piece in head.pieces(len(leaf)):
        weight = head.weight.detach()[piece].requires_grad_(weight_gradient is not None)
        bias = None if head.bias is None else head.bias.detach()[piece]
        if bias is not None:
            bias.requires_grad_(bias_gradient is not None)
        parts.append((piece.start, weight, bias, head.adjusted(F.linear(leaf, weight, bias))))
        between()
    denominator = _denominator([out for *_, out in parts])
    total = 0.0
    while parts:  # each piece is let go of as soon as it is done
        start, weight, bias, out = parts.pop()
        total += _backward(start, out, targets, denominator)
        if weight_gradient is not None and weight.grad is not None:
            weight_gradient.add(start, weight.grad)
        if bias is not None and bias_gradient is not None and bias.grad is not None:
            bias_gradient.add(start, bias.grad)
        between()
    assert leaf.grad is not None
    return total / len(targets), leaf.grad


def _backward(start: int, out: torch.Tensor, targets: torch.Tensor, denominator: torch.Tensor) -> float:
    """Gradient of one piece of logits: (softmax − 1 at the target) / n. Returns its share of the loss · n."""
    with torch.no_grad():
        gradient = (out - denominator[:, None]).exp_()
        rows = ((targets >= start) & (targets < start + out.shape[1])).nonzero()[:, 0]
        columns = targets[rows] - start
        gradient[rows, columns] -= 1
        gradient /= len(targets)
        share = float((denominator[rows] - out[rows, columns]).sum())
    out.backward(gradient)
    return share
