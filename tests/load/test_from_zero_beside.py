"""A learner trains a model from zero while another one steps, whose steps stay under twice as long."""

from __future__ import annotations

import statistics
import time
from typing import Any

import pytest

from core.decoding.run import Run
from core.decoding.sampling import SamplingParams
from core.engine.training.from_zero import Settings
from core.lessons.from_zero import Training, offered_text
from core.lessons.job import Job

ROUNDS = 6
STEPS = 8
PAUSE_S = 0.03  # a learner looks at each token; meanwhile the training has the turn, as it would have
PROMPT = "The capital of France is"


def _steps(model: Any) -> list[float]:
    """Seconds of each step of another learner's run; the first one warms up."""
    run = Run.start(model, model.codec.encode(PROMPT))
    seconds = []
    for _ in range(STEPS + 1):
        time.sleep(PAUSE_S)
        began = time.perf_counter()
        run.next(SamplingParams(temperature=0.0))
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


@pytest.mark.load
@pytest.mark.parametrize("width", [96, 128])
def test_training_from_zero_slows_another_learners_step_less_than_twice(real_model: Any, width: int) -> None:
    training = Training(offered_text("story"), Settings(width=width), "{steps}")
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(ROUNDS):  # in turns, so that a machine that gets slower or faster changes both
        alone += _steps(real_model)
        before = training.steps
        job = Job(training.plan(100_000))
        while training.steps < before + 3:
            job.join(0.01)
        beside += _steps(real_model)
        assert job.running and training.steps > before + 3, "it trained all the while"
        job.stop()
        job.join(60)
    one, two = statistics.median(alone), statistics.median(beside)
    print(f"width {width}: a step {one * 1e3:.1f} ms alone, {two * 1e3:.1f} ms beside: {two / one:.2f}")
    assert two < 2 * one, f"a step: {one * 1e3:.1f} ms alone, {two * 1e3:.1f} ms beside a training run"
