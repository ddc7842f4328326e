"""The concepts page: the map of the ideas with what this learner has visited."""

from __future__ import annotations

from typing import Any

from core.components.concepts import concept_map, stations
from core.lessons.concepts import parse_ideas
from core.lessons.glossary import by_idea
from core.ui import moving
from core.ui.glossary import page_links
from core.ui.terms import visited
from core.ui.text import load, sources


def concepts_view() -> None:
    """The map; the browser adds what was visited before a reload."""
    text = load("concepts")
    concept_map(
        stations(parse_ideas(text.section("ideas")), by_idea(sources()), page_links()),
        visited=visited(),
        labels=text.labels,
        on_open=_go,
    )


def _go(payload: Any) -> None:
    if isinstance(payload, str):
        moving.ask_for(payload)
