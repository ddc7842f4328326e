"""A terminal that may be closed, narrow in its characters, or not there at all."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable
from typing import TextIO

from core.engine.progress import ProgressEvent
from core.errors import UserError

CLOSED_PIPE = 141  # what a shell reports for a program that SIGPIPE ended
INTERRUPTED = 130
_BAR = 30
_MEGABYTE = 1_000_000


def prepare() -> None:
    """Let characters that the terminal cannot show be written as escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def guarded(work: Callable[[], int]) -> int:
    """Run a command; turn what a person can act on into a message and an exit status."""
    try:
        status = work()
        sys.stdout.flush()
        return status
    except UserError as error:
        print(f"{error.what}\n{error.todo}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        _silence(sys.stdout)  # or the interpreter complains once more when it closes the stream
        return CLOSED_PIPE
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED


def _silence(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class ProgressLine:
    """Progress on standard error: one line that renews itself in a terminal, one line per stage elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty()
        self._stage = ""
        self._shown = -1

    def __call__(self, event: ProgressEvent) -> None:
        percent = -1 if event.fraction is None else int(event.fraction * 100)
        if not self._live:
            if event.stage != self._stage:
                self._write(event.message + "\n")
        elif (event.stage, percent) != (self._stage, self._shown):
            if self._stage and event.stage != self._stage:
                self._write("\n")
            self._write("\r\x1b[K" + _line(event, percent))
        self._stage, self._shown = event.stage, percent

    def close(self) -> None:
        """End the line that renews itself."""
        if self._live and self._stage:
            self._write("\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _line(event: ProgressEvent, percent: int) -> str:
    if percent < 0:
        return event.message
    filled = _BAR * percent // 100
    size = (
        f"  {event.done / _MEGABYTE:.0f} of {event.total / _MEGABYTE:.0f} MB"
        if event.total > _MEGABYTE
        else ""
    )
    return f"[{'#' * filled}{'.' * (_BAR - filled)}] {percent:3d}%{size}  {event.message}"
