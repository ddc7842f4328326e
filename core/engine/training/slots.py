"""Who may hold a training copy now: first come first served, a few at once, and never more than fits.

Everything that trains takes a slot before it copies a weight, and gives it back when the copy is gone::

    with SLOTS.take(bytes_needed, on_wait=say_position, stop=event.is_set):
        ...                                   # the copy lives and dies in here

A generator that reports while it waits asks for a ticket instead::

    with SLOTS.ticket(bytes_needed) as ticket:
        while not ticket.wait(0.5):
            yield waiting(ticket.ahead)       # how many are before this learner
        ...
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType

from core.engine.measure import Stopped, never
from core.engine.memory import free_memory, give_back
from core.errors import UserError

AT_ONCE = 2
"""Copies that may live at the same time. More would share the same cores and each end later."""
RESERVE_BYTES = 500_000_000
"""Left free for the steps of everybody else."""
_LOOK_AGAIN_S = 0.5


class Ticket:
    """A place in the queue, then a slot; made by :meth:`Slots.ticket`. A ``with`` block gives it back."""

    def __init__(self, slots: Slots, bytes_needed: int) -> None:
        self._slots = slots
        self.bytes_needed = bytes_needed

    def wait(self, timeout_s: float) -> bool:
        """True as soon as this ticket has its slot, False when the time is over first.

        Raises:
            UserError: nobody holds a copy and even so this one does not fit.
        """
        return self._slots.admit(self, timeout_s)

    @property
    def ahead(self) -> int:
        """How many go first: those who hold a slot and those before this one in the queue; 0 with a slot."""
        return self._slots.ahead_of(self)

    def give_back(self) -> None:
        """Leave the queue or the slot; a second call does nothing."""
        self._slots.release(self)

    def __enter__(self) -> Ticket:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.give_back()


class Slots:
    """A first-in first-out queue in front of ``at_once`` slots and of the memory that is free.

    A ticket is admitted when it is the oldest, a slot is free, and its bytes fit into free memory beside
    the bytes that the holders were promised. These count in full until they are given back, whether they
    are allocated yet or not: the sum may be too careful, never too bold. ``free`` tells the free bytes.
    """

    def __init__(
        self,
        at_once: int = AT_ONCE,
        free: Callable[[], int] = free_memory,
        reserve_bytes: int = RESERVE_BYTES,
    ) -> None:
        self._at_once = at_once
        self._free = free
        self._reserve = reserve_bytes
        self._changed = threading.Condition()
        self._waiting: list[Ticket] = []
        self._holding: list[Ticket] = []

    def ticket(self, bytes_needed: int) -> Ticket:
        """A place at the end of the queue, for a copy of ``bytes_needed`` at its largest."""
        made = Ticket(self, bytes_needed)
        with self._changed:
            self._waiting.append(made)
        return made

    @contextmanager
    def take(
        self,
        bytes_needed: int,
        on_wait: Callable[[int], None] | None = None,
        stop: Callable[[], bool] = never,
    ) -> Iterator[None]:
        """Hold a slot for the block. ``on_wait(ahead)`` is told who goes first, about twice a second.

        Raises:
            Stopped: ``stop()`` became true while waiting.
            UserError: it does not fit even when nobody else holds a copy.
        """
        with self.ticket(bytes_needed) as ticket:
            while not ticket.wait(_LOOK_AGAIN_S):
                if on_wait is not None:
                    on_wait(ticket.ahead)
                if stop():
                    raise Stopped
            yield

    @property
    def held(self) -> int:
        """How many slots are taken."""
        return len(self._holding)

    # -- for tickets ---------------------------------------------------------------------------------------

    def admit(self, ticket: Ticket, timeout_s: float) -> bool:
        """See :meth:`Ticket.wait`."""
        with self._changed:
            if not self._may_enter(ticket):
                self._changed.wait_for(lambda: self._may_enter(ticket), timeout_s)
            if ticket in self._holding:
                return True
            if not self._may_enter(ticket):
                return False
            self._waiting.remove(ticket)
            self._holding.append(ticket)
            self._changed.notify_all()  # the next in line may fit as well
            return True

    def ahead_of(self, ticket: Ticket) -> int:
        """See :attr:`Ticket.ahead`."""
        with self._changed:
            if ticket not in self._waiting:
                return 0
            return len(self._holding) + self._waiting.index(ticket)

    def release(self, ticket: Ticket) -> None:
        """See :meth:`Ticket.give_back`. What the holder freed is free for all before the next one enters."""
        if ticket in self._holding:
            give_back()
        with self._changed:
            for line in (self._waiting, self._holding):
                if ticket in line:
                    line.remove(ticket)
            self._changed.notify_all()

    def _may_enter(self, ticket: Ticket) -> bool:
        if ticket in self._holding:
            return True
        if not self._waiting or self._waiting[0] is not ticket or len(self._holding) >= self._at_once:
            return False
        promised = sum(other.bytes_needed for other in self._holding)
        free = self._free() - self._reserve
        if ticket.bytes_needed + promised <= free:
            return True
        if not self._holding:
            raise UserError(
                f"This training needs about {ticket.bytes_needed / 1e9:.1f} GB of memory, "
                f"and {max(0, free) / 1e9:.1f} GB are free for it.",
                "Train fewer weights, or choose a smaller model.",
            )
        return False


SLOTS = Slots()  # one for the process: memory and cores are shared by all its learners
