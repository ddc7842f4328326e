"""The guided tour as data: its stops (``assets/tour.toml``) and the selections for teachers."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FILE = Path(__file__).resolve().parents[2] / "assets" / "tour.toml"

WHOLE = "all"
PLANS: dict[str, int | None] = {"15": 15, "30": 30, "45": 45, WHOLE: None}
"""The selections: the name in a link, and the minutes that it may take."""


@dataclass(frozen=True)
class Stop:
    """One stop.

    Attributes:
        id: its name in a link, in the words, and its question.
        page: name of the page it stands on.
        link: fields of a link that set the screen up; what is not named is at its default.
        minutes: how long a class stays. plans: the selections it belongs to, WHOLE always.
        ideas: numbers of the concepts that are seen there.
    """

    id: str
    page: str
    link: Mapping[str, Any]
    minutes: int
    plans: frozenset[str]
    ideas: tuple[int, ...]


@cache
def all_stops() -> tuple[Stop, ...]:
    """Every stop of the file, in the order of the tour."""
    entries = tomllib.loads(_FILE.read_text(encoding="utf-8"))["stop"]
    return tuple(
        Stop(
            id=entry["id"],
            page=entry["page"],
            link=entry.get("link", {}),
            minutes=entry["minutes"],
            plans=frozenset({*map(str, entry["plans"]), WHOLE}),
            ideas=tuple(entry["ideas"]),
        )
        for entry in entries
    )


def stops(plan: str, pages: Collection[str]) -> tuple[Stop, ...]:
    """The stops of a selection that stand on one of ``pages``: a stop whose page is not there is left out."""
    return tuple(stop for stop in all_stops() if plan in stop.plans and stop.page in pages)


def find(stop_id: str) -> Stop | None:
    """The stop with this id, if there is one."""
    return next((stop for stop in all_stops() if stop.id == stop_id), None)


def minutes(selection: Sequence[Stop]) -> int:
    """How long a selection takes."""
    return sum(stop.minutes for stop in selection)
