"""Rebuild the tokenizer that a GGUF file describes, once, as files that load fast."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from core.engine.gguf_file import BadGgufError

_CONTROL, _USER_DEFINED = 3, 4
_ROLES = {
    "bos_token": "bos_token_id",
    "eos_token": "eos_token_id",
    "unk_token": "unknown_token_id",
    "pad_token": "padding_token_id",
}


def write_tokenizer(metadata: dict[str, Any], folder: Path) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json`` (with any chat template) into ``folder``.

    Raises:
        BadGgufError: a kind of tokenizer that is not known here.
    """
    builders = {"gpt2": _byte_level, "llama": _sentence_pieces}
    kind = metadata.get("tokenizer.ggml.model")
    if kind not in builders:
        raise BadGgufError(f"the tokenizer {kind!r} is not known here")
    tokenizer = builders[kind](metadata)
    _add_special_tokens(tokenizer, metadata)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    text = json.dumps(_tokenizer_config(metadata), indent=2, ensure_ascii=False)
    (folder / "tokenizer_config.json").write_text(text + "\n", encoding="utf-8")


def _tokenizer_config(metadata: dict[str, Any]) -> dict[str, Any]:
    tokens = metadata["tokenizer.ggml.tokens"]
    architecture = metadata["general.architecture"]
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": metadata[f"{architecture}.context_length"],
        "clean_up_tokenization_spaces": False,
    }
    for role, key in _ROLES.items():
        token_id = metadata.get(f"tokenizer.ggml.{key}")
        if token_id is not None:
            config[role] = tokens[token_id]
    if template := metadata.get("tokenizer.chat_template"):
        config["chat_template"] = template
    return config


def _byte_level(metadata: dict[str, Any]) -> Tokenizer:
    """Byte-level BPE as GPT-2's; the pre-tokenizer named in the file says how text is cut first."""
    vocabulary = {token: index for index, token in enumerate(metadata["tokenizer.ggml.tokens"])}
    merges = [_pair(merge) for merge in metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    cut: Any = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if metadata.get("tokenizer.ggml.pre") == "smollm":  # SmolLM cuts each digit off by itself
        cut = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), cut])
    tokenizer.pre_tokenizer = cut
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _pair(merge: str) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    return left, right


def _sentence_pieces(metadata: dict[str, Any]) -> Tokenizer:
    """Gemma's BPE with byte fallback. The file lists no merges; they follow from the vocabulary's order."""
    # Runs of spaces are stored as spaces; inside the tokenizer a space is written as U+2581.
    tokens = [
        "\u2581" * len(token) if token and not token.strip(" ") else token
        for token in metadata["tokenizer.ggml.tokens"]
    ]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    unknown = metadata.get("tokenizer.ggml.unknown_token_id")
    model = models.BPE(
        vocab=vocabulary,
        merges=merges_of(vocabulary),
        unk_token=tokens[unknown] if unknown is not None else None,
        fuse_unk=True,
        byte_fallback=True,
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous", invert=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    if metadata.get("tokenizer.ggml.add_bos_token"):
        bos = metadata["tokenizer.ggml.bos_token_id"]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{tokens[bos]} $A",
            pair=f"{tokens[bos]} $A {tokens[bos]} $B",
            special_tokens=[(tokens[bos], bos)],
        )
    return tokenizer


def merges_of(vocabulary: dict[str, int]) -> list[tuple[str, str]]:
    """Every way to make a token of two others, the token that comes first in the vocabulary first.

    Among the ways to make one token: the longer left part first, as ``transformers`` orders them.
    """
    merges: list[tuple[str, str]] = []
    for token in sorted(vocabulary, key=lambda token: vocabulary[token]):
        for cut in range(len(token) - 1, 0, -1):
            if token[:cut] in vocabulary and token[cut:] in vocabulary:
                merges.append((token[:cut], token[cut:]))
    return merges


def _add_special_tokens(tokenizer: Tokenizer, metadata: dict[str, Any]) -> None:
    """Control tokens are special; user-defined ones are only kept whole."""
    kinds = metadata.get("tokenizer.ggml.token_type") or []
    tokens = metadata["tokenizer.ggml.tokens"]
    vocabulary = tokenizer.get_vocab()
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in control])
    whole = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _USER_DEFINED]
    tokenizer.add_tokens([AddedToken(token, normalized=False) for token in whole if token in vocabulary])
