"""The glossary's list: packs the terms for ``assets/js/glossary.js`` and names its events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.components.base import mount
from core.lessons.glossary import Source, Term

PageLink = tuple[str, str, str]
"""Name, title and address of a page."""


def entries(
    terms: Sequence[Term], sources: Mapping[str, Source], pages: Mapping[str, PageLink]
) -> list[dict[str, Any]]:
    """The terms by name, as the browser wants them; pages that are not in ``pages`` are left out."""
    return [
        {
            "slug": term.slug,
            "name": term.name,
            "meaning": term.meaning,
            "field": term.field,
            "pages": [list(pages[name]) for name in term.pages if name in pages],
            "sources": [sources[name].reference for name in term.sources],
        }
        for term in sorted(terms, key=lambda term: term.name.casefold())
    ]


def glossary_list(
    found: Sequence[Mapping[str, Any]],
    *,
    chosen: str | None,
    labels: Mapping[str, str],
    on: Mapping[str, Callable[[Any], None]],
) -> Any:
    """Show the list. ``chosen``: the slug of the term that is opened; events ``open`` (the name of a page)
    and ``choose`` (a slug)."""
    header = {"terms": list(found), "chosen": chosen, "labels": dict(labels)}
    return mount("glossary", key="nt_glossary_list", header=header, on=on)
