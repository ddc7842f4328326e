"""Terms opened where they stand, and the glossary itself, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from core.ui.text import terms
from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]


def test_a_term_opens_in_place_by_keyboard_and_leads_to_the_glossary_and_back(view: View) -> None:
    page = view.open("attention", prompt="Dog bites man")
    link = page.locator('a[href^="glossary?term=key"]').first
    link.focus()
    page.keyboard.press("Enter")
    box = page.get_by_role("dialog", name="key")
    expect(box).to_contain_text(terms()["key"].sentence)
    view.assert_accessible()
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(link).to_be_focused()
    page.keyboard.press("Enter")
    box.get_by_role("link").click()
    expect(page).to_have_url(re.compile(r"/glossary\?.*term=key"))
    entry = page.get_by_role("article", name="Key", exact=True)
    expect(entry).to_be_in_viewport()
    entry.get_by_role("link", name="Position").click()
    expect(page).to_have_url(re.compile(r"/position\?.*prompt=Dog"))  # the run is still there
    view.assert_clean()


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_the_glossary_is_searched_while_one_types_and_fits_a_phone(view: View) -> None:
    page = view.open("glossary", term="rope")
    expect(page.get_by_role("article", name="Rotary position embedding")).to_be_in_viewport()
    page.get_by_role("searchbox").fill("nucleus")
    expect(page.get_by_role("article")).to_have_count(1)
    expect(page.get_by_role("article")).to_have_accessible_name("Top-p")
    page.get_by_role("searchbox").fill("no such word")
    expect(page.get_by_role("article")).to_have_count(0)
    view.no_sideways_scroll()
    view.assert_accessible()
