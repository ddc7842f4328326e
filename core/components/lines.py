"""A component's own line to the server: an event answered with the next message, without a run of the page.

A run of the page's script costs Streamlit and the browser several times what a small answer costs. A line
belongs to one learner's session; its token is a secret that only this session's page was told, and it closes
when the session is gone. What cannot be answered on the line goes the usual way, as a component's event.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

Answer = Callable[[Any], bytes | None]
"""From an event's payload to a message (``base.pack``); None when the event must go the usual way."""

_open: WeakValueDictionary[str, Line] = WeakValueDictionary()


class Line:
    """``event`` is answered by ``answer``, which the page sets anew each time it is drawn."""

    def __init__(self, event: str) -> None:
        self.event = event
        self.token = secrets.token_urlsafe(24)
        self.answer: Answer | None = None
        _open[self.token] = self

    def header(self) -> dict[str, Any]:
        """What the browser needs. ``at`` (microseconds) orders messages that came on different ways."""
        return {"token": self.token, "event": self.event, "at": time.time_ns() // 1000}


def ask(token: str, payload: Any) -> bytes | None:
    """The answer of the line called ``token``; None when there is no such line (any more) or no answer."""
    line = _open.get(token)
    return line.answer(payload) if line is not None and line.answer is not None else None
