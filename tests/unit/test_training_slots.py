"""Training slots: bounded in number and bytes, in the order of asking, left by whoever stops."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.engine.measure import Stopped
from core.engine.training.slots import Slots
from core.errors import UserError

WAIT_S = 30.0


def slots(at_once: int = 1, free: int = 1000) -> Slots:
    return Slots(at_once, free=lambda: free, reserve_bytes=0)


def test_one_slot_is_held_by_one_at_a_time_and_in_the_order_of_asking() -> None:
    line = slots()
    order: list[int] = []
    inside, most = 0, 0
    tickets = [line.ticket(10) for _ in range(8)]

    def learner(index: int) -> None:
        nonlocal inside, most
        with tickets[index] as ticket:
            while not ticket.wait(WAIT_S):
                pass
            inside += 1
            most = max(most, inside)
            order.append(index)
            inside -= 1

    threads = [threading.Thread(target=learner, args=(i,)) for i in reversed(range(8))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    assert order == list(range(8))
    assert most == 1 and line.held == 0


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 100), min_size=1, max_size=12),
    at_once=st.integers(1, 4),
    extra=st.integers(0, 100),
)
def test_neither_the_number_nor_the_bytes_are_ever_exceeded(
    sizes: list[int], at_once: int, extra: int
) -> None:
    free = max(sizes) + extra
    line, lock = slots(at_once, free), threading.Lock()
    now: list[int] = []
    worst = [0, 0]

    def learner(size: int) -> None:
        with line.take(size):
            with lock:
                now.append(size)
                worst[0], worst[1] = max(worst[0], len(now)), max(worst[1], sum(now))
            with lock:
                now.remove(size)

    threads = [threading.Thread(target=learner, args=(size,)) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()
    assert worst[0] <= at_once and worst[1] <= free
    assert line.held == 0


def test_what_is_promised_counts_although_nothing_is_allocated_yet() -> None:
    line = slots(at_once=3, free=100)
    with line.ticket(60) as first, line.ticket(60) as second, line.ticket(10) as third:
        assert first.wait(0)
        assert not second.wait(0), "60 + 60 are more than 100"
        assert not third.wait(0), "a small one does not overtake: the large one would wait for ever"
        assert (first.ahead, second.ahead, third.ahead) == (0, 1, 2)
        first.give_back()
        assert second.wait(0) and third.wait(0)


def test_what_can_never_fit_is_refused_with_both_sizes() -> None:
    line = slots(free=2_000_000_000)
    with pytest.raises(UserError, match=r"3\.0 GB.*2\.0 GB"), line.take(3_000_000_000):
        pytest.fail("entered")
    with line.take(1):
        assert line.held == 1, "the refused one has left the queue"


def test_who_stops_while_waiting_leaves_the_queue() -> None:
    line, told = slots(), []
    stop = threading.Event()

    def on_wait(ahead: int) -> None:
        told.append(ahead)
        stop.set()

    with line.take(1):
        with pytest.raises(Stopped), line.take(1, on_wait=on_wait, stop=stop.is_set):
            pytest.fail("entered")
        assert told == [1]
    with line.ticket(1) as ticket:
        assert ticket.wait(0)


def test_an_error_inside_gives_the_slot_back() -> None:
    line = slots()
    with pytest.raises(ValueError), line.take(1):
        raise ValueError
    assert line.held == 0
