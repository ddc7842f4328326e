"""How long work tells where it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ProgressEvent:
    """One report.

    ``stage`` is one of ``wait`` (another start is at it), ``download``, ``check``, ``convert`` and ``load``.
    ``done`` of ``total`` is in bytes, or in tensors for ``convert``; ``total`` is 0 when nobody knows it.
    ``message`` is a plain sentence for the terminal.
    """

    stage: str
    done: int
    total: int
    message: str

    @property
    def fraction(self) -> float | None:
        """Between 0 and 1, or ``None`` when the total is unknown."""
        return min(1.0, self.done / self.total) if self.total else None


Progress = Callable[[ProgressEvent], None]


def report(progress: Progress | None, stage: str, done: int, total: int, message: str) -> None:
    """Tell ``progress`` when there is somebody to tell."""
    if progress is not None:
        progress(ProgressEvent(stage, done, total, message))
