"""A sweep that runs beside the page: one thread, its points for the page to show, and a way to stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from core.errors import UserError
from core.lessons.knowledge import Level, Order, Part, Question, sweep

LOG = logging.getLogger("next_token")
FORGOTTEN_AFTER_S = 30.0


@dataclass(frozen=True)
class Setting:
    """What a sweep switches off: a part, for heads their layer, for shares the order and its seed."""

    part: Part
    layer: int = 0
    order: Order = "random"
    seed: int = 0


class Job:
    """One sweep. ``probabilities`` and ``ranks`` (wordings, levels) fill up while it runs.

    ``levels`` are computed in the thread, because an order by contribution takes passes of its own. A job
    that no page looks at any more ends by itself.
    """

    def __init__(
        self, model: Any, asked: Question, setting: Setting, axis: Sequence[float],
        levels: Callable[[], Sequence[Level]],
    ) -> None:  # fmt: skip
        self.asked = asked
        self.setting = setting
        self.axis = tuple(axis)
        self.model_name: str = model.name
        self.levels: Sequence[Level] = ()
        self.probabilities = np.full((len(asked.texts), len(self.axis)), np.nan)
        self.ranks = np.zeros(self.probabilities.shape, dtype=np.int32)
        self.done = 0
        self.error = ""
        self._model = model
        self._levels = levels
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._seen_at = time.monotonic()
        self._thread = threading.Thread(target=self._work, name="knowledge sweep", daemon=True)

    def start(self) -> Job:
        """Begin; returns itself."""
        self._thread.start()
        return self

    @property
    def total(self) -> int:
        """How many passes a whole sweep takes."""
        return int(self.probabilities.size)

    @property
    def active(self) -> bool:
        """Still measuring."""
        return not self._ended.is_set()

    @property
    def stopped(self) -> bool:
        """Ended before its end."""
        return not self.active and self.done < self.total

    def stop(self) -> None:
        """End after the pass that is under way; what was measured stays."""
        self._stop.set()

    def seen(self) -> None:
        """A page shows this job: it may go on."""
        self._seen_at = time.monotonic()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the end (tests); False when it did not come in time."""
        return self._ended.wait(timeout_s)

    def _work(self) -> None:
        try:
            self.levels = self._levels()
            for point in sweep(self._model, self.asked, self.levels):
                self.probabilities[point.wording, point.level] = point.reading.probability
                self.ranks[point.wording, point.level] = point.reading.rank
                self.done += 1
                if self._stop.is_set() or time.monotonic() - self._seen_at > FORGOTTEN_AFTER_S:
                    break
        except UserError as error:
            self.error = f"{error.what} {error.todo}"
        except Exception:
            LOG.exception("A sweep ended with an error.")
            self.error = "?"
        finally:
            del self._model, self._levels  # a finished job must not keep a model alive
            self._ended.set()
