"""The 37 ideas as a map: their stations, what each needs first, and the page that shows it. Pure.

Numbers are those of the list of ideas that the app is built on; the words are in ``concepts.md``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_IDEA = re.compile(r"^### +(\d+): +(.+?) *$", re.MULTILINE)
_WHERE = re.compile(r"^- +where: *(.*?) *$", re.MULTILINE)

STATIONS = ("loop", "text", "block", "output", "choosing", "phases", "experts", "training", "recap")


@dataclass(frozen=True)
class Idea:
    """``needs``: the ideas to know first; ``page``: the name of the page that shows it."""

    number: int
    station: str
    page: str
    needs: tuple[int, ...] = ()


@dataclass(frozen=True)
class IdeaWords:
    """``where``: what to look at on the page."""

    name: str
    sentence: str
    where: str


# In the order of the map: station by station, from text to the next token.
IDEAS: tuple[Idea, ...] = (
    Idea(1, "loop", "generate"),
    Idea(34, "loop", "journey", (1,)),
    Idea(36, "loop", "journey", (34,)),
    Idea(8, "loop", "generate", (1,)),
    Idea(5, "text", "tokens", (1,)),
    Idea(6, "text", "embeddings", (5,)),
    Idea(7, "text", "position", (6,)),
    Idea(10, "block", "attention", (6,)),
    Idea(11, "block", "attention", (10,)),
    Idea(13, "block", "attention", (10,)),
    Idea(14, "block", "block", (6,)),
    Idea(12, "block", "block", (10, 14)),
    Idea(15, "output", "output", (12,)),
    Idea(18, "output", "output", (15,)),
    Idea(16, "output", "output", (18,)),
    Idea(17, "output", "output", (16,)),
    Idea(31, "choosing", "sampling", (17,)),
    Idea(30, "choosing", "tree", (31,)),
    Idea(29, "choosing", "what_if", (20,)),
    Idea(32, "choosing", "what_if", (29,)),
    Idea(33, "choosing", "what_if", (14,)),
    Idea(9, "phases", "timeline", (8, 11)),
    Idea(26, "phases", "timeline", (9,)),
    Idea(19, "phases", "timeline", (9, 15)),
    Idea(20, "phases", "generate", (19, 31)),
    Idea(21, "phases", "kv_cache", (10, 20)),
    Idea(22, "phases", "kv_cache", (21,)),
    Idea(23, "phases", "kv_cache", (21,)),
    Idea(24, "phases", "timeline", (9,)),
    Idea(25, "phases", "timeline", (20, 24)),
    Idea(2, "experts", "experts", (14,)),
    Idea(4, "experts", "experts", (2,)),
    Idea(3, "experts", "calculators", (2,)),
    Idea(27, "training", "gradient_step", (17, 26)),
    Idea(28, "training", "targets", (20, 27)),
    Idea(35, "recap", "quiz", (6, 11, 21, 31)),
    Idea(37, "recap", "quiz", (23, 24, 25)),
)


def parse_ideas(markdown: str) -> dict[int, IdeaWords]:
    """The words of the section ``ideas``, by number. Raises ValueError when one stands twice."""
    parts = _IDEA.split(markdown)
    found: dict[int, IdeaWords] = {}
    for number, name, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        where = _WHERE.search(body)
        if int(number) in found or where is None:
            raise ValueError(f"idea {number} stands twice or does not say where it is seen")
        found[int(number)] = IdeaWords(name, " ".join(_WHERE.sub("", body).split()), where[1])
    return found


def leads_to() -> Mapping[int, tuple[int, ...]]:
    """For each idea the ideas that need it."""
    return {
        idea.number: tuple(other.number for other in IDEAS if idea.number in other.needs) for idea in IDEAS
    }
