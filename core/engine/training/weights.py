"""A learner's own model: tensors that will be trained are its own, all others are shared with the original.

The shared ones are wrapped, not used: a gradient that lands on a wrapper never reaches the original. Nothing
here writes to a shared tensor.
"""

from __future__ import annotations

import copy
from collections import Counter, OrderedDict
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import nn

from core.engine.model import LoadedModel

Scope = Literal["head", "last_block", "all"]
"""Which weights a step moves."""
SCOPES: tuple[Scope, ...] = get_args(Scope)

OUTSIDE = ""
"""The part of weights that lie in no block is their own name; this is their column in a picture by part."""


@dataclass(frozen=True)
class Place:
    """One weight tensor: ``layer`` is None outside the blocks, ``part`` its short name inside its block."""

    name: str
    layer: int | None
    part: str
    shape: tuple[int, ...]
    count: int


def places(model: LoadedModel) -> list[Place]:
    """Every weight tensor once (tied ones too), in the model's own order."""
    found: dict[int, tuple[int, str]] = {}
    for layer, role in enumerate(model.roles.blocks):
        inside = dict(role.block.named_parameters())
        short = _short_names(list(inside))
        found |= {id(parameter): (layer, short[name]) for name, parameter in inside.items()}
    rows = []
    for name, parameter in model.hf_model.named_parameters():
        layer, part = found.get(id(parameter), (None, OUTSIDE))  # type: ignore[assignment]
        rows.append(Place(name, layer, part or _path(name), tuple(parameter.shape), int(parameter.numel())))
    return rows


def _path(name: str) -> str:
    """A parameter's module: ``mlp.up_proj.weight`` and ``.bias`` → ``mlp.up_proj``."""
    return name.removesuffix(".weight").removesuffix(".bias")


def _short_names(names: list[str]) -> dict[str, str]:
    """``self_attn.q_proj.weight`` → ``q_proj``; the whole path where two share a name (GPT-2's c_proj)."""
    paths = {name: _path(name) for name in names}
    short = {path: path.split(".", 1)[-1] for path in paths.values()}
    uses = Counter(short.values())
    return {name: short[path] if uses[short[path]] == 1 else path for name, path in paths.items()}


def trained_names(model: LoadedModel, scope: Scope) -> list[str]:
    """The names of the tensors that ``scope`` trains, as the model names them.

    With tied weights the LM head *is* the embedding: the name is the embedding's.
    """
    names = {id(parameter): name for name, parameter in model.hf_model.named_parameters()}
    if scope == "all":
        return list(names.values())
    module = model.roles.lm_head if scope == "head" else model.roles.blocks[-1].block
    return [names[id(parameter)] for parameter in module.parameters()]


def private_model(model: LoadedModel, trained: set[str]) -> Any:
    """The same ``transformers`` model with its own modules; its ``trained`` tensors are empty, to be filled.

    To be called in a turn: no pass may be running while modules are copied.
    """
    source = model.hf_model
    memo: dict[int, Any] = {}
    for name, parameter in source.named_parameters():
        data = parameter.detach()
        own = torch.empty_like(data) if name in trained else data
        memo[id(parameter)] = nn.Parameter(own, requires_grad=False)
    for buffer in source.buffers():
        memo[id(buffer)] = buffer
    for module in source.modules():
        # Hooks belong to the passes of others (a measurement gives its turn away with its hooks in place).
        memo |= {id(value): OrderedDict() for key, value in vars(module).items() if _holds_hooks(key, value)}
    return copy.deepcopy(source, memo).eval()


def _holds_hooks(key: str, value: Any) -> bool:
    return "_hooks" in key and isinstance(value, dict)
