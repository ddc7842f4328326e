"""What the routers of a Mixture of Experts said and chose, noted while a pass runs.

M layers with a router, n positions (T once passes are joined), E experts, k chosen per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from core.engine.roles import ModelRoles


@dataclass(frozen=True)
class Routing:
    """The routers' numbers, as the experts got them. Float32 unless said.

    Attributes:
        layers: the M layers that have a router, in order.
        scoring: how the family turns logits into scores.
        logits: (M, n, E).
        indices: (M, n, k) chosen experts, int32, in the order of the model's own list.
        weights: (M, n, k) their weights; they need not sum to 1.
        shared_gate: (M, n) the factor on the always-on expert, or ``None`` where nothing multiplies it.
    """

    layers: tuple[int, ...]
    scoring: Literal["softmax", "sigmoid"]
    logits: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    shared_gate: np.ndarray | None

    @property
    def probabilities(self) -> np.ndarray:
        """(M, n, E) scores of all experts: a softmax over them, or each one's own sigmoid."""
        if self.scoring == "sigmoid":
            return (1 / (1 + np.exp(-self.logits.astype(np.float64)))).astype(np.float32)
        powers = np.exp(self.logits - self.logits.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)


class RoutingWatch:
    """Hooks on every router, and on the gates of shared experts, while one pass runs."""

    def __init__(self, roles: ModelRoles) -> None:
        self._blocks = [(at, block) for at, block in enumerate(roles.blocks) if block.router is not None]
        self._outputs: list[tuple[torch.Tensor, ...]] = []
        self._gates: list[torch.Tensor] = []
        self._handles: list[Any] = []

    def __enter__(self) -> RoutingWatch:
        for _, block in self._blocks:
            assert block.router is not None
            self._handles.append(block.router.register_forward_hook(self._on_router))
            if block.shared_gate is not None:
                self._handles.append(block.shared_gate.register_forward_hook(self._on_gate))
        return self

    def __exit__(self, *_exc: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _on_router(self, _module: Any, _args: Any, output: tuple[torch.Tensor, ...]) -> None:
        self._outputs.append(output[:3])

    def _on_gate(self, _module: Any, _args: Any, output: torch.Tensor) -> None:
        self._gates.append(output)

    def seen(self) -> Routing | None:
        """What was noted, ``None`` for a model without routers."""
        if not self._blocks:
            return None
        logits, weights, indices = (
            torch.stack([out[i].reshape(-1, out[i].shape[-1]) for out in self._outputs]) for i in range(3)
        )
        gates = [torch.sigmoid(gate.float()).reshape(-1) for gate in self._gates]
        return Routing(
            layers=tuple(at for at, _ in self._blocks),
            scoring="sigmoid" if hasattr(self._blocks[0][1].router, "e_score_correction_bias") else "softmax",
            logits=logits.float().numpy(),
            indices=indices.to(torch.int32).numpy(),
            weights=weights.float().numpy(),
            shared_gate=torch.stack(gates).numpy() if gates else None,
        )


def joined(parts: Sequence[Routing | None]) -> Routing | None:
    """The routing of several passes as one sequence; ``None`` when there are no routers."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    gates = [part.shared_gate for part in known if part.shared_gate is not None]
    return Routing(
        layers=known[0].layers,
        scoring=known[0].scoring,
        logits=np.concatenate([part.logits for part in known], axis=1),
        indices=np.concatenate([part.indices for part in known], axis=1),
        weights=np.concatenate([part.weights for part in known], axis=1),
        shared_gate=np.concatenate(gates, axis=1) if gates else None,
    )
