"""The What if page with the real model: an experiment, back and forward, a typed swap, small windows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import View

TIMEOUT_MS = 120_000


def lanes(page: Page) -> list[str]:
    return page.locator(".ntw-lanes tr").all_text_contents()


def finished(page: Page, swapped: str) -> None:
    """Wait until both texts are there, B with `swapped` in its place."""
    row = page.locator(".ntw-lanes tr").nth(1).locator(".ntw-token.given")
    expect(row.first).to_have_text(swapped, timeout=TIMEOUT_MS)
    expect(page.locator('.ntw > [data-part="progress"]')).to_be_hidden(timeout=TIMEOUT_MS)


def test_an_experiment_is_found_again_by_back_forward_and_link(view: View) -> None:
    page = view.open("what-if", prompt="Dog bites man")
    page.get_by_role("button", name="An early wrong fact").click()
    finished(page, "·Berlin")
    page.wait_for_url(re.compile("swap="), timeout=TIMEOUT_MS)
    first, address = lanes(page), page.url
    assert page.locator(".ntw-summary p").first.text_content()
    page.get_by_role("button", name="A false premise").click()
    finished(page, "·fly")
    page.wait_for_url(re.compile("cats"), timeout=TIMEOUT_MS)
    view.ready(TIMEOUT_MS)
    page.go_back()
    finished(page, "·Berlin")
    expect(page.get_by_label("Prompt")).to_have_value("The capital of France is")
    assert page.url == address and lanes(page) == first
    view.ready(TIMEOUT_MS)
    page.go_forward()
    finished(page, "·fly")
    page.goto(address)
    view.ready(TIMEOUT_MS)
    finished(page, "·Berlin")
    assert lanes(page) == first


def test_a_typed_token_is_swapped_and_said_to_be_the_first_of_several(view: View) -> None:
    page = view.open("what-if", prompt="The capital of France is", step=3, temperature=0)
    page.locator(".ntw-chip").nth(0).click()
    box = page.locator(".ntw-input")
    expect(box).to_be_visible(timeout=TIMEOUT_MS)
    box.fill("<b>*x*")
    page.get_by_role("button", name="Swap", exact=True).click()
    expect(page.locator(".ntt-notice")).to_contain_text("the first one, <, is used", timeout=TIMEOUT_MS)
    finished(page, "<")
    page.get_by_role("link", name="Tree").click()
    expect(page.locator(".ntt-node.here")).to_have_count(1, timeout=TIMEOUT_MS)
    page.get_by_role("link", name="What if").click()
    finished(page, "<")
    assert "swap=" in page.url, "the comparison waits while other pages are looked at"


@pytest.mark.parametrize(
    "view",
    [{"size": "phone"}, {"size": "tablet", "theme": "dark"}],
    indirect=True,
    ids=["phone", "tablet-dark"],
)
def test_the_page_fits_small_windows(view: View) -> None:
    page = view.open("what-if", prompt="🦜", step=2, swap="0:40:41")
    finished(page, page.locator(".ntw-lanes tr").nth(1).locator(".given").first.text_content() or "")
    view.no_sideways_scroll()
    assert not [fault for fault in view.accessibility_faults() if "critical" in fault or "serious" in fault]
