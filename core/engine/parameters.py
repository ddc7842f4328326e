"""Every parameter of a model with the part it belongs to; tied weights are counted once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from core.engine.roles import BlockRoles, ModelRoles


@dataclass(frozen=True)
class ParameterRow:
    """One weight tensor.

    Attributes:
        name: its name in the model. role: embedding, position, attention, ffn, experts, shared_expert,
            router, norm, lm_head or other. layer: block index or ``None``.
        shape: of the tensor. count: numbers in it. n_bytes: as loaded.
        active_count: numbers that take part in one token's pass: all, but for routed experts only the
            chosen ones, and for the token embedding the looked-up row (the full matrix when it is tied,
            because it is also the LM head).
    """

    name: str
    role: str
    layer: int | None
    shape: tuple[int, ...]
    count: int
    n_bytes: int
    active_count: int


def parameter_rows(hf_model: nn.Module, roles: ModelRoles) -> list[ParameterRow]:
    """All parameters, each tensor once."""
    places = _places(roles)
    tied = roles.lm_head.weight is roles.embedding.weight
    rows: list[ParameterRow] = []
    for name, parameter in hf_model.named_parameters():  # yields a tied tensor once
        role, layer = places.get(id(parameter), ("other", None))
        count = parameter.numel()
        rows.append(
            ParameterRow(
                name=name,
                role=role,
                layer=layer,
                shape=tuple(parameter.shape),
                count=count,
                n_bytes=count * parameter.element_size(),
                active_count=_active(role, layer, parameter, roles, tied),
            )
        )
    return rows


def _active(role: str, layer: int | None, parameter: Any, roles: ModelRoles, tied: bool) -> int:
    if role == "experts" and layer is not None:
        router: Any = roles.blocks[layer].router
        return int(parameter.numel() * router.top_k // router.num_experts)
    if role == "position" or (role == "embedding" and not tied):
        return int(parameter.shape[1])
    return int(parameter.numel())


def _places(roles: ModelRoles) -> dict[int, tuple[str, int | None]]:
    places: dict[int, tuple[str, int | None]] = {}

    def put(module: nn.Module | None, role: str, layer: int | None) -> None:
        for parameter in module.parameters() if module is not None else ():
            places.setdefault(id(parameter), (role, layer))

    put(roles.embedding, "embedding", None)
    put(roles.position_embedding, "position", None)
    put(roles.final_norm, "norm", None)
    put(roles.lm_head, "lm_head", None)
    for layer, block in enumerate(roles.blocks):
        _put_block(put, block, layer)
    return places


def _put_block(put: Any, block: BlockRoles, layer: int) -> None:
    put(block.router, "router", layer)
    put(block.shared_gate, "router", layer)
    put(block.shared_expert, "shared_expert", layer)
    put(block.experts, "experts", layer)
    put(block.attention, "attention", layer)
    put(block.mlp, "ffn", layer)
    put(block.block, "norm", layer)  # what is left in the block are its norms
