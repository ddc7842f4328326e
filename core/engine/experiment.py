"""Changing a model for one pass: parts switched off, experts forced. The weights are never touched.

An :class:`Experiment` travels with the passes that were made under it, so that a run, its steps and its
replays all see the same changed model, and so that the screen can badge them as an experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import torch

from core.engine.roles import BlockRoles, ModelRoles

Head = tuple[int, int]  # (layer, head)


@dataclass(frozen=True)
class ForcedExpert:
    """At ``layer``, for ``position`` (``None``: every position), use ``expert`` in slot ``slot``.

    The slot's weight stays as the router gave it: only the choice changes.
    """

    layer: int
    expert: int
    slot: int = 0
    position: int | None = None


@dataclass(frozen=True)
class Experiment:
    """What is switched off or forced. Everything is empty by default: the model as it is.

    Attributes:
        heads_off: (layer, head) pairs whose output is set to zero before W_O.
        attention_off: layers whose attention adds nothing to the residual stream.
        mlp_off: layers whose feed-forward part (or experts) adds nothing.
        layers_off: layers that pass their input through unchanged.
        neurons_off: (layer, neuron) pairs of dense feed-forward parts set to zero after the activation.
        experts_off: (layer, expert) pairs whose weight is set to zero; the others keep theirs.
        experts_forced: other choices than the router's.
        experts_per_token: use this k instead of the model's own (``None``: the model's own).
    """

    heads_off: frozenset[Head] = frozenset()
    attention_off: frozenset[int] = frozenset()
    mlp_off: frozenset[int] = frozenset()
    layers_off: frozenset[int] = frozenset()
    neurons_off: frozenset[tuple[int, int]] = frozenset()
    experts_off: frozenset[tuple[int, int]] = frozenset()
    experts_forced: tuple[ForcedExpert, ...] = field(default=())
    experts_per_token: int | None = None

    @cached_property
    def neurons_by_layer(self) -> dict[int, list[int]]:
        """``neurons_off`` by layer: there may be tens of thousands, and every block asks for its own."""
        found: dict[int, list[int]] = {}
        for layer, neuron in self.neurons_off:
            found.setdefault(layer, []).append(neuron)
        return found

    def is_empty(self) -> bool:
        """True when nothing is changed."""
        return all(not getattr(self, f.name) for f in fields(self))


@contextmanager
def applied(experiment: Experiment | None, roles: ModelRoles, n_heads: int, start: int) -> Iterator[None]:
    """Hooks for ``experiment`` while one pass over positions ``start…`` runs."""
    if experiment is None or experiment.is_empty():
        yield
        return
    with ExitStack() as stack:
        for layer, block in enumerate(roles.blocks):
            for handle in _block_hooks(experiment, layer, block, n_heads, start):
                stack.callback(handle.remove)
        if experiment.experts_per_token is not None:
            stack.enter_context(_top_k(roles, experiment.experts_per_token))
        yield


def _block_hooks(
    experiment: Experiment, layer: int, block: BlockRoles, n_heads: int, start: int
) -> list[Any]:
    handles: list[Any] = []
    heads = [head for at, head in experiment.heads_off if at == layer]
    if heads:
        handles.append(block.out_proj.register_forward_pre_hook(_zero_heads(heads, n_heads)))
    if layer in experiment.attention_off:
        handles.append(block.attention.register_forward_hook(_zero_output))
    if layer in experiment.mlp_off:
        handles.append(block.mlp.register_forward_hook(_zero_output))
    if layer in experiment.layers_off:
        handles.append(block.block.register_forward_hook(_pass_through, with_kwargs=True))
    neurons = experiment.neurons_by_layer.get(layer)
    if neurons and block.down_proj is not None:
        handles.append(block.down_proj.register_forward_pre_hook(_zero_columns(neurons)))
    if block.router is not None:
        off = [expert for at, expert in experiment.experts_off if at == layer]
        forced = [f for f in experiment.experts_forced if f.layer == layer]
        if off or forced:
            handles.append(block.router.register_forward_hook(_reroute(off, forced, start)))
    return handles


def _zero_heads(heads: list[int], n_heads: int) -> Callable[..., Any]:
    def hook(_module: Any, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        joined = args[0].clone()  # (B, T, H·hd): the heads' outputs side by side
        per_head = joined.view(*joined.shape[:-1], n_heads, -1)
        per_head[..., heads, :] = 0
        return (joined, *args[1:])

    return hook


def _zero_columns(neurons: list[int]) -> Callable[..., Any]:
    def hook(_module: Any, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        act = args[0].clone()  # (B, T, F)
        act[..., neurons] = 0
        return (act, *args[1:])

    return hook


def _zero_output(_module: Any, _args: Any, output: Any) -> Any:
    if isinstance(output, tuple):
        return (torch.zeros_like(output[0]), *output[1:])
    return torch.zeros_like(output)


def _pass_through(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
    hidden = args[0] if args else kwargs["hidden_states"]
    return (hidden, *output[1:]) if isinstance(output, tuple) else hidden


def _reroute(off: list[int], forced: list[ForcedExpert], start: int) -> Callable[..., Any]:
    def hook(_module: Any, _args: Any, output: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        logits, weights, indices = output[:3]
        weights, indices = weights.clone(), indices.clone()  # (T, k)
        for choice in forced:
            rows = slice(None) if choice.position is None else _row(choice.position - start, len(indices))
            indices[rows, choice.slot] = choice.expert
        for expert in off:
            weights[indices == expert] = 0
        return (logits, weights, indices, *output[3:])

    return hook


def _row(row: int, n_rows: int) -> slice:
    """The row of a position within this pass, or an empty slice when it lies outside."""
    return slice(row, row + 1) if 0 <= row < n_rows else slice(0, 0)


@contextmanager
def _top_k(roles: ModelRoles, k: int) -> Iterator[None]:
    """Set every router's ``top_k`` for the duration of a pass; the scheduler keeps others out meanwhile."""
    routers: list[Any] = [block.router for block in roles.blocks if block.router is not None]
    before = [router.top_k for router in routers]
    try:
        for router in routers:
            router.top_k = min(k, router.num_experts)
        yield
    finally:
        for router, value in zip(routers, before, strict=True):
            router.top_k = value
