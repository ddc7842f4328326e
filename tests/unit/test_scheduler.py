"""Turns on a model: one at a time, in order, measurements last."""

from __future__ import annotations

import contextlib
import threading
import time

from core.engine.scheduler import BACKGROUND, INTERACTIVE, SerialScheduler


def _queue(scheduler: SerialScheduler, order: list[str], name: str, priority: int) -> threading.Thread:
    def work() -> None:
        with scheduler.turn(priority):
            order.append(name)

    thread = threading.Thread(target=work)
    before = len(scheduler._waiting)
    thread.start()
    while len(scheduler._waiting) == before:
        time.sleep(0.001)
    return thread


def test_interactive_work_goes_before_background_work_and_in_order_of_arrival() -> None:
    scheduler, order = SerialScheduler(), []
    with scheduler.turn():
        threads = [
            _queue(scheduler, order, "measurement", BACKGROUND),
            _queue(scheduler, order, "first", INTERACTIVE),
            _queue(scheduler, order, "second", INTERACTIVE),
        ]
    for thread in threads:
        thread.join(5)
    assert order == ["first", "second", "measurement"]


def test_never_two_at_once() -> None:
    scheduler, inside, most = SerialScheduler(), [0], [0]

    def work() -> None:
        for _ in range(50):
            with scheduler.turn():
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert most[0] == 1


def test_the_holder_may_take_its_turn_again_and_errors_give_it_back() -> None:
    scheduler = SerialScheduler()
    with scheduler.turn(), scheduler.turn():
        pass

    def fails() -> None:
        raise ValueError

    with contextlib.suppress(ValueError):
        scheduler.run(fails)
    done: list[int] = []
    thread = threading.Thread(target=lambda: done.append(scheduler.run(lambda: 1)))
    thread.start()
    thread.join(5)
    assert done == [1]
