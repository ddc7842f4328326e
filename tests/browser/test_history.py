"""Back and forward in the browser on the pages about choosing: each change is a place to come back to.

A change that follows another at once, before the page has answered, is kept as well.
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

TIMEOUT_MS = 60_000
PROMPT = "The capital of France is"


def released_then_pressed(page: Page) -> None:
    """A slider is let go and a token of the text pressed in one breath: no answer comes between the two."""
    page.locator("input[name=temperature]").evaluate(
        """slider => {
          slider.value = "40"
          slider.dispatchEvent(new Event("input"))
          slider.dispatchEvent(new Event("change"))
          slider.getRootNode().querySelector('.ntl-token[data-position="1"]').click()
        }"""
    )


def test_sampling_keeps_a_setting_and_the_click_that_came_right_after_it(view: View) -> None:
    page = view.open("sampling", prompt=PROMPT, step=1)
    title = page.locator(".ntl-context-title")
    tempered = page.locator('.ntl-stage[data-part="tempered"] .ntl-setting')
    expect(title).to_be_visible(timeout=TIMEOUT_MS)
    before, usual, address = title.text_content() or "", tempered.text_content() or "", page.url
    released_then_pressed(page)
    expect(page).to_have_url(re.compile("(?=.*temperature=2)(?=.*position=1)"), timeout=TIMEOUT_MS)
    expect(title).to_contain_text("goes on with “·of”", timeout=TIMEOUT_MS)
    view.ready()
    expect(tempered).to_contain_text("2.00")
    changed = page.url
    for _ in range(2):  # as many places as the two changes made
        if page.url != address:
            page.go_back()
            page.wait_for_function("before => location.href !== before", arg=changed)
            view.ready()
    assert page.url == address
    expect(title).to_have_text(before, timeout=TIMEOUT_MS)
    expect(tempered).to_have_text(usual, timeout=TIMEOUT_MS)
    while page.url != changed:
        page.go_forward()
        view.ready()
    expect(title).to_contain_text("goes on with “·of”", timeout=TIMEOUT_MS)
    expect(tempered).to_contain_text("2.00", timeout=TIMEOUT_MS)


def test_the_tree_keeps_both_of_two_quick_choices_through_back_and_forward(view: View) -> None:
    page = view.open("tree", prompt=PROMPT, step=1)
    nodes, here = page.locator(".ntt-node"), page.locator(".ntt-node.here")
    expect(nodes).to_have_count(2, timeout=TIMEOUT_MS)
    first = page.url
    page.locator(".nt-bar-row").nth(2).click()
    expect(nodes).to_have_count(3, timeout=TIMEOUT_MS)
    page.locator(".nt-bar-row").nth(1).click()  # the address of the first choice may still be on its way
    expect(nodes).to_have_count(4, timeout=TIMEOUT_MS)
    expect(page).to_have_url(re.compile("step=3"), timeout=TIMEOUT_MS)
    view.ready()
    last, number = page.url, here.get_attribute("data-number") or ""
    while page.url != first:
        page.go_back()
        view.ready()
    expect(here).to_have_attribute("data-number", "1", timeout=TIMEOUT_MS)
    assert nodes.count() == 4, "no branch is lost"
    while page.url != last:
        page.go_forward()
        view.ready()
    expect(here).to_have_attribute("data-number", number, timeout=TIMEOUT_MS)
    assert nodes.count() == 4


def test_a_fact_in_one_s_own_words_outlives_back_forward_and_other_pages(view: View) -> None:
    page = view.open("what-if", prompt=PROMPT, step=2)
    box = page.get_by_label(re.compile("^The wordings"))
    box.fill("The capital of France is\nParis is the capital of")
    box.blur()
    rows = page.locator(".ntk-wording")
    expect(rows).to_have_count(2, timeout=TIMEOUT_MS)
    chances = page.locator(".ntk-value").all_text_contents()
    page.locator(".ntw-chip").nth(0).click()
    page.locator(".nt-bar-row:not(:disabled), .ntw-candidate").first.click()
    page.wait_for_url(re.compile("swap="), timeout=TIMEOUT_MS)
    view.ready(TIMEOUT_MS)
    swapped = page.url
    while "swap=" in page.url:
        page.go_back()
        view.ready(TIMEOUT_MS)
    assert page.locator(".ntk-value").all_text_contents() == chances
    while page.url != swapped:
        page.go_forward()
        view.ready(TIMEOUT_MS)
    assert page.locator(".ntk-value").all_text_contents() == chances
    page.get_by_role("link", name="Sampling").click()
    expect(page.locator(".ntl-context-title")).to_be_visible(timeout=TIMEOUT_MS)
    page.get_by_role("link", name="What if").click()
    expect(rows).to_have_count(2, timeout=TIMEOUT_MS)
    assert page.locator(".ntk-value").all_text_contents() == chances
