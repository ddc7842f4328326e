"""A small stand-in for the engine behind the same names: for tests of the shell that need no real weights."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

LAYERS, HEADS, VOCABULARY = 30, 9, 1000


@dataclass(frozen=True)
class FakePiece:
    token_id: int
    raw: str
    text: str
    special: bool
    part: int = 1
    parts: int = 1


class FakeCodec:
    """One token per word with its leading space; ``<|im_end|>`` is a control token."""

    has_chat_template = True
    eos_ids = (2,)

    def __init__(self) -> None:
        self.words: list[str] = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]

    def _id(self, word: str) -> int:
        if word not in self.words:
            self.words.append(word)
        return self.words.index(word)

    def encode(self, text: str, specials_as_text: bool = False) -> list[int]:
        pieces = text.replace(" ", "\0 ").split("\0") if text else []
        if not specials_as_text:
            pieces = [part for piece in pieces for part in _split(piece, "<|im_end|>")]
        else:
            pieces = [
                part for piece in pieces for part in piece.replace("<|im_end|>", "<|\0im_end\0|>").split("\0")
            ]
        return [self._id(piece) for piece in pieces if piece]

    def chat(self, text: str, system: str | None = None, specials_as_text: bool = False) -> list[int]:
        return [0, *self.encode(text, specials_as_text), 1]

    def pieces(self, ids: Any) -> list[FakePiece]:
        return [FakePiece(i, self._word(i), self._word(i), i < 3) for i in ids]

    def decode(self, ids: Any) -> str:
        return "".join(self._word(i) for i in ids)

    def _word(self, token: int) -> str:
        return self.words[token] if token < len(self.words) else f" w{token}"


def _split(text: str, mark: str) -> list[str]:
    first, *rest = text.split(mark)
    return [first, *[part for item in rest for part in (mark, item)]]


class FakeTrace:
    def __init__(self, ids: tuple[int, ...]) -> None:
        self.token_ids, self.n_positions = ids, len(ids)

    def residual_norms(self) -> np.ndarray:
        layers, positions = np.mgrid[0 : LAYERS + 1, 0 : self.n_positions]
        norms = 10.0 * 1.12**layers * (1 + 0.3 * np.sin(positions * 1.7 + layers * 0.4))
        norms[3:, 0] *= 60  # the first token's vector is far longer, as in real models
        return norms.astype(np.float32)


@dataclass(frozen=True)
class FakePass:
    ids: tuple[int, ...]

    @property
    def logits(self) -> np.ndarray:
        spread = np.sin(np.arange(VOCABULARY) * 0.37 + sum(self.ids) * 1.7 + len(self.ids))
        spread[:3] = -20.0
        return (4 * spread).astype(np.float32)


class FakeModel:
    def __init__(self, name: str = "smollm2-135m") -> None:
        self.name = name
        self.codec = FakeCodec()
        self.shape = SimpleNamespace(n_layers=LAYERS, n_heads=HEADS, max_positions=8192)

    def prefill(self, ids: Any) -> FakePass:
        return FakePass(tuple(ids))

    def step(self, parent: FakePass, token: int) -> FakePass:
        return FakePass((*parent.ids, token))

    def trace(self, tip: FakePass) -> FakeTrace:
        return FakeTrace(tip.ids)


STOOD_IN = ("core.engine.loader", "core.engine.startup")


def keep_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the real modules put back after the test."""
    for name in STOOD_IN:
        if name in sys.modules:
            monkeypatch.setitem(sys.modules, name, sys.modules[name])
        else:
            monkeypatch.setitem(sys.modules, name, ModuleType(name))


def install(load_model: Any = None) -> None:
    """Put the stand-ins where the shell imports the engine from."""
    model = FakeModel()
    _module("core.engine.loader", load_model=load_model or (lambda name, progress=None: model))
    _module("core.engine.startup", warm_and_freeze=lambda model: None)


def _module(name: str, **content: Any) -> None:
    module = ModuleType(name)
    module.__dict__.update(content)
    sys.modules[name] = module
