"""Plain passes under a stopwatch, and what this machine can do: for measurements that a learner starts.

A :class:`Meter` runs the model's own forward method without any capture. Between two blocks it gives its turn
back, and where the prompt is long also between two matrices of a block, so that another learner's step waits
for less than one such step. The time spent waiting is taken off: figures come from the monotonic clock around
the engine alone.
"""

from __future__ import annotations

import copy
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from core.engine.model import LoadedModel
from core.engine.scheduler import BACKGROUND, SerialScheduler

PEAK_SIZE = 1024
"""Rows and columns of the square matrices whose product shows the machine's peak."""
LONG_TOKENS = 64
"""Up to so many tokens one block takes far less than a decode step, which goes through all blocks."""
_PEAK_ROUNDS = 8
_READ_ROUNDS = 5


class Stopped(Exception):  # noqa: N818 - not an error: the learner asked for it
    """The measurement was asked to stop."""


@dataclass(frozen=True)
class Timed:
    """One plain pass. ``seconds`` without ``waited_s``, the time given to other learners; ``logits`` (V,)."""

    seconds: float
    waited_s: float
    logits: np.ndarray


@dataclass(frozen=True)
class Machine:
    """What this machine reached: ``bandwidth`` bytes read per second, ``peak`` FLOPs per second.

    ``threads`` is how many threads torch used; ``dtype`` the type of number in both.
    """

    bandwidth: float
    peak: float
    threads: int
    dtype: str


def never() -> bool:
    """The answer of a measurement that nobody stops."""
    return False


class Turn:
    """A background turn that can be given back and taken again in the middle of a forward pass."""

    def __init__(self, scheduler: SerialScheduler, stop: Callable[[], bool]) -> None:
        self._scheduler = scheduler
        self._stop = stop
        self._held = ExitStack()
        self._thread = threading.get_ident()
        self.waited_s = 0.0

    def take(self) -> None:
        if self._stop():
            raise Stopped
        self._held.enter_context(self._scheduler.turn(BACKGROUND))

    def give_way(self, *_: Any) -> None:
        """Let others pass. Hooks sit on shared modules, so passes of other threads come by here as well."""
        if threading.get_ident() != self._thread:
            return
        began = time.perf_counter()
        self.end()
        self.take()
        self.waited_s += time.perf_counter() - began

    def end(self) -> None:
        self._held.close()


class Meter:
    """Times plain forward passes of one model. ``stop`` is asked before each block; True ends with Stopped.

    Example::

        meter = Meter(model)
        meter.prefill(ids).seconds
        meter.step(7042).seconds          # on the cache that the prefill left
        meter.uncached([*ids, 7042])      # the same position without a cache
    """

    def __init__(self, model: LoadedModel, stop: Callable[[], bool] = never) -> None:
        self._model = model
        self._stop = stop
        self._cache: Any = None

    def prefill(self, token_ids: Sequence[int]) -> Timed:
        """A whole prompt in one pass, into a new cache. One LM head row, as for generating."""
        self._cache = DynamicCache(config=self._model.hf_model.config)
        return self._forward(token_ids, self._cache)

    def step(self, token_id: int, keep: bool = True) -> Timed:
        """One more token on the cache of the last ``prefill``, which grows by one column.

        ``keep=False`` works on a copy of the cache, made before the clock starts: a call repeats the step.
        """
        assert self._cache is not None, "prefill first"
        return self._forward([token_id], self._cache if keep else copy.deepcopy(self._cache))

    def uncached(self, token_ids: Sequence[int]) -> Timed:
        """The whole text from its start, nothing kept: what each token would cost without a cache."""
        return self._forward(token_ids, None)

    def _forward(self, token_ids: Sequence[int], cache: Any) -> Timed:
        ids = torch.tensor([list(token_ids)])
        with (
            _one_at_a_time(self._stop),
            self._turn() as turn,
            torch.inference_mode(),
            _on_the_way(self._model, turn.give_way, long=len(token_ids) > LONG_TOKENS),
        ):
            began = time.perf_counter()
            output = self._model.hf_model(
                input_ids=ids, cache=cache, use_cache=cache is not None, logits_to_keep=1
            )
            ended = time.perf_counter()
            logits = output.logits[0, -1].float().numpy()
        return Timed(ended - began - turn.waited_s, turn.waited_s, logits)

    @contextmanager
    def _turn(self) -> Iterator[Turn]:
        turn = Turn(self._model.scheduler, self._stop)
        turn.take()
        try:
            yield turn
        finally:
            turn.end()

    def tracing_ratio(self, token_ids: Sequence[int], rounds: int = 9) -> tuple[float, float]:
        """What the app's own looking costs: traced over plain, for a prefill and for a decode step.

        Medians over neighbouring pairs, the order turned each time; one pair each is thrown away.
        """
        token = token_ids[-1]
        traced = self._model.prefill(token_ids, priority=BACKGROUND)
        prefill = _paired(
            lambda: self._model.prefill(token_ids, priority=BACKGROUND).timing.total_s,
            lambda: self.prefill(token_ids).seconds,
            rounds,
        )
        decode = _paired(
            lambda: self._model.step(traced, token, priority=BACKGROUND).timing.total_s,
            lambda: self.step(token).seconds,
            rounds,
        )
        return prefill, decode

    def machine(self) -> Machine:
        """Bandwidth and peak, measured on this machine as it is now, in the model's own type of number."""
        dtype = self._model.roles.embedding.weight.dtype
        return Machine(
            bandwidth=self._bandwidth(),
            peak=self._peak(dtype),
            threads=torch.get_num_threads(),
            dtype=self._model.shape.dtype,
        )

    def _bandwidth(self) -> float:
        """Bytes per second while the model's weight matrices are read once each, the best of a few rounds.

        Each matrix is multiplied with one vector: two operations a number, so that memory sets the pace.
        """
        matrices = [p for p in self._model.hf_model.parameters() if p.dim() == 2]
        vectors = {p.shape[1]: torch.ones(p.shape[1], dtype=p.dtype) for p in matrices}
        n_bytes = sum(p.numel() * p.element_size() for p in matrices)
        best = 0.0
        for _ in range(_READ_ROUNDS):
            spent = 0.0
            for matrix in matrices:
                spent += self._clocked(lambda m=matrix: torch.mv(m, vectors[m.shape[1]]))  # type: ignore[misc]
            best = max(best, n_bytes / spent)
        return best

    def _peak(self, dtype: torch.dtype) -> float:
        """FLOPs per second of one square matrix product, the best of a few rounds."""
        left = torch.ones(PEAK_SIZE, PEAK_SIZE, dtype=dtype)
        flops = 2 * PEAK_SIZE**3
        return max(flops / self._clocked(lambda: left @ left) for _ in range(_PEAK_ROUNDS))

    def _clocked(self, work: Callable[[], object]) -> float:
        with self._turn(), torch.inference_mode():
            began = time.perf_counter()
            work()
            return time.perf_counter() - began


@contextmanager
def _one_at_a_time(stop: Callable[[], bool]) -> Iterator[None]:
    """Two measurements take turns pass by pass; block by block they would slow each other down."""
    while not _MEASURING.acquire(timeout=0.1):
        if stop():
            raise Stopped
    try:
        yield
    finally:
        _MEASURING.release()


_MEASURING = threading.Lock()


@contextmanager
def _on_the_way(model: LoadedModel, call: Callable[..., None], long: bool) -> Iterator[None]:
    """Call ``call`` before each block, and in a ``long`` pass before each part of it that holds a matrix."""
    parts = [role.block for role in model.roles.blocks]
    if long:
        parts += [part for block in parts for part in block.modules() if _holds_matrix(part)]
    hooks = [part.register_forward_pre_hook(call) for part in parts]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _holds_matrix(part: torch.nn.Module) -> bool:
    return any(weight.dim() > 1 for weight in part.parameters(recurse=False))


def _paired(first: Callable[[], float], second: Callable[[], float], rounds: int) -> float:
    first(), second()
    ratios = []
    for index in range(rounds):
        if index % 2:
            below, above = second(), first()
        else:
            above, below = first(), second()
        ratios.append(above / below)
    return statistics.median(ratios)
