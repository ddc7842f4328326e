"""The Targets page in a real browser with the real model: rows, another text, both worlds."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import View, text_of

PROMPT = "The capital of France is Paris."
ODD = "a<b<c $5 *x* <img src=x onerror=alert(1)>\n🦜👩‍👩‍👧‍👦 مرحبا"


def aside(page: Page) -> str:
    return page.locator(".nt-tg-aside").inner_text()


def test_a_row_is_chosen_by_mouse_and_keys_and_all_pages_follow(view: View) -> None:
    page = view.open("targets", prompt=PROMPT)
    rows = page.locator(".st-key-nt_targets_rows li button")
    expect(rows).to_have_count(7)
    rows.nth(4).click()
    expect(page.locator(".nt-tg-aside")).to_contain_text("Row 4 sees columns 0 to 4")
    assert "·Paris stands in column 5" in aside(page)
    rows.nth(4).press("ArrowUp")
    expect(rows.nth(3)).to_be_focused()
    page.wait_for_url(re.compile("position=3"))
    view.ready()
    expect(page.locator(".st-key-nt_grid")).to_contain_text("position 3")
    assert rows.nth(3).get_attribute("aria-pressed") == "true"
    assert ", more than the allowed" not in text_of(page)


def test_another_text_is_scored_and_found_again_by_its_link(view: View) -> None:
    page = view.open("targets", prompt=PROMPT)
    page.get_by_text("Score another text").click()
    field = page.get_by_label("Text (empty: the text of the run)")
    field.fill("To be, or not to be")
    field.press("Control+Enter")
    view.wait_for_text("Scored here: your own text (tokens: 7)")
    page.wait_for_url(re.compile("text=To"))
    page.reload()
    view.ready()
    view.wait_for_text("Scored here: your own text (tokens: 7)")
    page.get_by_role("button", name="A false fact").click()
    view.wait_for_text("Scored here: the text of the run")
    expect(page.locator(".nt-tg .target", has_text="·Rome")).to_have_count(1)


def test_both_worlds_part_and_their_distributions_are_shown(view: View) -> None:
    page = view.open("targets", prompt=PROMPT, temperature=1.0)
    page.get_by_role("button", name="Let it write").click()
    view.wait_for_text("seeds done: 4 of 4")
    rows = page.locator(".st-key-nt_targets_worlds .nt-tg-list button")
    expect(rows).to_have_count(4)
    rows.first.click()
    detail = page.locator(".nt-tg-detail")
    expect(detail).to_contain_text("Both beginnings are the same")
    assert detail.locator(".nt-bars").nth(0).inner_text() == detail.locator(".nt-bars").nth(1).inner_text()
    rows.first.press("End")
    expect(detail).to_contain_text("What comes at position 6?")
    page.locator(".st-key-nt_targets_worlds .nt-chip").nth(2).click()
    expect(page.locator(".st-key-nt_targets_worlds .nt-chip").nth(2)).to_have_attribute(
        "aria-pressed", "true"
    )
    assert ", more than the allowed" not in text_of(page)


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_any_text_fits_a_phone_and_stays_literal(view: View) -> None:
    page = view.open("targets", prompt=ODD)
    expect(page.locator(".st-key-nt_targets_rows li").first).to_be_visible()
    view.no_sideways_scroll()
    view.assert_accessible()
    assert page.locator("img[src=x]").count() == 0
    assert ", more than the allowed" not in text_of(page)
