"""Files between the stages: tensors and a little JSON in one safetensors file, written in one move."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from core.engine.moe_recipe.settings import SplitSettings
from core.engine.moe_recipe.student import KINDS, LayerState, SplitState


def save_tensors(tensors: dict[str, torch.Tensor], file: Path, facts: dict[str, Any] | None = None) -> None:
    """Write tensors and JSON ``facts``; a reader never sees half a file."""
    part = file.with_suffix(".part")
    whole = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
    save_file(whole, part, metadata={"facts": json.dumps(facts or {})})
    part.replace(file)


def load_tensors(file: Path) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """What ``save_tensors`` wrote."""
    with safe_open(file, "pt") as data:
        facts = json.loads((data.metadata() or {}).get("facts", "{}"))
        return {name: data.get_tensor(name) for name in data.keys()}, facts  # noqa: SIM118


def save_state(state: SplitState, file: Path) -> None:
    """Write a state with nothing rounded (the asset rounds to int8)."""
    tensors = {"norms": state.norms}
    for i, layer in state.layers.items():
        tensors[f"{i}.order"] = layer.order
        tensors[f"{i}.router"] = layer.router
        tensors[f"{i}.expert_scale"] = layer.expert_scale
        tensors[f"{i}.channel_scale"] = layer.channel_scale
        for n in KINDS:
            tensors[f"{i}.a.{n}"], tensors[f"{i}.b.{n}"] = layer.a[n], layer.b[n]
    save_tensors(tensors, file, {"split": asdict(state.split), "layers": list(state.layers)})


def load_state(file: Path) -> SplitState:
    """What ``save_state`` wrote."""
    tensors, facts = load_tensors(file)
    split = SplitSettings(**{**facts["split"], "dense_layers": tuple(facts["split"]["dense_layers"])})
    layers = {}
    for i in facts["layers"]:
        a = {n: tensors[f"{i}.a.{n}"] for n in KINDS}
        b = {n: tensors[f"{i}.b.{n}"] for n in KINDS}
        router, scale = tensors[f"{i}.router"], tensors[f"{i}.expert_scale"]
        layers[i] = LayerState(tensors[f"{i}.order"], router, scale, tensors[f"{i}.channel_scale"], a, b)
    return SplitState(split, layers, tensors["norms"])
