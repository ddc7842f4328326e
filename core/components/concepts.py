"""The concept map: packs the ideas for ``assets/js/concepts.js`` and names its event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from core.components.base import mount
from core.components.glossary import PageLink
from core.lessons.concepts import IDEAS, STATIONS, IdeaWords, leads_to
from core.lessons.glossary import Source


def stations(
    words: Mapping[int, IdeaWords],
    sources: Mapping[int, Sequence[Source]],
    pages: Mapping[str, PageLink],
) -> list[dict[str, Any]]:
    """The stations in order, each with its ideas; an idea whose page is not in ``pages`` has none."""
    after = leads_to()
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in STATIONS}
    for idea in IDEAS:
        said = words[idea.number]
        found[idea.station].append(
            {
                "number": idea.number,
                "name": said.name,
                "sentence": said.sentence,
                "where": said.where,
                "needs": list(idea.needs),
                "leads": list(after[idea.number]),
                "page": list(pages[idea.page]) if idea.page in pages else None,
                "sources": [source.reference for source in sources.get(idea.number, ())],
            }
        )
    return [{"name": name, "ideas": ideas} for name, ideas in found.items()]


def concept_map(
    found: Sequence[Mapping[str, Any]],
    *,
    visited: Iterable[str],
    labels: Mapping[str, str],
    on_open: Callable[[Any], None],
) -> Any:
    """Show the map. ``visited``: names of pages this session has shown; ``on_open`` gets a page's name."""
    header = {"stations": list(found), "visited": list(visited), "labels": dict(labels)}
    return mount("concepts", key="nt_concept_map", header=header, on={"open": on_open})
