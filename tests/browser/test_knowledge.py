"""Not a database, on the What if page, with the real model: an experiment measured, wordings of one's own."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

TIMEOUT_MS = 120_000


def opened(view: View) -> Page:
    page = view.open("what-if", prompt="Dog bites man")
    expect(page.locator(".ntk-wording")).to_have_count(6, timeout=TIMEOUT_MS)
    return page


def chances(page: Page) -> list[str]:
    return page.locator(".ntk-value").all_text_contents()


def test_an_experiment_fades_the_answer_and_repeats_the_untouched_model(view: View) -> None:
    page = opened(view)
    assert len(set(chances(page))) == 6, "each wording has a chance of its own"
    page.get_by_role("button", name="The sky without one layer").click()
    expect(page.locator(".ntk-wording")).to_have_count(5, timeout=TIMEOUT_MS)
    expect(page.locator(".ntk-badge")).to_be_visible(timeout=TIMEOUT_MS)
    check = page.locator(".st-key-nt_check_check")
    expect(check).to_contain_text("repeats the chances above", timeout=TIMEOUT_MS)
    expect(check).not_to_contain_text("more than the allowed")
    left = page.locator(".katex-display", has_text="left at worst")
    expect(left).to_have_count(1, timeout=TIMEOUT_MS)
    wording = page.locator(".ntk-wording").nth(1)
    wording.focus()
    page.keyboard.press("Enter")
    expect(wording).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_words_of_one_s_own_are_literal_and_fit_a_phone(view: View) -> None:
    page = opened(view)
    box = page.get_by_label(re.compile("^The wordings"))
    box.fill("a<b<c $5 *x* <img src=x onerror=alert(1)>\n🦜 is a kind of")
    box.blur()
    expect(page.locator(".ntk-wording")).to_have_count(2, timeout=TIMEOUT_MS)
    expect(page.locator(".ntk-text").first).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("img[src=x]").count() == 0
    expect(page.get_by_label("A fact")).to_have_value("Your own")
    view.ready()
    view.no_sideways_scroll()
    view.assert_accessible()
