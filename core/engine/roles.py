"""Which module plays which part, found from a model's structure instead of a table of names.

Works for every decoder-only ``transformers`` model whose blocks live in one ``ModuleList`` and hold an
attention module and a feed-forward module (see ``tests/unit/test_engine_families.py`` for the list).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from core.errors import UserError


@dataclass(frozen=True)
class BlockRoles:
    """The parts of one block.

    ``attention`` and ``mlp`` are the block's two sub-layers; ``out_proj`` is W_O; ``down_proj`` the last
    linear map of a dense feed-forward part (``None`` when the block is a Mixture of Experts); ``router``
    and ``experts`` are set for a Mixture of Experts; ``shared_expert`` and ``shared_gate`` where it has them.
    """

    block: nn.Module
    attention: nn.Module
    out_proj: nn.Module
    mlp: nn.Module
    down_proj: nn.Module | None
    router: nn.Module | None
    experts: nn.Module | None
    shared_expert: nn.Module | None
    shared_gate: nn.Module | None


@dataclass(frozen=True)
class ModelRoles:
    """The parts of a causal language model: token embedding, blocks, final norm, LM head."""

    decoder: nn.Module
    embedding: nn.Embedding
    position_embedding: nn.Embedding | None
    blocks: tuple[BlockRoles, ...]
    final_norm: nn.Module
    lm_head: nn.Module


def find_roles(hf_model: Any) -> ModelRoles:
    """Return the roles of ``hf_model`` (a ``PreTrainedModel`` with an LM head).

    Raises:
        UserError: the model is not a decoder-only transformer of the kind this app can open.
    """
    decoder = hf_model.get_decoder() if hasattr(hf_model, "get_decoder") else hf_model.base_model
    blocks_list = _block_list(decoder)
    embedding = hf_model.get_input_embeddings()
    lm_head = hf_model.get_output_embeddings()
    if blocks_list is None or embedding is None or lm_head is None:
        raise UserError(
            f"{type(hf_model).__name__} is not a decoder-only language model that this app can open.",
            "Choose a causal language model such as a Llama, Qwen, Gemma or GPT-2.",
        )
    return ModelRoles(
        decoder=decoder,
        embedding=embedding,
        position_embedding=_position_embedding(decoder, embedding),
        blocks=tuple(_block_roles(block) for block in blocks_list),
        final_norm=_final_norm(decoder, blocks_list),
        lm_head=lm_head,
    )


def is_linear(module: nn.Module) -> bool:
    """True for ``nn.Linear`` and for GPT-2's ``Conv1D`` (a linear map with a transposed weight)."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


def out_features(module: nn.Module) -> int:
    """Width of what a linear map returns."""
    weight: Any = module.weight
    return int(weight.shape[0] if isinstance(module, nn.Linear) else weight.shape[1])


def _block_list(decoder: nn.Module) -> nn.ModuleList | None:
    lists = [child for child in decoder.children() if isinstance(child, nn.ModuleList) and len(child) > 0]
    for candidate in lists:
        if _attention_of(candidate[0]) is not None:
            return candidate
    return None


def _attention_of(block: nn.Module) -> nn.Module | None:
    for child in block.children():
        if "attention" in type(child).__name__.lower() and not _is_norm(child):
            return child
    return None


def _is_norm(module: nn.Module) -> bool:
    return "norm" in type(module).__name__.lower()


def _mlp_of(block: nn.Module, attention: nn.Module) -> nn.Module | None:
    """The child that is neither attention nor norm and holds weights."""
    for child in block.children():
        if child is attention or _is_norm(child):
            continue
        if any(True for _ in child.parameters()):
            return child
    return None


def _block_roles(block: nn.Module) -> BlockRoles:
    attention = _attention_of(block)
    mlp = _mlp_of(block, attention) if attention is not None else None
    if attention is None or mlp is None:
        raise UserError(
            f"The block {type(block).__name__} has no separate attention and feed-forward part.",
            "This architecture is not supported yet; choose another model.",
        )
    experts = _child_with_class(mlp, "experts")
    router = _router_of(mlp) if experts is not None else None
    if experts is None or router is None:
        experts = router = None
    return BlockRoles(
        block=block,
        attention=attention,
        out_proj=_last_linear(attention),
        mlp=mlp,
        down_proj=None if experts is not None else _last_linear(mlp),
        router=router,
        experts=experts,
        shared_expert=_shared_expert(mlp) if experts is not None else None,
        shared_gate=getattr(mlp, "shared_expert_gate", None) if experts is not None else None,
    )


def _child_with_class(module: nn.Module, word: str) -> nn.Module | None:
    """The child that holds the stacked expert weights (3-D parameters)."""
    for name, child in module.named_children():
        if word in (name + type(child).__name__).lower() and any(p.dim() == 3 for p in child.parameters()):
            return child
    return None


def _router_of(mlp: nn.Module) -> nn.Module | None:
    for child in mlp.children():
        if "router" in type(child).__name__.lower():
            return child
    return None


def _shared_expert(mlp: nn.Module) -> nn.Module | None:
    for name, child in mlp.named_children():
        if name.startswith("shared_expert") and not is_linear(child):
            return child
    return None


def _last_linear(module: nn.Module) -> nn.Module:
    """W_O in attention, the down projection in a feed-forward part.

    Named ones first (``o_proj``, ``c_proj``, ``dense``…), because registration order is not execution
    order in every family (GPT-J and Phi register their output projection before or after others).
    """
    linears = {name: child for name, child in module.named_modules() if is_linear(child)}
    for wanted in ("o_proj", "out_proj", "down_proj", "c_proj", "dense_4h_to_h", "fc_out", "fc2", "dense"):
        for name, child in linears.items():
            if name.rsplit(".", 1)[-1] == wanted:
                return child
    if not linears:
        raise UserError(
            f"{type(module).__name__} holds no linear map.", "This architecture is not supported yet."
        )
    return list(linears.values())[-1]


def _final_norm(decoder: nn.Module, blocks: nn.ModuleList) -> nn.Module:
    norms = [child for child in decoder.children() if child is not blocks and _is_norm(child)]
    if not norms:
        raise UserError(
            f"{type(decoder).__name__} has no final norm.", "This architecture is not supported yet."
        )
    return norms[-1]


def _position_embedding(decoder: nn.Module, embedding: nn.Module) -> nn.Embedding | None:
    for child in decoder.children():
        if isinstance(child, nn.Embedding) and child is not embedding:
            return child
    return None
