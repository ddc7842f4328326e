"""Move the strongest neurons of every expert into the shared part.

A cheap way to buy quality with a few more active parameters: the neurons that carry most energy matter for
nearly every token, so each of them helps more when it always runs. Routers stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from core.engine.moe_recipe.student import LayerState, SplitFFN, SplitState, split_layers

ROWS_AT_A_TIME = 8


@torch.no_grad()
def neuron_energies(student: Any, rows: torch.Tensor) -> dict[int, torch.Tensor]:
    """Mean of (h_i |W_down_i|)^2 over the tokens of ``rows`` (n, T), per layer (F,) in the layer's own
    order.
    """
    layers = split_layers(student)
    sums = {i: torch.zeros(len(layer.order)) for i, layer in layers.items()}

    def watch(i: int, layer: SplitFFN) -> Any:
        def hook(_: Any, args: tuple[torch.Tensor, ...]) -> None:
            x = args[0].reshape(-1, args[0].shape[-1])
            ag, au = x @ layer.a["g"].T, x @ layer.a["u"].T
            h = layer._hidden(x, ag, au, slice(0, len(layer.order)))
            sums[i] += h.pow(2).sum(0) * layer.down.pow(2).sum(0)

        return layer.register_forward_pre_hook(hook)

    handles = [watch(i, layer) for i, layer in layers.items()]
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        student.model(rows[start : start + ROWS_AT_A_TIME], use_cache=False)
    for handle in handles:
        handle.remove()
    return {i: total / rows.numel() for i, total in sums.items()}


def promote(state: SplitState, energies: dict[int, torch.Tensor], per_expert: int) -> SplitState:
    """The state with ``per_expert`` neurons of each expert moved to the shared part."""
    split = state.split
    wider = replace(split, shared=split.shared + per_expert * split.n_experts)
    layers = {}
    for i, layer in state.layers.items():
        layers[i] = _reordered(layer, _new_places(energies[i], split.shared, split.n_experts, per_expert))
    return SplitState(wider, layers, state.norms)


def _new_places(energy: torch.Tensor, shared: int, n_experts: int, per_expert: int) -> torch.Tensor:
    """(F,) old places in new order: shared, promoted, then what is left of each expert."""
    size = (len(energy) - shared) // n_experts
    promoted, left = [], []
    for e in range(n_experts):
        places = torch.arange(shared + e * size, shared + (e + 1) * size)
        strongest = energy[places].argsort(descending=True, stable=True)[:per_expert]
        chosen = torch.zeros(size, dtype=torch.bool)
        chosen[strongest] = True
        promoted.append(places[chosen])
        left.append(places[~chosen])
    return torch.cat([torch.arange(shared), *promoted, *left])


def _reordered(layer: LayerState, places: torch.Tensor) -> LayerState:
    a = {**layer.a, "d": layer.a["d"][:, places].contiguous()}
    b = {n: (t if n == "d" else t[places].contiguous()) for n, t in layer.b.items()}
    return replace(layer, order=layer.order[places], a=a, b=b)
