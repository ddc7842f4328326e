"""A measurement over a long prompt is never in another learner's way for longer than one step takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from core.engine.measure import Meter
from core.engine.scheduler import INTERACTIVE, SerialScheduler

TOKENS = 1024
ROUNDS = 3
STEPS = 9
TEXT = "Once upon a time a river rose in the hills, where the rain of a hundred valleys gathers in one bed. "


class _Timed(SerialScheduler):
    """Notes how long each turn was held."""

    def __init__(self) -> None:
        super().__init__()
        self.held_s: list[float] = []

    @contextmanager
    def turn(self, priority: int = INTERACTIVE) -> Iterator[None]:
        with super().turn(priority):
            began = time.perf_counter()
            try:
                yield
            finally:
                self.held_s.append(time.perf_counter() - began)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.load
@pytest.mark.usefixtures("two_threads")
def test_a_measured_prompt_of_1024_tokens_never_holds_the_model_for_longer_than_a_step(
    real_model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheduler = _Timed()
    monkeypatch.setattr(real_model, "scheduler", scheduler)
    ids = real_model.codec.encode(TEXT * 60)[:TOKENS]
    tip, steps = real_model.prefill(ids[:16]), []
    for _ in range(STEPS):
        began = time.perf_counter()
        tip = real_model.step(tip, int(tip.logits.argmax()))
        steps.append(time.perf_counter() - began)
    rounds = []
    for _ in range(ROUNDS):
        scheduler.held_s.clear()
        Meter(real_model).prefill(ids)
        rounds.append(list(scheduler.held_s))
    assert len({len(turns) for turns in rounds}) == 1 and len(rounds[0]) > 100
    longest = max(
        min(turns) for turns in zip(*rounds, strict=True)
    )  # what the machine did meanwhile only adds
    step = statistics.median(steps)
    print(f"longest turn {longest * 1e3:.0f} ms of {len(rounds[0])}, one step {step * 1e3:.0f} ms")
    assert longest < step
