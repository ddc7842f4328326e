"""The concept map in a real browser: chosen by keyboard, leading to live pages, visits kept."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]


def test_an_idea_leads_to_its_page_and_the_visit_is_kept_after_a_reload(view: View) -> None:
    page = view.open("concepts")
    expect(page.get_by_role("status")).to_contain_text("0 of 37")
    assert page.locator(".ntcm-lines path").count() > 40
    page.get_by_role("button", name="Attention", exact=True).click()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".ntcm-idea[aria-pressed=true]")).to_have_text(re.compile("No look ahead"))
    page.get_by_role("link", name="See it on Attention").click()
    expect(page).to_have_url(re.compile("/attention"))
    view.ready()
    view.open("concepts")  # a new session, as after a reload
    expect(page.get_by_role("status")).to_contain_text("3 of 37")
    expect(page.locator("[data-idea='13'] .ntcm-mark")).to_have_text("✓")
    expect(page.locator("[data-idea='5'] .ntcm-mark")).to_have_text("")
    view.assert_clean()


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_on_a_phone_the_map_is_a_list(view: View) -> None:
    page = view.open("concepts")
    assert page.locator(".ntcm-lines path").count() == 0
    expect(page.locator(".ntcm-detail")).to_be_hidden()
    page.get_by_role("button", name="Tokens", exact=True).click()
    expect(page.locator(".ntcm-detail")).to_contain_text("See it on Tokens")
    view.no_sideways_scroll()
    view.assert_accessible()
