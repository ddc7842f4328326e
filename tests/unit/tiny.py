"""Tiny random models of many families, and a tiny tokenizer, for tests of the engine.

Every model is built from its config alone: no download, no file. The same family and seed give the
same weights to the last bit. Vectors of norms and biases are moved away from 1 and 0, and matrices are
scaled so that attention is far from uniform: a reader that forgets a norm's weight, a bias or a scale
then shows a large error instead of none.

    model = build("qwen3")            # eval mode, float32, 3 layers, vocabulary of 128
    save(model, folder)               # a local model folder: config, safetensors, tokenizer
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

VOCAB_SIZE = 128
MAX_POSITIONS = 64
BOS_ID = 0
EOS_ID = 1

CHAT_TEMPLATE = (
    "{% for m in messages %}<bos>{{ m['role'] }}\n{{ m['content'] }}<eos>\n{% endfor %}"
    "{% if add_generation_prompt %}<bos>assistant\n{% endif %}"
)

_MERGES = (
    "t+h th+e Ġ+the a+n i+n Ġ+a Ġ+c c+a ca+t o+n r+e Ġ+s i+s Ġ+is e+r o+r Ġ+o o+f Ġ+of e+n Ġ+b l+l a+t "
    "e+d Ġ+f Ġ+w o+u"
)

# Six query heads of size 8 share two K/V heads; the FFN is wider than the model and not a multiple of it.
_GQA: dict[str, Any] = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": MAX_POSITIONS,
}
# The older names of the GPT line; no shared K/V heads there.
_GPT: dict[str, Any] = {"n_embd": 48, "n_layer": 3, "n_head": 6, "n_positions": MAX_POSITIONS}
_NO_DROPOUT = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
# Query heads together are wider than the model, as in many recent families.
_WIDE_HEADS = {"head_dim": 16}
# A window shorter than the prompts of the tests, so that the two kinds of layer differ.
_WINDOWED: dict[str, Any] = {
    "sliding_window": 4,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
}

DENSE: Mapping[str, Mapping[str, Any]] = {
    "llama": _GQA,
    "gpt2": {**_GPT, **_NO_DROPOUT},
    "qwen3": {**_GQA, **_WIDE_HEADS},
    "gemma3_text": {**_GQA, **_WIDE_HEADS, **_WINDOWED, "query_pre_attn_scalar": 16},
    "mistral": {**_GQA, "sliding_window": None, "head_dim": 8},
    "qwen2": _GQA,
    "gemma": {**_GQA, **_WIDE_HEADS},
    "gemma2": {**_GQA, **_WIDE_HEADS, **_WINDOWED, "query_pre_attn_scalar": 16},
    "phi3": {**_GQA, "original_max_position_embeddings": MAX_POSITIONS, "pad_token_id": EOS_ID},
    "phi": {**_GQA, "num_key_value_heads": 6},
    "gpt_neox": {k: v for k, v in _GQA.items() if k != "num_key_value_heads"},
    "gptj": {**_GPT, **_NO_DROPOUT, "rotary_dim": 4},
    "cohere": _GQA,
    "cohere2": {**_GQA, **_WINDOWED, "head_dim": 8},
    "starcoder2": {**_GQA, "sliding_window": None},
    "stablelm": _GQA,
    "olmo": _GQA,
    "olmo2": {**_GQA, "pad_token_id": None},
    "olmo3": {**_GQA, **_WINDOWED, "pad_token_id": None},
    "smollm3": {**_GQA, "no_rope_layers": [1, 0, 1], "pad_token_id": None},
    "granite": {
        **_GQA,
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.4,
        "attention_multiplier": 0.25,
        "logits_scaling": 2.0,
    },
    "exaone4": {**_GQA, **_WINDOWED},
}

_EXPERTS = {"num_local_experts": 6, "num_experts_per_tok": 2}
_MANY_EXPERTS = {"num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 24}

MOE: Mapping[str, Mapping[str, Any]] = {
    "mixtral": {**_GQA, **_EXPERTS},
    "qwen2_moe": {**_GQA, **_MANY_EXPERTS, "shared_expert_intermediate_size": 40},
    "olmoe": {**_GQA, "num_experts": 6, "num_experts_per_tok": 2, "pad_token_id": None},
    "qwen3_moe": {**_GQA, **_WIDE_HEADS, **_MANY_EXPERTS, "norm_topk_prob": True},
    "phimoe": {**_GQA, **_EXPERTS},
    "granitemoe": {
        **_GQA,
        **_EXPERTS,
        "embedding_multiplier": 3.0,
        "residual_multiplier": 0.4,
        "attention_multiplier": 0.25,
        "logits_scaling": 2.0,
    },
    "glm4_moe": {
        **_GQA,
        "head_dim": 8,
        "moe_intermediate_size": 24,
        "n_routed_experts": 6,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 1,
    },
    "deepseek_v3": {
        **_GQA,
        "num_key_value_heads": 6,
        "moe_intermediate_size": 24,
        "n_routed_experts": 8,
        "num_experts_per_tok": 2,
        "n_group": 4,
        "topk_group": 2,
        "first_k_dense_replace": 1,
        "kv_lora_rank": 16,
        "q_lora_rank": 24,
        "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 8,
        "v_head_dim": 8,
    },
    "gpt_oss": {
        **_GQA,
        **_EXPERTS,
        **_WINDOWED,
        "head_dim": 8,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    },
}

FAMILIES: tuple[str, ...] = (*DENSE, *MOE)
CORE_FAMILIES: tuple[str, ...] = ("llama", "gpt2", "qwen3", "gemma3_text", "mixtral", "qwen2_moe", "olmoe")
"""The families the engine is held to from the first day."""


def config(family: str, **overrides: Any) -> Any:
    """The transformers config of a tiny model; `overrides` replace single values of it."""
    settings: dict[str, Any] = {
        "vocab_size": VOCAB_SIZE,
        "bos_token_id": BOS_ID,
        "eos_token_id": EOS_ID,
        **{**DENSE, **MOE}[family],
        **overrides,
    }
    return CONFIG_MAPPING[family](**settings)


def build(family: str, seed: int = 0, *, attention: str | None = None, **overrides: Any) -> PreTrainedModel:
    """A tiny causal LM in eval mode, float32, on the CPU.

    `attention` names an implementation ("eager", "sdpa"); None leaves the family's own default.
    `overrides` go to the config under the family's own names, for example `num_hidden_layers=1`.
    """
    kwargs = {} if attention is None else {"attn_implementation": attention}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config(family, **overrides), dtype=torch.float32, **kwargs)
        _spread(model)
    return model.eval()


@torch.no_grad()
def _spread(model: PreTrainedModel) -> None:
    """Give every parameter a value that a reader cannot ignore without being noticed."""
    embedding = model.get_input_embeddings().weight
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape)
        if parameter is embedding:
            parameter.copy_(noise * 0.2)
        elif parameter.dim() >= 2:
            # Half the two sides' mean keeps this right for (out, in) and for (in, out) alike.
            parameter.copy_(noise * 1.4 / math.sqrt(sum(parameter.shape[-2:]) / 2))
        else:
            parameter.add_(noise * 0.15)


def prompt_ids(length: int = 9, seed: int = 0) -> list[int]:
    """Token IDs without specials: `length` of them, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(2, VOCAB_SIZE, (length,), generator=generator).tolist()


def tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer of 128 tokens: two specials, ASCII, the bytes of "é" and a few merges.

    Text outside this alphabet loses the bytes it has no token for; tests of whole Unicode need the
    real tokenizer.
    """
    byte_of = _byte_symbols()
    alphabet = [byte_of[b] for b in (*range(32, 127), ord("\n"), ord("\t"), 0xC3, 0xA9)]
    merges = [tuple(pair.split("+")) for pair in _MERGES.split()]
    words = ["<bos>", "<eos>", *alphabet, *(a + b for a, b in merges)]
    vocabulary = {word: index for index, word in enumerate(words)}
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r" ?\w+| ?[^\s\w]+|\s"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    inner.decoder = decoders.ByteLevel()
    outer = PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<bos>", eos_token="<eos>")
    outer.chat_template = CHAT_TEMPLATE
    return outer


def _byte_symbols() -> dict[int, str]:
    """Byte value -> the printable character that byte-level BPE writes for it."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    symbols = {byte: chr(byte) for byte in plain}
    others = [byte for byte in range(256) if byte not in symbols]
    return symbols | {byte: chr(256 + index) for index, byte in enumerate(others)}


def save(model: PreTrainedModel, folder: Path) -> Path:
    """Write `model` and the tiny tokenizer as a local model folder (safetensors) and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
