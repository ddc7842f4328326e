"""The glossary as data: terms in plain words, where they are seen, and the sources of the 37 ideas.

Everything is read from one text file, so that another language is another file. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TERM = re.compile(r"^### +([a-z0-9-]+): +(.+?) *$", re.MULTILINE)
_FIELD = re.compile(r"^- +(field|pages|sources): *(.*?) *$", re.MULTILINE)
_SOURCE = re.compile(r"^- +([a-z]+-\d{4}): *(.*?) *(?:\| *ideas +([\d, ]+?))? *$", re.MULTILINE)
_MARK = re.compile(r"\[([^\[\]]+)\]\(term:([a-z0-9-]+)\)")
_SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z])")

PAGE = "glossary"
PARAMETER = "term"


class UnknownTermError(KeyError):
    """A text marks a term that the glossary does not hold: a slip of ours, caught by the tests."""


@dataclass(frozen=True)
class Term:
    """One entry. ``pages`` are names of pages, ``sources`` names of the list of sources."""

    slug: str
    name: str
    meaning: str
    field: str
    pages: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The first sentence of the meaning: what is shown where the term stands."""
        return _SENTENCE_END.split(self.meaning, maxsplit=1)[0]


@dataclass(frozen=True)
class Source:
    """A paper or documentation: ``reference`` in words, ``ideas`` the numbers of the concept map."""

    name: str
    reference: str
    ideas: tuple[int, ...]


def parse_terms(markdown: str) -> dict[str, Term]:
    """The terms of the section ``terms``, by slug, in the file's order.

    Raises ValueError when a slug stands twice or an entry lacks its meaning.
    """
    parts = _TERM.split(markdown)
    found: dict[str, Term] = {}
    for slug, name, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        fields = dict(_FIELD.findall(body))
        meaning = " ".join(_FIELD.sub("", body).split())
        if slug in found or not meaning:
            raise ValueError(f"glossary entry {slug!r} stands twice or has no meaning")
        found[slug] = Term(
            slug,
            name,
            meaning,
            fields.get("field", ""),
            _names(fields.get("pages", "")),
            _names(fields.get("sources", "")),
        )
    return found


def parse_sources(markdown: str) -> dict[str, Source]:
    """The sources of the section ``sources``, by name."""
    return {
        name: Source(name, reference, tuple(int(number) for number in _names(ideas)))
        for name, reference, ideas in _SOURCE.findall(markdown)
    }


def by_idea(sources: Mapping[str, Source]) -> dict[int, tuple[Source, ...]]:
    """The sources of each idea, the oldest first."""
    ideas = sorted({idea for source in sources.values() for idea in source.ideas})
    ordered = sorted(sources.values(), key=lambda source: (source.name[-4:], source.name))
    return {idea: tuple(source for source in ordered if idea in source.ideas) for idea in ideas}


def marked_terms(markdown: str) -> tuple[str, ...]:
    """The slugs of all terms that a text marks as ``[words](term:slug)``."""
    return tuple(slug for _, slug in _MARK.findall(markdown))


def linked(markdown: str, terms: Mapping[str, Term]) -> str:
    """``[words](term:slug)`` as an ordinary link into the glossary whose title is the term's first sentence.

    It works as it stands; the browser side of ``core/components/terms.py`` opens it in place. Raises
    UnknownTermError.
    """

    def link(mark: re.Match[str]) -> str:
        words, slug = mark.groups()
        if slug not in terms:
            raise UnknownTermError(slug)
        title = terms[slug].sentence.replace("\\", "\\\\").replace('"', '\\"')
        return f'[{words}]({PAGE}?{PARAMETER}={slug} "{title}")'

    return _MARK.sub(link, markdown)


def _names(listed: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in listed.split(",") if name.strip())
