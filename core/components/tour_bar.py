"""The bar of the guided tour (``assets/js/tour_bar.js``): where the tour is, its question, and the way on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.components.base import EventHandler, mount
from core.components.predict import Asked

MOVES = ("next", "back", "leave", "stop")
WORDS = ("bar", "next", "back", "leave", "finish", "to_stop", "no_question")


@dataclass(frozen=True)
class Bar:
    """What the bar shows.

    ``counter``: "Stop 3 of 24". ``waiting``: one line in place of the question when the screen is not the
    stop's. ``asked`` None: the stop has no question for this text or model.
    """

    counter: str
    title: str
    first: bool
    last: bool
    asked: Asked | None
    waiting: str = ""


def tour_bar(
    bar: Bar,
    *,
    key: str,
    labels: Mapping[str, str],
    words: Mapping[str, str],
    on_answer: EventHandler,
    on_go: EventHandler,
) -> Any:
    """Show the bar. ``words`` are those of every question; ``on_go`` gets what ``read_move`` reads."""
    header = {**vars(bar), "labels": {name: labels[name] for name in WORDS}}
    header["asked"] = None if bar.asked is None else bar.asked.header(words)
    return mount("tour_bar", key=key, header=header, on={"answer": on_answer, "go": on_go})


def read_move(payload: Any) -> str | None:
    """Where the learner wants to go: one of MOVES, or None for anything else. ``read_answer`` reads the
    ``answer`` that comes along."""
    to = payload.get("to") if isinstance(payload, Mapping) else None
    return to if isinstance(to, str) and to in MOVES else None
