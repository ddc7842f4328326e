"""A training run in one learner's page leaves another learner's steps fast enough."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from core.engine.measure import Stopped
from core.engine.training.learner_copy import LearnerCopy

ROUNDS = 5
STEPS = 12
TEXT = "Once upon a time a river rose in the hills, where the rain of a hundred valleys gathers in one bed. "
TOKENS = 64


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def _step_seconds(model: Any) -> list[float]:
    """What a learner waits for each of some steps, one right after the other."""
    tip = model.prefill(model.codec.encode("The capital of France is"))
    seconds = []
    for _ in range(STEPS):
        began = time.perf_counter()
        tip = model.step(tip, int(tip.logits.argmax()))
        seconds.append(time.perf_counter() - began)
    return seconds


class _Training:
    """Steps without end on all weights, until told to stop."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._stop = threading.Event()
        self._running = threading.Event()
        self.steps = 0
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> _Training:
        self._thread.start()
        assert self._running.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(120)
        assert not self._thread.is_alive()

    def _work(self) -> None:
        ids = self._model.codec.encode(TEXT * 5)[:TOKENS]
        try:
            with LearnerCopy(self._model, "all", self._stop.is_set) as copy:
                reading, optimiser = copy.read(ids), copy.optimiser("adamw", 1e-5)
                while True:
                    self._running.set()
                    copy.gradient(reading)
                    copy.step(optimiser)
                    self.steps += 1
        except Stopped:
            pass


@pytest.mark.load
@pytest.mark.usefixtures("two_threads")
def test_training_slows_another_learner_s_steps_by_less_than_twice(real_model: Any) -> None:
    _step_seconds(real_model)
    quiet, busy, steps = [], [], 0
    for _ in range(ROUNDS):
        quiet += _step_seconds(real_model)
        with _Training(real_model) as training:
            busy += _step_seconds(real_model)
        steps += training.steps
    alone, beside = statistics.median(quiet), statistics.median(busy)
    print(
        f"a step: {alone * 1e3:.0f} ms alone, {beside * 1e3:.0f} ms beside training "
        f"({beside / alone:.2f}×; the slowest of each: {max(quiet) * 1e3:.0f}, {max(busy) * 1e3:.0f} ms; "
        f"{steps} training steps)"
    )
    assert beside <= 2 * alone
