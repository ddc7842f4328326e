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


def _step_seconds(model: Any, pause_s: float) -> list[float]:
    """What a learner waits for each of some steps, with so much time to look at each of them."""
    tip = model.prefill(model.codec.encode("The capital of France is"))
    seconds = []
    for _ in range(STEPS):
        time.sleep(pause_s)
        began = time.perf_counter()
        tip = model.step(tip, int(tip.logits.argmax()))
        seconds.append(time.perf_counter() - began)
    return seconds


class _Training:
    """Steps without end on all weights, until told to stop. ``pieces``: how often it got a turn."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._stop = threading.Event()
        self._running = threading.Event()
        self.pieces = 0
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> _Training:
        self._thread.start()
        assert self._running.wait(120)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(120)
        assert not self._thread.is_alive()

    def _asked_to_stop(self) -> bool:
        self.pieces += 1
        return self._stop.is_set()

    def _work(self) -> None:
        ids = self._model.codec.encode(TEXT * 5)[:TOKENS]
        try:
            with LearnerCopy(self._model, "all", self._asked_to_stop) as copy:
                reading, optimiser = copy.read(ids), copy.optimiser("adamw", 1e-5)
                while True:
                    self._running.set()
                    copy.gradient(reading)
                    copy.step(optimiser)
        except Stopped:
            pass


@pytest.mark.load
@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("pause_s", [0.0, 0.1], ids=["no pause", "a short look"])
def test_training_slows_another_learner_s_steps_by_less_than_twice(real_model: Any, pause_s: float) -> None:
    _step_seconds(real_model, 0.0)
    quiet, busy, pieces = [], [], 0
    for _ in range(ROUNDS):
        quiet += _step_seconds(real_model, pause_s)
        with _Training(real_model) as training:
            before = training.pieces
            busy += _step_seconds(real_model, pause_s)
            pieces += training.pieces - before
    alone, beside = statistics.median(quiet), statistics.median(busy)
    print(
        f"a step: {alone * 1e3:.0f} ms alone, {beside * 1e3:.0f} ms beside training ({beside / alone:.2f}×; "
        f"slowest {max(quiet) * 1e3:.0f} and {max(busy) * 1e3:.0f} ms; {pieces} turns for training)"
    )
    assert beside <= 2 * alone
    assert pieces >= ROUNDS * STEPS / 2, "training hardly ran"
