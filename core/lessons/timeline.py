"""The run as time, from its own clock: how long each pass took, stage by stage, and what it computed."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.lessons.costs import CostShape
from core.lessons.costs_compute import Intensity, decode_intensity, prefill_intensity
from core.lessons.measure import LengthsResult

BLOCK = 64
"""Prompt positions whose predictions are worked out together."""
_KV_TYPE = {4: "fp32", 2: "bf16", 1: "fp8"}
"""Bytes of a number as the counting module names the type."""


@dataclass(frozen=True)
class TimedPass:
    """One pass on the clock, in seconds. ``choose_s``: the choice after it, None while none is made.

    ``start`` and ``end``: the positions [start, end) that it processed. ``stages``: embedding, each block,
    then final norm and LM head; they add up to ``total_s``.
    """

    start: int
    end: int
    stages: tuple[float, ...]
    total_s: float
    choose_s: float | None

    @property
    def is_prefill(self) -> bool:
        return self.start == 0


@dataclass(frozen=True)
class Timeline:
    """The passes of a run up to its cursor, the prefill first. Times in seconds."""

    tokenise_s: float
    passes: tuple[TimedPass, ...]

    @property
    def ttft_s(self) -> float | None:
        """Time to first token: cut the text, prefill, choose. None while no token is chosen."""
        first = self.passes[0]
        return None if first.choose_s is None else self.tokenise_s + first.total_s + first.choose_s

    @property
    def gaps(self) -> tuple[float, ...]:
        """Time from each chosen token to the next: the step that reads it, and the next choice."""
        return tuple(p.total_s + p.choose_s for p in self.passes[1:] if p.choose_s is not None)

    @property
    def gap_s(self) -> float | None:
        """Inter-token latency: the median of ``gaps``; None with fewer than two tokens."""
        return statistics.median(self.gaps) if self.gaps else None

    @property
    def total_s(self) -> float:
        """All of it, one after the other; the learner's own pauses are not in it."""
        return self.tokenise_s + sum(p.total_s + (p.choose_s or 0.0) for p in self.passes)

    @property
    def stage_error(self) -> float:
        """Largest gap in seconds between a pass's own total and the sum of its stages."""
        return max(abs(p.total_s - sum(p.stages)) for p in self.passes)

    def table(self) -> np.ndarray:
        """(passes, 3 + layers) seconds: choice after the pass, embedding, blocks, head; for the browser."""
        return np.array([(p.choose_s or 0.0, *p.stages) for p in self.passes])


def timeline(run: Any, passes: Sequence[Any], tokenise_s: float) -> Timeline:
    """The timeline of ``run`` up to its cursor. ``passes``: those of its trace.

    A choice belongs to the pass whose logits it was made from, so a choice ahead of the cursor (one that was
    stepped back over) is left out.
    """
    steps = run.steps[: run.cursor]
    return Timeline(
        tokenise_s,
        tuple(
            TimedPass(
                made.start,
                made.end,
                (made.timing.embed_s, *made.timing.layer_s, made.timing.head_s),
                made.timing.total_s,
                steps[index].sampling_s if index < len(steps) else None,
            )
            for index, made in enumerate(passes)
        ),
    )


def tokenise_seconds(run: Any, encode: Callable[[], object]) -> tuple[float, bool]:
    """Seconds of cutting the text, and whether they are of the run itself.

    A run that did not keep them gets them measured now, on the same text: one call thrown away, then the
    median of three. Kept for the run's prompt.
    """
    if run.tokenise_s:
        return run.tokenise_s, True
    known = _TOKENISED.get(run.tree)
    if known is None:
        encode()
        known = _TOKENISED[run.tree] = statistics.median(_clocked(encode) for _ in range(3))
    return known, False


def _clocked(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


_TOKENISED: WeakKeyDictionary[Any, float] = WeakKeyDictionary()


# --- what prefill computes and nobody uses ---------------------------------------------------------------


@dataclass(frozen=True)
class Guess:
    """What prefill predicted at one prompt position.

    ``given_id``: the token that stands next, None at the end of the prompt.
    ``used``: the prediction at the last position, from which the first new token is chosen.
    """

    position: int
    token_id: int
    probability: float
    given_id: int | None

    @property
    def used(self) -> bool:
        return self.given_id is None

    @property
    def right(self) -> bool:
        return self.token_id == self.given_id


def prompt_guesses(trace: Any, n_layers: int, position: int) -> list[Guess]:
    """Predictions at the prompt positions of the block that holds ``position``, and at the last one."""
    count = trace.n_prompt
    first = min(position, count - 1) // BLOCK * BLOCK
    places = list(range(first, min(first + BLOCK, count)))
    ids, chances = _favourites(trace, n_layers, first // BLOCK)
    guesses = [_guess(trace, *row) for row in zip(places, ids, chances, strict=True)]
    if places[-1] != count - 1:
        ids, chances = _favourites(trace, n_layers, (count - 1) // BLOCK)
        guesses.append(_guess(trace, count - 1, ids[-1], chances[-1]))
    return guesses


def _guess(trace: Any, position: int, token_id: int, probability: float) -> Guess:
    given = trace.token_ids[position + 1] if position + 1 < trace.n_prompt else None
    return Guess(position, int(token_id), float(probability), given)


def _favourites(trace: Any, n_layers: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Likeliest token and its probability at the prompt positions of a block; kept with the prefill."""
    prefill, count = trace.passes[0], trace.n_prompt
    kept = _FAVOURITES.setdefault(prefill, {})
    if block not in kept:
        if count <= BLOCK:
            top = trace.lens_top(n_layers, 1)  # shared with the other pages
            kept[block] = top.ids[:count, 0].copy(), top.probabilities[:count, 0].copy()
        else:
            places = range(block * BLOCK, min((block + 1) * BLOCK, count))
            logits = trace.lens(n_layers, places)
            largest = logits.max(axis=-1, keepdims=True)
            kept[block] = logits.argmax(axis=-1), 1.0 / np.exp(logits - largest).sum(axis=-1)
    return kept[block]


_FAVOURITES: WeakKeyDictionary[Any, dict[int, tuple[np.ndarray, np.ndarray]]] = WeakKeyDictionary()


def guess_error(trace: Any, guesses: Sequence[Guess]) -> float:
    """How far the used prediction's probability is from the softmax of the run's own logits."""
    last = next(guess for guess in guesses if guess.used)
    logits = trace.passes[0].logits.astype(np.float64)
    chances = np.exp(logits - logits.max())
    return abs(float(chances[last.token_id] / chances.sum()) - last.probability)


# --- compute-bound or memory-bound -----------------------------------------------------------------------


@dataclass(frozen=True)
class Dot:
    """One pass on the roofline. ``reached``: FLOPs per second; ``roof``: the most that is possible."""

    kind: str
    tokens: int
    flops_per_byte: float
    reached: float
    roof: float
    memory_bound: bool


@dataclass(frozen=True)
class Roofline:
    """The machine's two limits and the measured passes. ``ridge``: FLOPs per byte where they meet.

    Source: Williams, Waterman, Patterson: "Roofline" (2009).
    """

    bandwidth: float
    peak: float
    dots: tuple[Dot, ...]

    @property
    def ridge(self) -> float:
        return self.peak / self.bandwidth

    def roof(self, flops_per_byte: float) -> float:
        """The most FLOPs per second at this intensity."""
        return min(self.peak, self.bandwidth * flops_per_byte)


def roofline(result: LengthsResult, cost: CostShape | None, number_bytes: int) -> Roofline | None:
    """Prefill of every measured length and the decode steps after it, against the machine's limits.

    FLOPs and bytes are counted from the model's shape, seconds are measured. None while the machine is not
    measured, or for a model whose shape cannot be counted.
    """
    if result.machine is None or cost is None or number_bytes not in _KV_TYPE:
        return None
    bare = Roofline(result.machine.bandwidth, result.machine.peak, ())
    dots: list[Dot] = []
    dtype = _KV_TYPE[number_bytes]
    for row in result.rows:
        prefill = prefill_intensity(cost, row.tokens, 1, dtype, number_bytes)
        dots.append(_dot(bare, "prefill", row.tokens, prefill, row.prefill_s))
        context = row.tokens + 1 + len(row.decode) // 2 + 1  # the middle of the counted steps
        decode = decode_intensity(cost, context, 1, dtype, number_bytes)
        dots.append(_dot(bare, "decode", row.tokens, decode, row.decode_s))
    return Roofline(bare.bandwidth, bare.peak, tuple(dots))


def _dot(bare: Roofline, kind: str, tokens: int, work: Intensity, seconds: float) -> Dot:
    intensity = work.flops_per_byte
    return Dot(kind, tokens, intensity, work.flops / seconds, bare.roof(intensity), intensity < bare.ridge)
