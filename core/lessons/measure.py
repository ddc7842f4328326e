"""Measurements that a learner starts, as plans for a :class:`core.lessons.job.Job`: what each one yields."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from core.decoding.params import SamplingParams
from core.decoding.sampling import choose, pipeline
from core.engine.measure import Machine, Meter
from core.lessons.job import Plan, Report

LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024)
PREFILL_ROUNDS = 3
DECODE_ROUNDS = 5
STEP_ROUNDS = 5
RATIO_LENGTH = 16
"""Prompt length at which the cost of looking is measured: short, as a traced pass is one turn."""


# --- time to first token ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class LengthTimes:
    """Medians for one prompt length, in seconds. ``prefill`` holds every counted round."""

    tokens: int
    tokenise_s: float
    prefill_s: float
    choose_s: float
    decode_s: float
    prefill: tuple[float, ...]
    decode: tuple[float, ...]

    @property
    def ttft_s(self) -> float:
        """Time to first token: cut the text, read it in one pass, choose."""
        return self.tokenise_s + self.prefill_s + self.choose_s

    @property
    def prefill_per_token_s(self) -> float:
        return self.prefill_s / self.tokens


@dataclass(frozen=True)
class LengthsResult:
    """What the measurement against prompt length knows so far.

    ``ratios``: time of a traced pass over a plain one (prefill, decode).
    ``waited_s``: the time that other learners' steps were let through, taken off the figures.
    """

    rows: tuple[LengthTimes, ...] = ()
    machine: Machine | None = None
    ratios: tuple[float, float] | None = None
    waited_s: float = 0.0


def lengths_up_to(longest: int, context: int) -> tuple[int, ...]:
    """The prompt lengths to measure; room is left in the model's context for the decode steps."""
    room = context - DECODE_ROUNDS - 1 if context else longest
    return tuple(length for length in LENGTHS if length <= min(longest, room))


def lengths_plan(model: Any, prompt_ids: Sequence[int], lengths: Sequence[int]) -> Plan:
    """Time to first token and time of a decode step at each prompt length, then the machine's limits.

    The prompts are the given one repeated. For each length one prefill and one step are thrown away.
    """

    def plan(stop: Callable[[], bool]) -> Generator[Report]:
        total = float(sum(_length_cost(length) for length in lengths)) + 3 * _length_cost(RATIO_LENGTH)
        meter, result, done = Meter(model, stop), LengthsResult(), 0.0
        yield Report(done, total, result)
        ratio_length = min(RATIO_LENGTH, max(lengths))
        for length in sorted(lengths):
            measured = _Length(model, meter, _repeated(prompt_ids, length))
            for share in measured.rounds():
                yield Report(done + share * _length_cost(length), total, result)
            done += _length_cost(length)
            rows, waited = (*result.rows, measured.times()), result.waited_s + measured.waited_s
            result = replace(result, rows=rows, waited_s=waited)
            yield Report(done, total, result)
        result = replace(result, machine=meter.machine())
        yield Report(done, total, result)
        meter.prefill(_repeated(prompt_ids, ratio_length))
        result = replace(result, ratios=meter.tracing_ratio(_repeated(prompt_ids, ratio_length)))
        yield Report(total, total, result)

    return plan


def _length_cost(length: int) -> int:
    """Passes weighed by their tokens, so that the progress bar moves evenly."""
    return (PREFILL_ROUNDS + 1) * (length + 8) + (DECODE_ROUNDS + 1) * 8


@dataclass
class _Length:
    """The rounds of one prompt length."""

    model: Any
    meter: Meter
    ids: list[int]
    tokenise: list[float] = field(default_factory=list)
    prefill: list[float] = field(default_factory=list)
    choose: list[float] = field(default_factory=list)
    decode: list[float] = field(default_factory=list)
    waited_s: float = 0.0

    def rounds(self) -> Iterator[float]:
        """Do the rounds; yields the share that is done."""
        text = self.model.codec.decode(self.ids)
        passes = PREFILL_ROUNDS + 1 + DECODE_ROUNDS + 1
        for index in range(PREFILL_ROUNDS + 1):
            self.tokenise.append(_clocked(lambda: self.model.codec.encode(text)))
            made = self.meter.prefill(self.ids)
            self._note(self.prefill, made)
            self.choose.append(_clocked(lambda logits=made.logits: _choice(logits, self.ids)))  # type: ignore[misc]
            yield (index + 1) / passes
        for index in range(DECODE_ROUNDS + 1):
            self._note(self.decode, self.meter.step(self.ids[index % len(self.ids)]))
            yield (PREFILL_ROUNDS + 2 + index) / passes

    def _note(self, into: list[float], made: Any) -> None:
        into.append(made.seconds)
        self.waited_s += made.waited_s

    def times(self) -> LengthTimes:
        """Medians without the first round of each."""
        return LengthTimes(
            tokens=len(self.ids),
            tokenise_s=_median(self.tokenise),
            prefill_s=_median(self.prefill),
            choose_s=_median(self.choose),
            decode_s=_median(self.decode),
            prefill=tuple(self.prefill[1:]),
            decode=tuple(self.decode[1:]),
        )


def _median(values: Sequence[float]) -> float:
    """Median without the first value, the warm-up."""
    return statistics.median(values[1:])


def _choice(logits: np.ndarray, ids: Sequence[int]) -> int:
    return choose(pipeline(logits, SamplingParams(), ids), 0.5).token_id


def _clocked(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _repeated(ids: Sequence[int], length: int) -> list[int]:
    return (list(ids) * (length // len(ids) + 1))[:length]


# --- one step with and without the cache -----------------------------------------------------------------


@dataclass(frozen=True)
class StepResult:
    """The same step twice. ``difference``: the largest gap between the two rows of logits.

    ``position`` is where the token stands, so ``position + 1`` tokens are in the context. ``same_favourite``:
    both give the same likeliest next token.
    """

    token_id: int
    position: int
    cached: tuple[float, ...] = ()
    uncached: tuple[float, ...] = ()
    difference: float | None = None
    same_favourite: bool = True
    largest_logit: float = 1.0

    @property
    def cached_s(self) -> float:
        return statistics.median(self.cached)

    @property
    def uncached_s(self) -> float:
        return statistics.median(self.uncached)


def step_plan(model: Any, token_ids: Sequence[int]) -> Plan:
    """The step that processes the last of ``token_ids``, with the cache of the others and without any.

    Both in turns, the first of each thrown away. Needs two tokens at least.
    """

    def plan(stop: Callable[[], bool]) -> Generator[Report]:
        meter = Meter(model, stop)
        result = StepResult(token_ids[-1], len(token_ids) - 1)
        total = 2 * (STEP_ROUNDS + 1)
        yield Report(0, total, result)
        meter.prefill(token_ids[:-1])
        for index in range(STEP_ROUNDS + 1):
            cached = meter.step(token_ids[-1], keep=False)
            yield Report(2 * index + 1, total, result)
            uncached = meter.uncached(token_ids)
            if index:
                result = replace(
                    result,
                    cached=(*result.cached, cached.seconds),
                    uncached=(*result.uncached, uncached.seconds),
                    difference=max(result.difference or 0.0, _gap(cached.logits, uncached.logits)),
                    same_favourite=bool(cached.logits.argmax() == uncached.logits.argmax()),
                    largest_logit=float(np.abs(uncached.logits).max()),
                )
            yield Report(2 * index + 2, total, result)

    return plan


def _gap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max())


# --- a whole answer with and without the cache -----------------------------------------------------------


@dataclass(frozen=True)
class AnswerResult:
    """Seconds of each of the answer's tokens, as far as measured. The first one comes from the prefill."""

    prompt_tokens: int
    cached: tuple[float, ...] = ()
    uncached: tuple[float, ...] = ()
    difference: float = 0.0
    largest_logit: float = 1.0


def answer_plan(model: Any, prompt_ids: Sequence[int], count: int) -> Plan:
    """Write ``count`` tokens, the likeliest each time, and time each pass with and without the cache.

    The first token costs the same either way: the prompt in one pass.
    """

    def plan(stop: Callable[[], bool]) -> Generator[Report]:
        meter, ids = Meter(model, stop), list(prompt_ids)
        result = AnswerResult(len(ids))
        meter.prefill(ids)  # warm-up
        yield Report(0, count, result)
        for index in range(count):
            cached = meter.step(ids[-1]) if index else meter.prefill(ids)
            uncached = meter.uncached(ids)
            ids.append(int(cached.logits.argmax()))
            result = replace(
                result,
                cached=(*result.cached, cached.seconds),
                uncached=(*result.uncached, uncached.seconds),
                difference=max(result.difference, _gap(cached.logits, uncached.logits)),
                largest_logit=max(result.largest_logit, float(np.abs(uncached.logits).max())),
            )
            yield Report(index + 1, count, result)

    return plan


@dataclass(frozen=True)
class Curve:
    """Seconds for the first 1, 2, … tokens of an answer; ``measured`` of them measured, the rest fitted."""

    seconds: tuple[float, ...]
    measured: int


def total_curve(per_token: Sequence[float], count: int) -> Curve:
    """Running total up to ``count`` tokens. Each token beyond the measured ones costs what a line says.

    The straight line is fitted to the measured decode steps (the first token, the prefill, is left out) by
    least squares with a slope of zero or more; one step alone is carried on as it is.
    """
    measured = len(per_token)
    steps = np.asarray(per_token[1:] if measured > 1 else per_token, dtype=np.float64)
    at = np.arange(steps.size, dtype=np.float64) + 1
    slope = 0.0
    if steps.size > 1:
        centred = at - at.mean()
        slope = max(0.0, float((centred * steps).sum() / (centred**2).sum()))
    start = float(steps.mean() - slope * at.mean()) if steps.size else 0.0
    further = [max(0.0, start + slope * index) for index in range(measured, count)]
    totals = np.cumsum([*per_token, *further])
    return Curve(tuple(float(total) for total in totals), measured)
