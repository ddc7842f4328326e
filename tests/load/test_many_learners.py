"""Many learners step at once through one model: nobody waits without end, no two runs are mixed."""

from __future__ import annotations

import statistics
import threading
import time
from typing import Any

import pytest

from core.decoding.run import Run
from core.decoding.sampling import SamplingParams

LEARNERS = 12
STEPS = 6
PROMPTS = ["The capital of France is", "Dog bites man", "Once upon a time", "1, 2, 3, 4,"]


def _walk(model: Any, prompt: str, seed: int) -> tuple[list[int], list[float]]:
    """The tokens of one learner's run, and the seconds of each of its steps."""
    run = Run.start(model, model.codec.encode(prompt))
    seconds = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        run.next(SamplingParams(seed=seed))
        seconds.append(time.perf_counter() - begin)
    return [step.token_id for step in run.steps], seconds


@pytest.mark.load
def test_many_learners_each_get_the_run_they_would_get_alone(real_model: Any) -> None:
    places = [(PROMPTS[i % len(PROMPTS)], i) for i in range(LEARNERS)]
    alone = [_walk(real_model, *place) for place in places]
    together: dict[int, tuple[list[int], list[float]]] = {}

    def learner(index: int) -> None:
        together[index] = _walk(real_model, *places[index])

    threads = [threading.Thread(target=learner, args=(i,)) for i in range(LEARNERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=240)
    assert [together[i][0] for i in range(LEARNERS)] == [tokens for tokens, _ in alone]

    one = statistics.median(second for _, seconds in alone for second in seconds)
    many = statistics.median(second for _, seconds in together.values() for second in seconds)
    # Twelve in a queue may each wait for eleven others; twice that leaves room for a busy machine.
    assert many < 2 * LEARNERS * one, f"a step: {one * 1e3:.0f} ms alone, {many * 1e3:.0f} ms together"
