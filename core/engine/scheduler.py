"""Who may use a model now: one turn at a time, first come first served, measurements last.

All work on a model goes through :class:`Scheduler`. Today it is a fair lock; a scheduler that gathers
the steps of several learners into one batch would implement the same two methods.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")

INTERACTIVE = 0
BACKGROUND = 1


class Scheduler(Protocol):
    """Runs pieces of work on one model, never two at once."""

    def run(self, work: Callable[[], T], priority: int = INTERACTIVE) -> T:
        """Run ``work`` when its turn comes and return what it returns (or raise what it raises)."""
        ...

    def turn(self, priority: int = INTERACTIVE) -> AbstractContextManager[None]:
        """The same as a ``with`` block."""
        ...


class SerialScheduler:
    """A fair lock with two priorities; the thread that holds the turn may take it again (re-entrant).

    A background holder (a measurement, a training run) takes one turn per step, so an interactive
    step waits for at most one background step.
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._waiting: list[tuple[int, int]] = []
        self._tickets = itertools.count()
        self._owner: int | None = None
        self._depth = 0

    @contextmanager
    def turn(self, priority: int = INTERACTIVE) -> Iterator[None]:
        """Hold the model for the duration of the block."""
        self._acquire(priority)
        try:
            yield
        finally:
            self._release()

    def run(self, work: Callable[[], T], priority: int = INTERACTIVE) -> T:
        """Run ``work`` while holding the model."""
        with self.turn(priority):
            return work()

    def _acquire(self, priority: int) -> None:
        me = threading.get_ident()
        with self._condition:
            if self._owner == me:
                self._depth += 1
                return
            ticket = (priority, next(self._tickets))
            heapq.heappush(self._waiting, ticket)
            try:
                while self._owner is not None or self._waiting[0] != ticket:
                    self._condition.wait()
                heapq.heappop(self._waiting)
            except BaseException:
                # An interrupted waiter must not block the queue for ever.
                self._waiting.remove(ticket)
                heapq.heapify(self._waiting)
                self._condition.notify_all()
                raise
            self._owner, self._depth = me, 1

    def _release(self) -> None:
        with self._condition:
            self._depth -= 1
            if self._depth == 0:
                self._owner = None
                self._condition.notify_all()


SHARED = SerialScheduler()  # one for the process: two models at once would only fight for the same cores
