"""Which neurons always run and which become one expert: by the energy they carry on the calibration text.

A neuron's energy for a token is (h_i |W_down_i|)^2, the squared size of what it adds to the residual stream.
Neurons that fire for the same tokens belong together: then choosing k experts keeps most of the energy.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from core.engine.moe_recipe.settings import FitSettings, SplitSettings

TINY = 1e-6
SETTLED = 0.995  # share of neurons that stay: below it another round pays
KMEANS_ROUNDS = 10
PROFILE_TOKENS = 2_048
TAKEN = -1e30


def energies(hidden: torch.Tensor, down: torch.Tensor) -> torch.Tensor:
    """(N, F) energy of each neuron, as a share of the token's squared FFN output. hidden (N, F), down (d,
    F).
    """
    size = F.linear(hidden, down).pow(2).sum(1, keepdim=True).clamp_min(TINY)
    return hidden.pow(2) * down.pow(2).sum(0) / size


def assign_balanced(gain: torch.Tensor, capacity: int) -> torch.Tensor:
    """Give each row of ``gain`` (n, E) to a column, at most ``capacity`` rows a column.

    Greedy by regret: rows that lose most by not getting their best column choose first; when a column is
    full, the regrets of the rest are worked out anew.
    """
    n, n_columns = gain.shape
    if capacity * n_columns < n:
        raise ValueError("the columns cannot hold all rows")
    open_gain = gain.clone()
    assigned = torch.full((n,), -1, dtype=torch.long)
    room = [capacity] * n_columns
    while bool((assigned < 0).any()):
        top, column = open_gain.topk(min(2, n_columns), 1)
        regret = top[:, 0] - top[:, -1]
        regret[assigned >= 0] = -torch.inf
        for row in regret.argsort(descending=True, stable=True).tolist():
            if assigned[row] >= 0:
                break
            best = int(column[row, 0])
            assigned[row] = best
            room[best] -= 1
            if room[best] == 0:
                open_gain[:, best] = TAKEN
                break
    return assigned


def _start(profile: torch.Tensor, n_experts: int, capacity: int, generator: torch.Generator) -> torch.Tensor:
    """Balanced k-means on the neurons' centred activation profiles (neurons, tokens)."""
    points = F.normalize(profile - profile.mean(0), dim=1)
    centres = points[torch.randperm(len(points), generator=generator)[:n_experts]]
    assigned = assign_balanced(points @ centres.T, capacity)
    for _ in range(KMEANS_ROUNDS):
        centres = F.normalize(torch.stack([points[assigned == e].mean(0) for e in range(n_experts)]), dim=1)
        assigned = assign_balanced(points @ centres.T, capacity)
    return assigned


class RidgeRouter:
    """Linear scores fitted in closed form: what a linear router could know about the energies."""

    def __init__(self, inputs: torch.Tensor, ridge: float) -> None:
        gram = inputs.T @ inputs
        gram += torch.eye(len(gram)) * gram.diagonal().mean() * ridge
        self.inputs, self.factor = inputs, torch.linalg.cholesky(gram)

    def weights(self, target: torch.Tensor) -> torch.Tensor:
        """(d, E) for targets (N, E)."""
        return torch.cholesky_solve(self.inputs.T @ target, self.factor)

    def scores(self, target: torch.Tensor) -> torch.Tensor:
        """(N, E) the fit's own values."""
        return self.inputs @ self.weights(target)


def neuron_order(
    energy: torch.Tensor, inputs: torch.Tensor, split: SplitSettings, fit: FitSettings, seed: int
) -> torch.Tensor:
    """(F,) neurons in new order: shared first, then the experts' blocks. energy (N, F), inputs (N, d).

    Alternates between choosing experts per token (in the second half with a linear router's scores, so
    that the
    clusters are ones a router can find) and giving each neuron to the expert where it is of most use.
    """
    generator = torch.Generator().manual_seed(seed)
    n_neurons, n_experts = energy.shape[1], split.n_experts
    is_shared = torch.zeros(n_neurons, dtype=torch.bool)
    is_shared[energy.mean(0).topk(split.shared).indices] = True
    rest = (~is_shared).nonzero().squeeze(1)
    if len(rest) % n_experts:
        raise ValueError("the neurons that are not shared must divide into equal experts")
    capacity = len(rest) // n_experts
    routed = energy[:, rest]
    assigned = _start(routed[:PROFILE_TOKENS].sqrt().T, n_experts, capacity, generator)
    router = RidgeRouter(inputs, fit.ridge)
    for turn in range(fit.cluster_rounds):
        captured = routed @ F.one_hot(assigned, n_experts).float()  # (N, E)
        late = turn >= fit.cluster_rounds // 2
        scores = router.scores(captured / captured.sum(1, keepdim=True).clamp_min(TINY)) if late else captured
        chosen = torch.zeros_like(captured).scatter(1, scores.topk(split.experts_per_token, -1).indices, 1.0)
        new = assign_balanced(routed.T @ chosen, capacity)
        settled = float((new == assigned).float().mean()) > SETTLED
        assigned = new
        if settled and late:
            break
    experts = [rest[assigned == e] for e in range(n_experts)]
    return torch.cat([is_shared.nonzero().squeeze(1), *experts])
