"""What frames every page in the browser (``assets/js/frame.js``): presenter mode, keys, and shared words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.components.base import EventHandler, mount


def frame(
    *, present: bool, labels: Mapping[str, str], on_present: EventHandler, on_page: EventHandler
) -> Any:
    """Mount it once a page. ``on_present`` gets whether the page shall be presented, ``on_page`` −1 or 1.

    Another theme, chosen while the page is open, draws the page again: its charts come from the server.
    """
    return mount(
        "frame",
        key="nt_frame_keys",
        header={"present": present, "labels": dict(labels)},
        on={"present": on_present, "page": on_page, "theme": lambda _theme: None},
    )


def read_direction(payload: Any) -> int:
    """−1 for the page before, 1 for the next one, 0 for anything else the browser may send."""
    return payload if payload in (-1, 1) and isinstance(payload, int) and not isinstance(payload, bool) else 0
