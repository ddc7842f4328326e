"""The concept map holds all 37 ideas once, and one can be learned after another."""

from __future__ import annotations

import pytest

from core.components.concepts import stations
from core.lessons.concepts import IDEAS, STATIONS, leads_to, parse_ideas
from core.lessons.glossary import by_idea
from core.ui import text
from core.ui.pages import ALL_PAGES

WORDS = parse_ideas(text.load("concepts").section("ideas"))
NUMBERS = list(range(1, 38))


def test_every_idea_stands_once_with_words_a_page_and_a_station() -> None:
    assert sorted(idea.number for idea in IDEAS) == NUMBERS == sorted(WORDS)
    pages = {page.name for page in ALL_PAGES}
    labels = text.load("concepts").labels
    for idea in IDEAS:
        assert idea.page in pages and idea.station in STATIONS, idea.number
        assert f"station_{idea.station}" in labels
        said = WORDS[idea.number]
        assert said.sentence.endswith(".") and said.where.endswith("."), idea.number


def test_what_an_idea_needs_can_be_learned_before_it() -> None:
    known: set[int] = set()
    waiting = {idea.number: set(idea.needs) for idea in IDEAS}
    assert all(needs <= set(NUMBERS) for needs in waiting.values())
    while waiting:
        ready = {number for number, needs in waiting.items() if needs <= known}
        assert ready, f"these need one another: {sorted(waiting)}"
        known |= ready
        waiting = {number: needs for number, needs in waiting.items() if number not in ready}


def test_only_the_core_loop_needs_nothing() -> None:
    assert [idea.number for idea in IDEAS if not idea.needs] == [1]


def test_leads_to_is_needs_the_other_way_round() -> None:
    after = leads_to()
    assert {(before, idea.number) for idea in IDEAS for before in idea.needs} == {
        (before, number) for before, numbers in after.items() for number in numbers
    }


def test_the_message_holds_every_idea_and_links_only_pages_that_are_there() -> None:
    found = stations(WORDS, by_idea(text.sources()), {"tokens": ("tokens", "Tokens", "tokens")})
    assert [station["name"] for station in found] == list(STATIONS)
    ideas = [idea for station in found for idea in station["ideas"]]
    assert sorted(idea["number"] for idea in ideas) == NUMBERS
    assert {idea["number"] for idea in ideas if idea["page"]} == {5}
    assert all(idea["sources"] for idea in ideas)


def test_an_idea_that_stands_twice_or_says_no_place_is_refused() -> None:
    good = "### 1: One\nA sentence.\n- where: Here.\n"
    assert parse_ideas(good)[1].where == "Here."
    for bad in (good + good, "### 1: One\nA sentence.\n"):
        with pytest.raises(ValueError):
            parse_ideas(bad)
