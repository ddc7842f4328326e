"""The glossary's promises: every page, term and source that is named exists, and every idea has a source."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from core.components.glossary import entries
from core.lessons.glossary import (
    UnknownTermError,
    by_idea,
    linked,
    marked_terms,
    parse_sources,
    parse_terms,
)
from core.ui import text
from core.ui.pages import ALL_PAGES, available_pages

IDEAS = range(1, 38)
EXAMPLE = """
### kv-cache: KV cache
Each layer keeps keys and "values". They are read again.
- field: KV cache
- pages: kv_cache, timeline
- sources: pope-2022
"""


def test_every_term_names_pages_and_sources_that_exist() -> None:
    pages, sources = {page.name for page in ALL_PAGES}, text.sources()
    for term in text.terms().values():
        assert term.pages and set(term.pages) <= pages, term.slug
        assert term.sources and set(term.sources) <= set(sources), term.slug


def test_every_term_has_a_short_first_sentence_and_its_words_in_the_field() -> None:
    assert len(text.terms()) >= 90
    for term in text.terms().values():
        assert term.field and 10 < len(term.sentence) < 160 and term.sentence[-1] in ".?", term.slug


def test_every_one_of_the_37_ideas_has_a_source_and_no_other_number_is_named() -> None:
    assert set(by_idea(text.sources())) == set(IDEAS)


def test_every_source_is_used_and_names_a_year() -> None:
    named = {name for term in text.terms().values() for name in term.sources}
    for source in text.sources().values():
        assert source.ideas or source.name in named
        assert re.search(r"\b(19|20)\d\d\b", source.reference), source.name
    listed = text.load("glossary").section("sources").count("\n- ") + 1
    assert listed == len(text.sources())


@pytest.mark.parametrize("file", sorted((text.TEXT_FOLDER / "en").glob("*.md")), ids=lambda file: file.stem)
def test_every_marked_term_is_in_the_glossary(file: Path) -> None:
    page = text.load(file.stem)
    marked = {slug for section in page.sections.values() for slug in marked_terms(section)}
    assert marked <= set(text.terms())
    assert not any(marked_terms(label) for label in page.labels.values()), "labels are shown without Markdown"


def test_every_page_with_an_introduction_of_the_model_marks_a_term_in_it() -> None:
    without = {"concepts", "quiz", "glossary", "tour"}
    for page in available_pages():
        if page.name not in without:
            assert marked_terms(text.load(page.name).section("intro")), page.name


def test_a_marked_term_becomes_a_link_whose_title_is_its_first_sentence() -> None:
    terms = parse_terms(EXAMPLE)
    assert terms["kv-cache"].pages == ("kv_cache", "timeline")
    shown = linked("The **[cache](term:kv-cache)** grows, see [a](b).", terms)
    assert shown == (
        'The **[cache](glossary?term=kv-cache "Each layer keeps keys and \\"values\\".")** grows, see [a](b).'
    )


def test_a_term_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownTermError):
        linked("[cache](term:kv-cash)", parse_terms(EXAMPLE))


def test_an_entry_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError):
        parse_terms(EXAMPLE + EXAMPLE)


def test_sources_are_read_with_and_without_ideas() -> None:
    found = parse_sources("- shaw-1999: A book, 1999 | ideas 3, 4\n- poe-2001: Another, 2001")
    assert found["shaw-1999"].ideas == (3, 4) and found["shaw-1999"].reference == "A book, 1999"
    assert found["poe-2001"].ideas == ()
    assert [source.name for source in by_idea(found)[3]] == ["shaw-1999"]


def test_the_list_is_by_name_and_leaves_out_pages_that_are_not_there() -> None:
    found = entries(tuple(text.terms().values()), text.sources(), {"tokens": ("tokens", "Tokens", "tokens")})
    names = [entry["name"].casefold() for entry in found]
    assert names == sorted(names)
    assert {tuple(page) for entry in found for page in entry["pages"]} == {("tokens", "Tokens", "tokens")}
