"""Prose that every machine with this project has: Python's documentation, licence texts, package readmes.

Whoever has more (and the right to use it) names a folder of text or HTML files. Nothing is
downloaded.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

MIN_CHARACTERS = 600
MAX_CHARACTERS = 9_000
MIN_LETTERS = 0.86  # share of letters, spaces, commas and full stops: below it a text is code or tables
HELD_OUT_ONE_IN = 10
EVERYDAY = re.compile(r"\n\s*\n+")
SPACES = re.compile(r"\s+")


def _python_topics() -> Iterator[str]:
    if importlib.util.find_spec("pydoc_data") is None:
        return
    from pydoc_data import topics

    yield from topics.topics.values()


def _docstrings() -> Iterator[str]:
    """Module documentation of the standard library, read from its sources without running them."""
    for module in sorted(pkgutil.iter_modules([str(Path(inspect.__file__).parent)]), key=lambda m: m.name):
        file = Path(inspect.__file__).parent / f"{module.name}.py"
        if file.exists():
            found = re.findall(r'"""(.*?)"""', file.read_text(encoding="utf-8", errors="ignore"), re.DOTALL)
            text = "\n\n".join(inspect.cleandoc(part) for part in found)
            yield text


def _package_readmes() -> Iterator[str]:
    for package in sorted(importlib.metadata.distributions(), key=lambda d: d.metadata["Name"] or ""):
        metadata: Any = package.metadata  # an email.message.Message; its stub knows less
        yield str(metadata.get_payload() or metadata.get("Description", ""))


class _PageText(HTMLParser):
    """The running text of a page: its ``<main>`` if it has one, without code, scripts and navigation."""

    SKIPPED = frozenset({"script", "style", "nav", "button", "pre", "head"})
    BLOCKS = frozenset({"p", "h1", "h2", "h3", "h4", "li", "tr", "br", "div"})

    def __init__(self) -> None:
        super().__init__()
        self.parts: dict[bool, list[str]] = {True: [], False: []}  # by whether inside <main>
        self.main = self.skipped = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.main += tag == "main"
        self.skipped += tag in self.SKIPPED
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self.main -= tag == "main"
        self.skipped -= tag in self.SKIPPED
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if self.skipped <= 0:
            self.parts[self.main > 0].append(SPACES.sub(" ", data))

    def _break(self, tag: str) -> None:
        if tag in self.BLOCKS:
            self.parts[self.main > 0].append("\n\n" if tag.startswith(("p", "h")) else "\n")

    def text(self) -> str:
        """Paragraphs parted by empty lines."""
        whole = "".join(self.parts[True] or self.parts[False])
        return EVERYDAY.sub("\n\n", re.sub(r"[ \t]*\n[ \t]*", "\n", whole)).strip()


def _page_text(page: str) -> str:
    parser = _PageText()
    parser.feed(page)
    parser.close()
    return parser.text()


def _files(folder: Path) -> Iterator[str]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix in {".txt", ".md", ".rst", ".html", ""}:
            try:
                text = file.read_text(encoding="utf-8")
            except (UnicodeDecodeError, OSError):
                continue
            yield _page_text(text) if file.suffix == ".html" else text


def _is_prose(text: str) -> bool:
    if len(text) < MIN_CHARACTERS:
        return False
    plain = sum(c.isalpha() or c in " ,." for c in text)
    return plain / len(text) >= MIN_LETTERS


def _pieces(text: str) -> Iterator[str]:
    """Cut a long text at paragraph ends into pieces of at most ``MAX_CHARACTERS``."""
    piece = ""
    for paragraph in EVERYDAY.split(text.replace("\r\n", "\n")):
        if len(piece) + len(paragraph) > MAX_CHARACTERS and piece:
            yield piece
            piece = ""
        piece += paragraph[:MAX_CHARACTERS].strip("\n") + "\n\n"
    yield piece


def is_held_out(text: str) -> bool:
    """Whether a document belongs to the evaluation: by its own hash, so the answer never depends on the
    run.
    """
    return hashlib.sha256(text.encode()).digest()[0] % HELD_OUT_ONE_IN == 0


def prose_documents(folders: list[Path]) -> list[str]:
    """Documents without duplicates: everything from ``folders`` first, then what this machine has."""
    sources = [_files(folder) for folder in folders]
    sources += [_python_topics(), _docstrings(), _package_readmes()]
    licences = Path("/usr/share/common-licenses")
    if sys.platform.startswith("linux") and licences.exists():
        sources.append(_files(licences))
    seen: dict[str, None] = {}
    for source in sources:
        for text in source:
            for piece in _pieces(text):
                if _is_prose(piece):
                    seen.setdefault(piece.strip())
    return list(seen)
