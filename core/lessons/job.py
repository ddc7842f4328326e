"""Work that a learner starts and that runs beside the page: a measurement, a training run.

A plan is a generator: it does one pass at a time and yields what is known so far. A :class:`Job` runs a plan
in a thread of its own, so that the page stays free, the learner may leave and come back, and Stop works at
once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

from core.engine.measure import Stopped
from core.errors import UserError

LOG = logging.getLogger("next_token")

Status = Literal["running", "done", "stopped", "failed"]


@dataclass(frozen=True)
class Report:
    """Where a plan stands: ``done`` of ``total`` passes (or of their cost), and what is known so far."""

    done: float
    total: float
    result: Any


Plan = Callable[[Callable[[], bool]], Generator[Report]]
"""Given a function that says whether to stop, yields reports until it is complete."""


class Job:
    """A plan running in its own thread. All attributes may be read at any time from any thread.

    ``forgotten_after_s``: a job that no page has looked at (:meth:`seen`) for so long ends by itself; None
    lets it come to its end. Whatever ends it, the plan is closed: what it held is given back.
    """

    def __init__(self, plan: Plan, forgotten_after_s: float | None = None) -> None:
        self.report = Report(0, 1, None)
        self.status: Status = "running"
        self.problem: UserError | None = None
        self._stop = threading.Event()
        self._forgotten_after_s = forgotten_after_s
        self._seen_at = time.monotonic()
        self._thread = threading.Thread(target=self._work, args=(plan,), name="job", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        return self.status == "running"

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1."""
        return min(1.0, self.report.done / self.report.total) if self.report.total else 1.0

    def stop(self) -> None:
        """Ask it to end; what was measured so far stays."""
        self._stop.set()

    def seen(self) -> None:
        """A page shows this job: it may go on."""
        self._seen_at = time.monotonic()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until it has ended."""
        self._thread.join(timeout_s)

    def _work(self, plan: Plan) -> None:
        try:
            with closing(plan(self._asked_to_stop)) as reports:
                for report in reports:
                    self.report = report
                    if self._asked_to_stop():
                        raise Stopped
            self.status = "done"
        except Stopped:
            self.status = "stopped"
        except UserError as problem:
            self.problem, self.status = problem, "failed"
        except Exception:  # a thread has nobody above it: the log gets the trace, the page a plain sentence
            LOG.exception("A job failed")
            self.status = "failed"

    def _asked_to_stop(self) -> bool:
        limit = self._forgotten_after_s
        return self._stop.is_set() or (limit is not None and time.monotonic() - self._seen_at > limit)
