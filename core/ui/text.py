"""Everything a learner reads: ``assets/text/<language>/<page>.md``.

A file holds named Markdown sections, ``## name``, and the section ``## labels`` with short strings, one a
line, ``- key: text``. Text before the first section is a note to writers and is not shown. In a section
``[words](term:slug)`` opens a term of the glossary in place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from core.lessons import glossary

TEXT_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "text"
LANGUAGE = "en"

_GLOSSARY = "glossary"
_SECTION = re.compile(r"^## +(.+?) *$", re.MULTILINE)
_LABEL = re.compile(r"^- +([\w-]+): *(.*?) *$", re.MULTILINE)


class MissingTextError(KeyError):
    """A page asked for a section or label that its file does not hold: a slip of ours, caught by the
    tests."""


@dataclass(frozen=True)
class PageText:
    """The sections and labels of one file."""

    page: str
    sections: dict[str, str]
    labels: dict[str, str]

    def section(self, name: str) -> str:
        """Markdown of a section. Raises MissingTextError."""
        if name not in self.sections:
            raise MissingTextError(f"assets/text/{LANGUAGE}/{self.page}.md has no section '## {name}'")
        return self.sections[name]

    def label(self, key: str, **values: object) -> str:
        """A short string with ``{name}`` places filled. Raises MissingTextError."""
        if key not in self.labels:
            raise MissingTextError(f"assets/text/{LANGUAGE}/{self.page}.md has no label '- {key}:'")
        return self.labels[key].format(**values) if values else self.labels[key]


def parse(page: str, markdown: str) -> PageText:
    """Take a text file apart."""
    parts = _SECTION.split(markdown)
    sections = {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    labels = dict(_LABEL.findall(sections.pop("labels", "")))
    return PageText(page, sections, labels)


@cache
def load(page: str, language: str = LANGUAGE) -> PageText:
    """The text of a page, read once. Raises MissingTextError when the file is not there."""
    file = TEXT_FOLDER / language / f"{page}.md"
    if not file.is_file():
        raise MissingTextError(f"assets/text/{language}/{page}.md does not exist")
    return parse(page, file.read_text(encoding="utf-8"))


def section(page: str, name: str) -> str:
    """Markdown of a section of a page, its marked terms made links into the glossary."""
    return glossary.linked(load(page).section(name), terms())


@cache
def terms(language: str = LANGUAGE) -> dict[str, glossary.Term]:
    """The terms of the glossary, by slug."""
    return glossary.parse_terms(load(_GLOSSARY, language).section("terms"))


@cache
def sources(language: str = LANGUAGE) -> dict[str, glossary.Source]:
    """The papers and documentation that the terms and ideas name."""
    return glossary.parse_sources(load(_GLOSSARY, language).section("sources"))


def label(page: str, key: str, **values: object) -> str:
    """A short string of a page, with its places filled."""
    return load(page).label(key, **values)


def literal(text: str) -> str:
    """``text`` such that Streamlit's Markdown shows it as it is: no emphasis, link, maths, emoji or
    colour."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~$:<>&])", r"\\\1", text)
