"""What a question of the tour looks at, and the small sums that several of them need. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from core.decoding.sampling import SamplingParams, softmax
from core.lessons.generate import name_of
from core.lessons.handout import visible

LONGEST = 64
"""Questions about every prompt position are asked of prompts up to this many tokens: one LM head each."""


@dataclass(frozen=True)
class Scene:
    """What the screen shows: the run at its cursor, the settings, and the chosen place."""

    model: Any
    run: Any
    params: SamplingParams
    layer: int
    head: int
    position: int

    @cached_property
    def trace(self) -> Any:
        return self.model.trace(self.run.tip)

    @property
    def logits(self) -> np.ndarray:
        """(V,) of the next token."""
        return np.asarray(self.run.tip.logits)

    @property
    def favourite(self) -> int:
        """Id of the likeliest next token."""
        return int(self.logits.argmax())

    def name(self, token_id: int) -> str:
        """A token's text, its spaces made visible."""
        return visible(name_of(self.model.codec, int(token_id)))

    def at(self, position: int) -> str:
        """The text of the token at a position."""
        return self.name(self.trace.token_ids[position])


def losses(scene: Scene) -> np.ndarray | None:
    """(n − 1,) −ln p of each prompt token after the first, given those before it."""
    count = scene.trace.n_prompt
    if not 2 <= count <= LONGEST:
        return None
    logits = scene.trace.lens(scene.model.shape.n_layers, range(count - 1))
    chances = softmax(logits)[np.arange(count - 1), list(scene.trace.token_ids[1:count])]
    return np.asarray(-np.log(np.maximum(chances, 1e-300)))


def moved(before: float, after: float) -> str:
    """Whether a number grew, shrank or stayed, but for the last bits of its arithmetic."""
    if abs(after - before) <= 1e-6 * max(1.0, abs(before)):
        return "same"
    return "grows" if after > before else "shrinks"


def spread(count: int, without: int, most: int) -> list[int]:
    """At most ``most`` other numbers below ``count``, evenly spread."""
    others: Sequence[int] = [number for number in range(count) if number != without]
    if len(others) <= most:
        return list(others)
    picked: Iterable[float] = np.linspace(0, len(others) - 1, most)
    return [others[round(at)] for at in picked]


def percent(share: float) -> str:
    """A share as text, for example ``12.3%``."""
    return f"{100 * share:.1f}%" if share >= 0.0005 else "less than 0.05%"
