"""From a trained state to the asset file and back: int8 rows with float16 scales."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from core.engine.moe_build import MoeAsset, read_asset
from core.engine.moe_recipe.settings import SplitSettings
from core.engine.moe_recipe.student import KINDS, LayerState, SplitState

SMALLEST_SCALE = 6e-8  # the smallest positive float16


def quantise_rows(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(n, m) float -> int8 values and the (n,) float16 scale of each row; value = int8 * scale."""
    scale = (rows.abs().amax(1, keepdim=True).clamp_min(1e-8) / 127).half().float().clamp_min(SMALLEST_SCALE)
    return (rows / scale).round().clamp(-127, 127).to(torch.int8), scale.squeeze(1).half()


def balance(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Turn the pair to its SVD form: the same product ``b @ a``, rows that lose least to int8."""
    qb, rb = torch.linalg.qr(b.double())
    qa, ra = torch.linalg.qr(a.double().T)
    u, s, v = torch.linalg.svd(rb @ ra.T)
    root = s.sqrt()
    return ((v * root[:, None]) @ qa.T).float(), ((qb @ u) * root).float()


def pack(state: SplitState, file: Path, note: dict[str, str] | None = None) -> None:
    """Write the asset file; ``note`` goes into its metadata."""
    tensors = {"norms": state.norms.half()}
    for i, layer in state.layers.items():
        tensors[f"{i}.perm"] = layer.order.to(torch.int16)
        tensors[f"{i}.R"] = layer.router.half()
        tensors[f"{i}.c"] = layer.expert_scale.half()
        tensors[f"{i}.cs"] = layer.channel_scale.half()
        for n in KINDS:
            a, b = balance(layer.a[n], layer.b[n])
            tensors[f"{i}.A{n}"], tensors[f"{i}.A{n}s"] = quantise_rows(a)
            tensors[f"{i}.B{n}"], tensors[f"{i}.B{n}s"] = quantise_rows(b.T.contiguous())
    split = state.split
    dense = ",".join(str(i) for i in split.dense_layers)
    meta = {
        "S": str(split.shared),
        "E": str(split.n_experts),
        "k": str(split.experts_per_token),
        "dense": dense,
    }
    part = file.with_suffix(".part")
    save_file(tensors, part, metadata={**meta, "mode": "mixtral", **(note or {})})
    _sort_header(part)
    part.replace(file)


def _sort_header(file: Path) -> None:
    """Write the file's JSON header with sorted keys: safetensors leaves the metadata in random order."""
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])


def unpack(file: Path) -> SplitState:
    """The state that an asset file holds, for evaluation or to go on training from it."""
    asset = read_asset(file)
    rank = next(iter(asset.layers.values())).factors["g"].a.shape[0]
    split = SplitSettings(asset.shared, asset.n_experts, asset.experts_per_token, asset.dense_layers, rank)
    return SplitState(split, {i: _layer_state(asset, i) for i in asset.layers}, asset.norms)


def _layer_state(asset: MoeAsset, i: int) -> LayerState:
    layer = asset.layers[i]
    a = {n: f.a.float() * f.a_scale.float()[:, None] for n, f in layer.factors.items()}
    b = {n: (f.b.float() * f.b_scale.float()[:, None]).T.contiguous() for n, f in layer.factors.items()}
    return LayerState(layer.order, layer.router, layer.expert_scale, layer.channel_scale, a, b)
