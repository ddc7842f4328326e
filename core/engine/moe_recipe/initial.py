"""The untrained split of a whole model: capture FFN inputs, cluster each layer, fit its router."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from core.engine.moe_recipe.clustering import energies, neuron_order
from core.engine.moe_recipe.router_fit import fit_router, output_gram
from core.engine.moe_recipe.settings import FitSettings, RecipeSettings, SplitSettings
from core.engine.moe_recipe.student import LayerState, SplitState, fresh_layer

Log = Callable[[str], None]
ROWS_AT_A_TIME = 8


@torch.no_grad()
def ffn_inputs(model: Any, rows: torch.Tensor, n_tokens: int, seed: int) -> list[torch.Tensor]:
    """Per layer (n_tokens, d): what its FFN was given, at the same random positions of ``rows`` (n, T)."""
    total = rows.numel()
    generator = torch.Generator().manual_seed(seed)
    keep = torch.zeros(total, dtype=torch.bool)
    keep[torch.randperm(total, generator=generator)[:n_tokens]] = True
    captured: list[list[torch.Tensor]] = [[] for _ in model.model.layers]
    wanted = keep  # the part of the mask for the rows that are running

    def watch(i: int) -> Callable[[Any, tuple[torch.Tensor, ...]], None]:
        def hook(_: Any, args: tuple[torch.Tensor, ...]) -> None:
            captured[i].append(args[0].reshape(-1, args[0].shape[-1])[wanted].clone())

        return hook

    handles = [layer.mlp.register_forward_pre_hook(watch(i)) for i, layer in enumerate(model.model.layers)]
    try:
        for start in range(0, len(rows), ROWS_AT_A_TIME):
            ids = rows[start : start + ROWS_AT_A_TIME]
            wanted = keep[start * rows.shape[1] : start * rows.shape[1] + ids.numel()]
            model.model(ids, use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    return [torch.cat(parts) for parts in captured]


@torch.no_grad()
def _hidden(mlp: Any, inputs: torch.Tensor) -> torch.Tensor:
    return F.silu(F.linear(inputs, mlp.gate_proj.weight)) * F.linear(inputs, mlp.up_proj.weight)


def split_layer(
    mlp: Any, inputs: torch.Tensor, split: SplitSettings, fit: FitSettings, seed: int
) -> tuple[LayerState, float]:
    """One layer's state before distillation, and the share of its output that is lost."""
    down = mlp.down_proj.weight.data
    hidden = _hidden(mlp, inputs)
    few = slice(0, fit.cluster_tokens)
    order = neuron_order(energies(hidden[few], down), inputs[few], split, fit, seed)
    fitted = fit_router(inputs, output_gram(hidden, down, order, split), split, fit, seed)
    router = fitted.router * fit.router_gain
    state = fresh_layer(order, router, fitted.expert_scale, inputs.shape[1], split.lora_rank, seed)
    return state, fitted.lost


def initial_state(model: Any, rows: torch.Tensor, settings: RecipeSettings, log: Log = print) -> SplitState:
    """Split every layer that is not in ``dense_layers``; calibrates on ``rows`` (n, T)."""
    fit, split = settings.fit, settings.split
    needed = -(-fit.calibration_tokens // rows.shape[1])
    inputs = ffn_inputs(model, rows[: 2 * needed], fit.calibration_tokens, settings.seed)
    layers: dict[int, LayerState] = {}
    for i, layer in enumerate(model.model.layers):
        if i in split.dense_layers:
            continue
        layers[i], lost = split_layer(layer.mlp, inputs[i], split, fit, settings.seed + i)
        log(f"layer {i}: split, {lost:.1%} of the FFN's output lost before training")
    norms = torch.ones(2 * len(model.model.layers) + 1, model.config.hidden_size)
    return SplitState(split, layers, norms)
