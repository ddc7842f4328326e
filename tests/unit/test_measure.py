"""Measurements: the right passes are timed, they can be stopped, and they never hold anybody up for long."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from core.engine import measure as engine_measure
from core.engine.measure import Meter, Stopped
from core.engine.model import LoadedModel
from core.engine.scheduler import INTERACTIVE, SerialScheduler
from core.lessons import measure
from core.lessons.job import Job, Report
from tests.unit import tiny


class Codec:
    """Numbers as text, enough for the tokeniser's share of the time."""

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]

    def decode(self, ids: Any) -> str:
        return " ".join(map(str, ids))


def loaded(family: str = "llama", scheduler: SerialScheduler | None = None) -> LoadedModel:
    return LoadedModel("tiny", None, tiny.build(family), Codec(), scheduler or SerialScheduler())  # type: ignore[arg-type]


def finished(plan: measure.Plan) -> list[Report]:
    return list(plan(lambda: False))


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3_text", "qwen2_moe"])
def test_a_measured_pass_computes_what_the_engine_computes(family: str) -> None:
    model, ids = loaded(family), tiny.prompt_ids(12)
    meter = Meter(model)
    prefill = model.prefill(ids[:-1])
    assert np.abs(meter.prefill(ids[:-1]).logits - prefill.logits).max() < 1e-5  # one row of logits, not all
    again = meter.step(ids[-1], keep=False)
    assert np.array_equal(again.logits, meter.step(ids[-1]).logits), "a step on a copy changed the cache"
    assert np.abs(again.logits - model.step(prefill, ids[-1]).logits).max() < 1e-5
    assert np.abs(again.logits - meter.uncached(ids).logits).max() < 1e-4
    assert not np.array_equal(meter.step(ids[-1]).logits, again.logits), "the kept cache did not grow"


def test_another_learner_passes_between_two_blocks_and_the_wait_is_not_counted() -> None:
    """Block 1 waits for a learner who asked while block 0 was running; that wait is taken off the time."""
    scheduler = SerialScheduler()
    model = loaded(scheduler=scheduler)
    order: list[str] = []
    learners: list[threading.Thread] = []

    def learner() -> None:
        with scheduler.turn(INTERACTIVE):
            time.sleep(0.2)
            order.append("learner")

    def block_zero(*_: Any) -> None:
        if not learners:
            learners.append(threading.Thread(target=learner))
            learners[0].start()
            while not scheduler._waiting:
                time.sleep(0.001)

    blocks = [role.block for role in model.roles.blocks]
    blocks[0].register_forward_hook(block_zero)
    blocks[2].register_forward_hook(lambda *_: order.append("last block"))
    timed = Meter(model).prefill(tiny.prompt_ids())
    learners[0].join(5)
    assert order == ["learner", "last block"]
    assert timed.waited_s >= 0.2
    assert timed.seconds >= 0


def test_a_long_pass_gives_way_between_the_matrices_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_measure, "LONG_TOKENS", 8)
    scheduler = SerialScheduler()
    model, order = loaded(scheduler=scheduler), []

    def learner() -> None:
        with scheduler.turn(INTERACTIVE):
            order.append("learner")

    def before_attention(*_: Any) -> None:
        thread = threading.Thread(target=learner)
        thread.start()
        while not scheduler._waiting:
            time.sleep(0.001)

    block = model.roles.blocks[0]
    block.attention.register_forward_pre_hook(before_attention)
    block.out_proj.register_forward_hook(lambda *_: order.append("W_O"))
    Meter(model).prefill(tiny.prompt_ids(8))
    assert order == ["W_O", "learner"], "a short pass gives way at the next block"
    order.clear()
    Meter(model).prefill(tiny.prompt_ids(9))
    assert order == ["learner", "W_O"]


def test_a_learner_may_run_a_traced_pass_in_the_middle_of_a_measured_one() -> None:
    scheduler = SerialScheduler()
    model, ids = loaded(scheduler=scheduler), tiny.prompt_ids()
    alone, plain = model.prefill(ids).logits, Meter(model).prefill(ids).logits
    seen: list[np.ndarray] = []
    once = threading.Event()

    def other(*_: Any) -> None:
        if not once.is_set():
            once.set()
            threading.Thread(target=lambda: seen.append(model.prefill(ids).logits)).start()
            while not scheduler._waiting:
                time.sleep(0.001)

    model.roles.blocks[1].block.register_forward_hook(other)
    measured = Meter(model).prefill(ids).logits
    while not seen:
        time.sleep(0.001)
    assert np.array_equal(measured, plain) and np.array_equal(seen[0], alone)


def test_a_measurement_stops_in_the_middle_of_a_pass_and_gives_its_turn_back() -> None:
    scheduler = SerialScheduler()
    model = loaded(scheduler=scheduler)
    asked = iter([False, False, True])
    with pytest.raises(Stopped):
        Meter(model, lambda: next(asked)).prefill(tiny.prompt_ids())
    assert scheduler._owner is None
    assert not any(role.block._forward_pre_hooks for role in model.roles.blocks)


def test_the_machine_is_measured_in_the_model_s_own_numbers() -> None:
    found = Meter(loaded()).machine()
    assert found.bandwidth > 1e6 and found.peak > 1e8 and found.threads >= 1
    assert found.dtype == "float32"


def test_lengths_leave_room_for_the_decode_steps() -> None:
    assert measure.lengths_up_to(1024, 8192) == (8, 16, 32, 64, 128, 256, 512, 1024)
    assert measure.lengths_up_to(1024, 512) == (8, 16, 32, 64, 128, 256)
    assert measure.lengths_up_to(32, 0) == (8, 16, 32)


def test_the_first_round_is_thrown_away_and_the_rest_give_the_median(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([9.0, 3.0, 1.0, 2.0, 7.0, 0.5, 0.1, 0.2, 0.3, 0.4])

    class Clocked(Meter):
        def _forward(self, token_ids: Any, cache: Any) -> Any:
            return type(super()._forward(token_ids, cache))(next(seconds), 0.25, np.ones(tiny.VOCAB_SIZE))

    model = loaded()
    rounds = measure._Length(model, Clocked(model), tiny.prompt_ids(8))
    assert list(rounds.rounds())[-1] == pytest.approx(1.0)
    times = rounds.times()
    assert times.prefill == (3.0, 1.0, 2.0) and times.prefill_s == 2.0
    assert times.decode == (0.5, 0.1, 0.2, 0.3, 0.4) and times.decode_s == 0.3
    assert times.prefill_per_token_s == 0.25
    assert times.ttft_s == pytest.approx(times.tokenise_s + 2.0 + times.choose_s)
    assert rounds.waited_s == 10 * 0.25


def test_the_measurement_against_length_reports_each_length_and_ends_complete() -> None:
    reports = finished(measure.lengths_plan(loaded(), tiny.prompt_ids(3), (8, 16)))
    assert [len(report.result.rows) for report in reports][-1] == 2
    last = reports[-1]
    assert last.done == last.total and last.result.machine and last.result.ratios
    assert [row.tokens for row in last.result.rows] == [8, 16]
    progress = [report.done for report in reports]
    assert progress == sorted(progress)


def test_the_same_step_gives_the_same_logits_with_and_without_the_cache() -> None:
    result = finished(measure.step_plan(loaded(), tiny.prompt_ids(9)))[-1].result
    assert len(result.cached) == len(result.uncached) == measure.STEP_ROUNDS
    assert result.difference < 1e-4 and result.same_favourite
    assert result.position == 8


def test_an_answer_is_the_greedy_one_and_each_of_its_tokens_is_timed_twice() -> None:
    result = finished(measure.answer_plan(loaded(), tiny.prompt_ids(6), 5))[-1].result
    assert len(result.cached) == len(result.uncached) == 5
    assert result.difference < 1e-4


def test_the_curve_is_a_running_total_and_goes_on_as_a_straight_line() -> None:
    curve = measure.total_curve([5.0, 1.0, 2.0, 3.0], 6)
    assert curve.measured == 4
    assert curve.seconds == pytest.approx((5.0, 6.0, 8.0, 11.0, 15.0, 20.0))
    falling = measure.total_curve([5.0, 3.0, 2.0, 1.0], 6)
    assert falling.seconds[4:] == pytest.approx((13.0, 15.0)), "a falling line is held at its mean"
    assert measure.total_curve([2.0], 3).seconds == pytest.approx((2.0, 4.0, 6.0))


def test_a_job_keeps_what_it_measured_when_it_is_stopped() -> None:
    go_on = threading.Event()

    def plan(stop: Any) -> Any:
        yield Report(1, 4, "first")
        go_on.wait(5)
        yield Report(2, 4, "second")
        yield Report(3, 4, "never")

    job = Job(plan)
    while job.report.result is None:
        time.sleep(0.001)
    assert job.running and job.share == 0.25
    job.stop()
    go_on.set()
    job.join(5)
    assert job.status == "stopped" and job.report.result == "second"


def test_a_job_that_fails_says_so_and_the_process_lives() -> None:
    def plan(stop: Any) -> Any:
        yield Report(0, 1, None)
        raise ValueError("a slip")

    job = Job(plan)
    job.join(5)
    assert job.status == "failed"


def test_a_job_that_no_page_looks_at_ends_and_gives_back_what_it_held() -> None:
    held = threading.Event()

    def plan(stop: Any) -> Any:
        held.set()
        try:
            while True:
                yield Report(0, 1, None)
                time.sleep(0.01)
        finally:
            held.clear()

    job = Job(plan, forgotten_after_s=0.2)
    job.join(60)
    assert job.status == "stopped" and not held.is_set()
