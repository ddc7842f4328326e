"""The default Mixture-of-Experts model, built from the default dense model and a small asset.

The asset (``assets/moe``, its format is in docs/MOE.md) holds for every split layer the order of the
neurons, a
router, low-rank corrections and scales. ``build`` applies it to the dense float32 weights and writes a stock
``Qwen2MoeForCausalLM`` folder, which transformers loads without any custom code. The arithmetic is exact
up to a
last rounding per number, so the files come out the same on every machine and with any number of threads.
"""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from core.engine.progress import Progress, report
from core.errors import UserError

ASSET_FILE = Path(__file__).resolve().parents[2] / "assets" / "moe" / "smollm2-135m-moe.safetensors"
PROJECTIONS = {"g": "gate_proj", "u": "up_proj", "d": "down_proj"}
SHARED_GATE = 0.5  # Qwen2-MoE gates its shared expert: sigmoid(0); the weights carry the inverse
INTEGER_BITS = (
    34  # scales of a low-rank product as integers: 34 + 14 bits of int8 * int8 + 5 for the sum < 53
)


@dataclass(frozen=True)
class Factors:
    """A low-rank correction ``B.T @ A`` in rows: int8 values and one float16 scale per row.

    ``a`` is (rank, inputs), ``b`` is (rank, outputs): B is kept transposed.
    """

    a: torch.Tensor
    a_scale: torch.Tensor
    b: torch.Tensor
    b_scale: torch.Tensor

    def product(self) -> torch.Tensor:
        """``B.T @ A`` as (outputs, inputs) float32: a sum of integers in float64, so no order of adding
        matters.
        """
        scale = self.a_scale.double() * self.b_scale.double()
        top = float(scale.max())
        if top == 0.0:
            return torch.zeros(self.b.shape[1], self.a.shape[1])
        unit = 2.0 ** (math.frexp(top)[1] - INTEGER_BITS)
        whole = (scale / unit).round()
        return ((self.b.double() * whole[:, None]).T @ self.a.double()).mul_(unit).float()


@dataclass(frozen=True)
class AssetLayer:
    """What turns one dense FFN into an MoE: F neurons, E experts, width d."""

    order: torch.Tensor  # (F,) int64: shared neurons first, then E blocks
    router: torch.Tensor  # (E, d) float32
    expert_scale: torch.Tensor  # (E,) float32
    channel_scale: torch.Tensor  # (d,) float32
    factors: dict[str, Factors]  # "g", "u", "d"


@dataclass(frozen=True)
class MoeAsset:
    """The whole asset, read into memory."""

    shared: int
    n_experts: int
    experts_per_token: int
    dense_layers: tuple[int, ...]
    norms: torch.Tensor  # (2 * n_layers + 1, d) float32, factors on the RMSNorm weights
    layers: dict[int, AssetLayer]

    @property
    def n_layers(self) -> int:
        return (self.norms.shape[0] - 1) // 2


def read_asset(file: Path = ASSET_FILE) -> MoeAsset:
    """Read an asset file. Raises ``UserError`` when it is missing or not an asset of this format."""
    try:
        with safe_open(file, "pt") as data:
            meta: dict[str, str] = data.metadata() or {}
            tensors = {name: data.get_tensor(name) for name in data.keys()}  # noqa: SIM118
        dense = tuple(int(i) for i in meta["dense"].split(",") if i)
        norms = tensors["norms"].float()
        split = [i for i in range((norms.shape[0] - 1) // 2) if i not in dense]
        return MoeAsset(
            int(meta["S"]),
            int(meta["E"]),
            int(meta["k"]),
            dense,
            norms,
            {i: _layer(tensors, i) for i in split},
        )
    except (OSError, KeyError, ValueError, SafetensorError) as error:
        what = f"The recipe data of the MoE model ({file.name}) could not be read: {error}."
        raise UserError(
            what, "Install the project again, or build the asset with the moe-recipe command."
        ) from error


def _layer(tensors: dict[str, torch.Tensor], i: int) -> AssetLayer:
    factors = {
        n: Factors(tensors[f"{i}.A{n}"], tensors[f"{i}.A{n}s"], tensors[f"{i}.B{n}"], tensors[f"{i}.B{n}s"])
        for n in PROJECTIONS
    }
    return AssetLayer(
        tensors[f"{i}.perm"].long(), tensors[f"{i}.R"].float(), tensors[f"{i}.c"].float(),
        tensors[f"{i}.cs"].float(), factors,
    )  # fmt: skip


def split_ffn(
    asset: MoeAsset, layer: AssetLayer, gate: torch.Tensor, up: torch.Tensor, down: torch.Tensor
) -> dict[str, torch.Tensor]:
    """The tensors of one MoE layer, under their names below ``mlp.``.

    ``gate`` and ``up`` are (F, d), ``down`` is (d, F), dense order. Each expert gets its slice of the
    corrected
    weights; its scale and the factor k go into its down-projection, because the stock router's k weights
    sum to 1.
    """
    order, shared, count = layer.order, asset.shared, asset.n_experts
    gate = gate[order] + layer.factors["g"].product()
    up = up[order] + layer.factors["u"].product()
    down = (down[:, order] + layer.factors["d"].product()) * layer.channel_scale[:, None]
    out = {
        "gate.weight": layer.router,
        "shared_expert.gate_proj.weight": gate[:shared],
        "shared_expert.up_proj.weight": up[:shared],
        "shared_expert.down_proj.weight": down[:, :shared] / SHARED_GATE,
        "shared_expert_gate.weight": torch.zeros(1, gate.shape[1]),
    }
    size = (len(order) - shared) // count
    for e in range(count):
        block = slice(shared + e * size, shared + (e + 1) * size)
        out[f"experts.{e}.gate_proj.weight"] = gate[block]
        out[f"experts.{e}.up_proj.weight"] = up[block]
        out[f"experts.{e}.down_proj.weight"] = down[:, block] * (
            layer.expert_scale[e] * asset.experts_per_token
        )
    return {name: tensor.contiguous().clone() for name, tensor in out.items()}


def moe_config(dense: dict[str, Any], asset: MoeAsset) -> dict[str, Any]:
    """The config.json of the MoE model, from the dense model's (a Llama config)."""
    kept = (
        "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
        "max_position_embeddings", "rms_norm_eps", "rope_theta", "rope_parameters", "tie_word_embeddings",
        "bos_token_id", "eos_token_id", "pad_token_id", "hidden_act", "intermediate_size",
        "initializer_range",
    )  # fmt: skip
    size = (int(dense["intermediate_size"]) - asset.shared) // asset.n_experts
    return {
        "architectures": ["Qwen2MoeForCausalLM"],
        "model_type": "qwen2_moe",
        "dtype": "float32",
        **{key: dense[key] for key in kept if key in dense},
        "moe_intermediate_size": size,
        "shared_expert_intermediate_size": asset.shared,
        "num_experts": asset.n_experts,
        "num_experts_per_tok": asset.experts_per_token,
        "norm_topk_prob": True,
        "mlp_only_layers": list(asset.dense_layers),
        "decoder_sparse_step": 1,
        "qkv_bias": False,
        "use_sliding_window": False,
        "attention_dropout": 0.0,
        "use_cache": True,
    }


def build(
    dense_folder: Path, target_folder: Path, progress: Progress | None = None, asset_file: Path = ASSET_FILE
) -> None:
    """Write the MoE model made from ``dense_folder`` into ``target_folder`` (made if it is not there).

    The target is complete only when this returns: write into a temporary folder and rename it. Raises
    ``UserError`` when the dense model is not the one that the asset was made for. Progress counts split
    layers.
    """
    asset = read_asset(asset_file)
    config = json.loads((dense_folder / "config.json").read_text(encoding="utf-8"))
    _check(config, asset)
    tensors: dict[str, torch.Tensor] = {}
    with safe_open(dense_folder / "model.safetensors", "pt") as dense:
        names = set(dense.keys())
        if config.get("tie_word_embeddings"):
            names.discard("lm_head.weight")  # the embeddings once more
        _copy_unsplit(dense, names, asset, tensors)
        for done, (i, layer) in enumerate(asset.layers.items()):
            report(progress, "convert", done, len(asset.layers), f"Splitting layer {i} into experts")
            prefix = f"model.layers.{i}.mlp."
            gate, up, down = (dense.get_tensor(f"{prefix}{p}.weight").float() for p in PROJECTIONS.values())
            for name, tensor in split_ffn(asset, layer, gate, up, down).items():
                tensors[prefix + name] = tensor
    target_folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, target_folder / "model.safetensors", metadata={"format": "pt"})
    text = json.dumps(moe_config(config, asset), indent=2, sort_keys=True) + "\n"
    (target_folder / "config.json").write_text(text, encoding="utf-8")
    _copy_texts(dense_folder, target_folder)
    report(progress, "convert", len(asset.layers), len(asset.layers), "The MoE model is ready")


def _check(config: dict[str, Any], asset: MoeAsset) -> None:
    first = next(iter(asset.layers.values()))
    found = (config["num_hidden_layers"], config["hidden_size"], config["intermediate_size"])
    wanted = (asset.n_layers, first.router.shape[1], len(first.order))
    if found != wanted:
        what = f"The recipe data fits a model of shape {wanted}, not {found} (layers, width, FFN width)."
        raise UserError(what, "Build the MoE model from the default dense model.")


def _copy_unsplit(dense: Any, names: set[str], asset: MoeAsset, tensors: dict[str, torch.Tensor]) -> None:
    """Embeddings, attention, dense FFNs unchanged; RMSNorm weights times their factors."""
    factors = {"model.norm.weight": asset.norms[-1]}
    for i in range(asset.n_layers):
        factors[f"model.layers.{i}.input_layernorm.weight"] = asset.norms[2 * i]
        factors[f"model.layers.{i}.post_attention_layernorm.weight"] = asset.norms[2 * i + 1]
    replaced = tuple(f"model.layers.{i}.mlp." for i in asset.layers)
    for name in sorted(names):
        if name.startswith(replaced):
            continue
        tensor = dense.get_tensor(name).float()
        tensors[name] = (tensor * factors[name]).contiguous() if name in factors else tensor.contiguous()


def _copy_texts(source: Path, target: Path) -> None:
    """Tokenizer and generation settings: every small file but the config and the weights."""
    for file in sorted(source.iterdir()):
        is_text = file.is_file() and file.suffix in {".json", ".jinja", ".txt", ".model"}
        if is_text and file.name != "config.json" and not file.name.endswith(".index.json"):
            shutil.copyfile(file, target / file.name)
