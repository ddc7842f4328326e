"""The first router of a layer: ridge regression on log energies, then Adam on the layer's own output
error.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from core.engine.moe_recipe.clustering import TINY, RidgeRouter
from core.engine.moe_recipe.settings import FitSettings, SplitSettings

LOG_FLOOR = 1e-3
START_GAIN = 0.5
ENERGY_WEIGHT = 0.1
BALANCE_WEIGHT = 0.01
ROUTER_RATE = 9e-3  # times the mean |R|
SCALE_RATE = 1e-2
CHUNK = 2_048


@dataclass(frozen=True)
class RouterFit:
    """The fitted router and the share of the FFN's output it loses (mean squared, 0 = nothing)."""

    router: torch.Tensor  # (E, d)
    expert_scale: torch.Tensor  # (E,)
    lost: float


def output_gram(
    hidden: torch.Tensor, down: torch.Tensor, order: torch.Tensor, split: SplitSettings
) -> torch.Tensor:
    """(N, E, E) inner products of the experts' outputs, as shares of the token's squared FFN output.

    With it the error of any weighting of the experts is a quadratic form; outputs need not be kept.
    """
    size = (len(order) - split.shared) // split.n_experts
    blocks = [order[split.shared + e * size : split.shared + (e + 1) * size] for e in range(split.n_experts)]
    parts = []
    for start in range(0, len(hidden), CHUNK):
        h = hidden[start : start + CHUNK]
        outputs = torch.stack([F.linear(h[:, b], down[:, b]) for b in blocks], 1)  # (n, E, d)
        whole = F.linear(h, down).pow(2).sum(1).clamp_min(TINY)
        parts.append(outputs @ outputs.mT / whole[:, None, None])
    return torch.cat(parts)


def gate_weights(logits: torch.Tensor, scale: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(N, E) weights (zero where not chosen) and (N, k) choices: k * softmax over the chosen, times the
    scale.
    """
    top, chosen = logits.topk(k, -1)
    weight = top.softmax(-1) * k * scale[chosen]
    return torch.zeros_like(logits).scatter(1, chosen, weight), chosen


def _lost(gram: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    missing = 1 - weight
    return torch.einsum("ne,nef,nf->n", missing, gram, missing).mean()


def fit_router(
    inputs: torch.Tensor, gram: torch.Tensor, split: SplitSettings, fit: FitSettings, seed: int
) -> RouterFit:
    """Fit one layer's router on inputs (N, d) and the experts' Gram matrices (N, E, E)."""
    generator = torch.Generator().manual_seed(seed)
    energy = gram.diagonal(dim1=1, dim2=2)
    target = energy / energy.sum(1, keepdim=True).clamp_min(TINY)
    logs = (target + LOG_FLOOR).log()
    centred = logs - logs.mean(1, keepdim=True)
    router = (
        (RidgeRouter(inputs, fit.ridge).weights(centred).T * START_GAIN).contiguous().requires_grad_(True)
    )
    scale = torch.ones(split.n_experts, requires_grad=True)
    rate = ROUTER_RATE * float(router.detach().abs().mean())
    optimiser = torch.optim.Adam([{"params": [router], "lr": rate}, {"params": [scale], "lr": SCALE_RATE}])
    for _ in range(fit.router_steps):
        i = torch.randint(0, len(inputs), (min(fit.router_batch, len(inputs)),), generator=generator)
        logits = inputs[i] @ router.T
        weight, chosen = gate_weights(logits, scale, split.experts_per_token)
        cross = -(target[i] * logits.log_softmax(-1)).sum(1).mean()
        share = torch.bincount(chosen.reshape(-1), minlength=split.n_experts).float() / chosen.numel()
        balance = split.n_experts * (share * logits.softmax(-1).mean(0)).sum()
        loss = _lost(gram[i], weight) + ENERGY_WEIGHT * cross + BALANCE_WEIGHT * balance
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        weight, _ = gate_weights(inputs @ router.T, scale, split.experts_per_token)
        lost = float(_lost(gram, weight))
    return RouterFit(router.detach(), scale.detach(), lost)
