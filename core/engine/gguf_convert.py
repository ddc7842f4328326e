"""Turn a GGUF file into a folder that ``transformers`` loads: float32 safetensors, configs, tokenizer.

Tensor by tensor and row block by row block, so that memory stays small whatever the model's size.
Known architectures: llama (SmolLM2) and gemma3. What llama.cpp's own converter changed is changed back.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from core.engine.gguf_file import BadGgufError, GgufFile, GgufTensor
from core.engine.gguf_tokenizer import write_tokenizer
from core.engine.progress import Progress, report

_TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_NORMS = {
    "llama": {"ffn_norm": "post_attention_layernorm"},
    "gemma3": {
        "post_attention_norm": "post_attention_layernorm",
        "ffn_norm": "pre_feedforward_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    },
}
_BLOCK_NAME = re.compile(r"blk\.(\d+)\.(\w+)\.weight")


def convert(gguf_path: Path, folder: Path, progress: Progress | None = None) -> None:
    """Write ``model.safetensors``, the configs and the tokenizer of ``gguf_path`` into ``folder``.

    Raises:
        BadGgufError: the file is broken, or its architecture is not one of those known here.
        OSError: the folder cannot be written to.
    """
    with GgufFile(gguf_path) as file:
        architecture = str(file.metadata.get("general.architecture"))
        if architecture not in _NORMS:
            raise BadGgufError(f"{gguf_path.name}: the architecture {architecture!r} is not known here")
        config = _CONFIGS[architecture](file)
        _write_json(folder / "config.json", config)
        _write_json(folder / "generation_config.json", _generation_config(config))
        write_tokenizer(file.metadata, folder)
        _write_weights(file, architecture, config, folder / "model.safetensors", progress)


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _common_config(file: GgufFile, architecture: str) -> dict[str, Any]:
    def value(key: str) -> Any:
        return file.metadata[f"{architecture}.{key}"]

    return {
        "dtype": "float32",
        "vocab_size": file.tensors["token_embd.weight"].shape[0],
        "hidden_size": value("embedding_length"),
        "intermediate_size": value("feed_forward_length"),
        "num_hidden_layers": value("block_count"),
        "num_attention_heads": value("attention.head_count"),
        "num_key_value_heads": value("attention.head_count_kv"),
        "max_position_embeddings": value("context_length"),
        "rms_norm_eps": value("attention.layer_norm_rms_epsilon"),
        "tie_word_embeddings": "output.weight" not in file.tensors,
        "bos_token_id": file.metadata.get("tokenizer.ggml.bos_token_id"),
        "eos_token_id": file.metadata.get("tokenizer.ggml.eos_token_id"),
        "pad_token_id": file.metadata.get("tokenizer.ggml.padding_token_id"),
        "use_cache": True,
    }


def _llama_config(file: GgufFile) -> dict[str, Any]:
    common = _common_config(file, "llama")
    head_dim = file.metadata.get("llama.rope.dimension_count")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        **common,
        "head_dim": head_dim or common["hidden_size"] // common["num_attention_heads"],
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "rope_parameters": {"rope_type": "default", "rope_theta": file.metadata["llama.rope.freq_base"]},
    }


def _gemma3_config(file: GgufFile) -> dict[str, Any]:
    common = _common_config(file, "gemma3")
    head_dim = file.metadata["gemma3.attention.key_length"]
    # The file does not say which layers look back a window only, nor their RoPE base: five of six, and
    # 10,000, in every Gemma 3 (its report, section 2); scores are divided by the root of the head size.
    kinds = [
        "full_attention" if layer % 6 == 5 else "sliding_attention"
        for layer in range(common["num_hidden_layers"])
    ]
    return {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        **common,
        "head_dim": head_dim,
        "hidden_activation": "gelu_pytorch_tanh",
        "attention_bias": False,
        "query_pre_attn_scalar": head_dim,
        "sliding_window": file.metadata["gemma3.attention.sliding_window"],
        "layer_types": kinds,
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": file.metadata["gemma3.rope.freq_base"]},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
        },
    }


_CONFIGS: dict[str, Callable[[GgufFile], dict[str, Any]]] = {"llama": _llama_config, "gemma3": _gemma3_config}


def _generation_config(config: dict[str, Any]) -> dict[str, Any]:
    return {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}


def hf_name(architecture: str, name: str) -> str:
    """The name that ``transformers`` gives to a GGUF tensor.

    Raises:
        BadGgufError: no parameter goes by that name.
    """
    if name in _TOP:
        return _TOP[name]
    if found := _BLOCK_NAME.fullmatch(name):
        part = _BLOCK.get(found[2]) or _NORMS[architecture].get(found[2])
        if part:
            return f"model.layers.{found[1]}.{part}.weight"
    raise BadGgufError(f"the tensor {name!r} has no place in a {architecture} model")


def _write_weights(
    file: GgufFile, architecture: str, config: dict[str, Any], path: Path, progress: Progress | None
) -> None:
    """One safetensors file: the header's length (8 bytes), the header (JSON), the tensors back to back."""
    tensors = list(file.tensors.values())
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for tensor in tensors:
        end = at + 4 * int(np.prod(tensor.shape))
        name = hf_name(architecture, tensor.name)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for done, tensor in enumerate(tensors):
            report(progress, "convert", done, len(tensors), "Unpacking the weights.")
            for values in _restored(file, architecture, config, tensor):
                out.write(np.ascontiguousarray(values, dtype="<f4").data)
    report(progress, "convert", len(tensors), len(tensors), "Unpacked the weights.")


def _restored(
    file: GgufFile, architecture: str, config: dict[str, Any], tensor: GgufTensor
) -> Iterator[np.ndarray]:
    """The tensor's values as ``transformers`` wants them, in blocks of rows."""
    heads = {".attn_q.": config["num_attention_heads"], ".attn_k.": config["num_key_value_heads"]}
    n_heads = next((count for part, count in heads.items() if part in tensor.name), None)
    if architecture == "llama" and n_heads:
        yield unpermuted(file.dequantized(tensor), n_heads)
        return
    for rows in file.rows(tensor):
        values = file.dequantized(tensor, rows)
        # Gemma multiplies by 1 + weight; llama.cpp stores that sum.
        yield values - np.float32(1) if architecture == "gemma3" and "norm" in tensor.name else values


def unpermuted(weight: np.ndarray, n_heads: int) -> np.ndarray:
    """Rows of llama's q or k projection in the order of ``transformers``; (heads * head_dim, d) in and out.

    llama.cpp rotates neighbouring pairs (2i, 2i + 1), ``transformers`` rotates (i, i + head_dim / 2).
    """
    pairs = weight.reshape(n_heads, weight.shape[0] // n_heads // 2, 2, *weight.shape[1:])
    return pairs.swapaxes(1, 2).reshape(weight.shape)
