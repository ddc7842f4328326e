"""A stand-in for the engine whose logits are a fixed function of all tokens so far, and which counts its
work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FakePass:
    ids: tuple[int, ...]
    logits: np.ndarray


class FakeStepper:
    """``vocabulary`` tokens; the same sequence always gives the same logits, another one gives others."""

    name = "fake"
    fingerprint = "f" * 16

    def __init__(self, vocabulary: int = 40, scale: float = 2.0) -> None:
        self.vocabulary, self.scale = vocabulary, scale
        self.prefills = 0
        self.seen: list[tuple[int, ...]] = []

    def prefill(self, token_ids: Sequence[int]) -> FakePass:
        self.prefills += 1
        return self._pass(tuple(token_ids))

    def step(self, parent: FakePass, token_id: int) -> FakePass:
        ids = (*parent.ids, token_id)
        self.seen.append(ids)
        return self._pass(ids)

    def _pass(self, ids: tuple[int, ...]) -> FakePass:
        draw = np.random.default_rng([len(ids), *ids]).normal(size=self.vocabulary)
        return FakePass(ids, (draw * self.scale).astype(np.float32))
