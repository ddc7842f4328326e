"""Heads or whole attention layers switched off, and the next token's chances before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.decoding.sampling import top_ids
from core.engine.experiment import Experiment
from core.lessons.attention import softmax

SHOWN = 8


@dataclass(frozen=True)
class SwitchedOff:
    """What is switched off: (layer, head) pairs, and layers whose attention adds nothing at all."""

    heads: frozenset[tuple[int, int]] = frozenset()
    layers: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.heads or self.layers)

    def toggled_head(self, layer: int, head: int) -> SwitchedOff:
        """With this head switched the other way."""
        return SwitchedOff(self.heads ^ {(layer, head)}, self.layers)

    def toggled_layer(self, layer: int) -> SwitchedOff:
        """With this layer's attention switched the other way."""
        return SwitchedOff(self.heads, self.layers ^ {layer})

    def inside(self, n_layers: int, n_heads: int) -> SwitchedOff:
        """Without places that a model of this size does not have."""
        return SwitchedOff(
            frozenset((layer, head) for layer, head in self.heads if layer < n_layers and head < n_heads),
            frozenset(layer for layer in self.layers if layer < n_layers),
        )


@dataclass(frozen=True)
class Comparison:
    """The next token's chances with the model as it is and with parts switched off, over all V tokens.

    Attributes:
        token_ids: the likeliest tokens of either, ordered by their chance before.
        before, after: (n,) their probabilities (temperature 1, no filter).
        rest_before, rest_after: the probability of all other tokens together.
        moved: the share of the probability that is somewhere else now (total variation, 0 to 1).
    """

    token_ids: tuple[int, ...]
    before: np.ndarray
    after: np.ndarray
    rest_before: float
    rest_after: float
    moved: float

    @property
    def favourites(self) -> tuple[int, int]:
        """The likeliest token before and after."""
        return self.token_ids[int(self.before.argmax())], self.token_ids[int(self.after.argmax())]


def compare(model: Any, trace: Any, off: SwitchedOff) -> Comparison:
    """Read the whole text again in one pass with parts switched off; the run itself is not touched.

    The result is kept with the run's last pass, so drawing the page again does not run the model again.
    """
    known = _KNOWN.setdefault(trace.tip, {})
    if off not in known:
        changed = Experiment(heads_off=off.heads, attention_off=off.layers)
        made = model.prefill(trace.token_ids, changed)
        known[off] = comparison(trace.tip.logits, made.logits)
    return known[off]


def comparison(logits_before: np.ndarray, logits_after: np.ndarray) -> Comparison:
    """Two (V,) vectors of logits as distributions side by side."""
    before, after = softmax(logits_before), softmax(logits_after)
    count = min(SHOWN, before.size)
    ids = {int(i) for logits in (logits_before, logits_after) for i in top_ids(logits, count)}
    order = tuple(sorted(ids, key=lambda i: (-before[i], i)))
    chosen = list(order)
    return Comparison(
        token_ids=order,
        before=before[chosen],
        after=after[chosen],
        rest_before=float(max(0.0, 1 - before[chosen].sum())),
        rest_after=float(max(0.0, 1 - after[chosen].sum())),
        moved=float(np.abs(before - after).sum() / 2),
    )


_KNOWN: WeakKeyDictionary[Any, dict[SwitchedOff, Comparison]] = WeakKeyDictionary()
