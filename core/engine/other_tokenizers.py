"""Other published tokenizers, to put beside the loaded model's: real tables, run by ``tokenizers``.

The tables lie in ``assets/tokenizers`` with their sources and licences. Each is unpacked when first asked for
(up to a few seconds for the largest) and then kept.
"""

from __future__ import annotations

import lzma
import threading
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from core.engine.text import TextCodec
from core.engine.token_bytes import byte_alphabet, byte_letters

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "tokenizers"


@dataclass(frozen=True)
class OtherTokenizer:
    """``kind``: how its table is written; ``split``: what cuts words."""

    name: str
    title: str
    year: int
    kind: str
    source: str
    licence: str
    split: str
    first_id: int
    specials: dict[str, int]

    @property
    def byte_level(self) -> bool:
        """Whether it works on bytes; SentencePiece works on characters and falls back to bytes."""
        return self.kind != "pieces"


@cache
def other_tokenizers() -> tuple[OtherTokenizer, ...]:
    """All of them, oldest first."""
    with (FOLDER / "tables.toml").open("rb") as file:
        entries = tomllib.load(file)
    return tuple(OtherTokenizer(name=name, **entry) for name, entry in entries.items())


_LOCK = threading.Lock()
_LOADED: dict[str, TextCodec] = {}


def load_other(name: str) -> TextCodec:
    """The codec of one of ``other_tokenizers()``. Raises KeyError for another name."""
    info = {item.name: item for item in other_tokenizers()}[name]
    with _LOCK:
        if name not in _LOADED:
            _LOADED[name] = TextCodec(_build(info))
        return _LOADED[name]


def _build(info: OtherTokenizer) -> Tokenizer:
    data = lzma.decompress((FOLDER / f"{info.name}.xz").read_bytes())
    builders = {"merges": _from_merges, "ranks": _from_ranks, "pieces": _from_pieces}
    tokenizer = builders[info.kind](data, info)
    tokenizer.add_special_tokens(sorted(info.specials, key=info.specials.__getitem__))
    return tokenizer


def _from_merges(data: bytes, info: OtherTokenizer) -> Tokenizer:
    """GPT-2: the alphabet, then one token a merge, in the order of the merges."""
    pairs = [(left, right) for left, _, right in (line.partition(" ") for line in data.decode().split("\n"))]
    vocab = _numbered([*byte_alphabet(), *(left + right for left, right in pairs)], info)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _from_ranks(data: bytes, info: OtherTokenizer) -> Tokenizer:
    """tiktoken's way: any two neighbours that make a token may merge, the token of the lowest rank first."""
    entries = _unpacked(data)
    tokens, cuts = entries[: len(entries) // 2], entries[len(entries) // 2 :]
    letters = dict(enumerate(byte_letters()))
    names = [token.decode("latin-1").translate(letters) for token in tokens]
    merges = [(name[:k], name[k:]) for name, places in zip(names, cuts, strict=True) for k in places]
    tokenizer = Tokenizer(models.BPE(vocab=_numbered(names, info), merges=merges, ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(info.split), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _from_pieces(data: bytes, info: OtherTokenizer) -> Tokenizer:
    """SentencePiece's BPE: no words, ``▁`` for spaces, characters that it does not know as single bytes."""
    names = [entry.decode() for entry in _unpacked(data)]
    vocab = _numbered(names, info)
    merges = [
        (name[:k], name[k:])
        for name in names
        for k in range(1, len(name))
        if name[:k] in vocab and name[k:] in vocab and not name.startswith("<0x")
    ]
    merges.sort(key=_spaces_last)
    model = models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return tokenizer


def _spaces_last(pair: tuple[str, str]) -> bool:
    """Runs of spaces have the worst score in SentencePiece's file: they are joined after everything else."""
    return not "".join(pair).strip("▁")


def _numbered(names: Iterable[str], info: OtherTokenizer) -> dict[str, int]:
    vocab = {name: info.first_id + place for place, name in enumerate(names)}
    return vocab | info.specials


def _unpacked(data: bytes) -> list[bytes]:
    """The entries of a packed table: length, content, length, content, …"""
    entries: list[bytes] = []
    place = 0
    while place < len(data):
        size = data[place]
        while data[place] == 255:
            place += 1
            size += data[place]
        place += 1
        entries.append(data[place : place + size])
        place += size
    return entries
