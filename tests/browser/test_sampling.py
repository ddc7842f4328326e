"""The Sampling page with the real model: bars follow a dragged slider without the server."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

PROMPTS = ["Hello", "one two one two one two", "🦜🦜🦜", 'a<b<c "><img src=x onerror=alert(1)> *x*']
FINAL = '.ntl-stage[data-part="final"]'


def opened(view: View, **params: object) -> Page:
    page = view.open("sampling", **params)
    expect(page.locator(".ntl-stages").first.locator(".ntl-stage")).to_have_count(7)
    return page


def final_values(page: Page) -> list[str]:
    return page.locator(f"{FINAL} .ntl-value").all_text_contents()


def drag(page: Page, name: str, position: int) -> None:
    """Move a slider without letting go: what a hand does before the release."""
    page.locator(f"input[name={name}]").evaluate(
        "(slider, at) => { slider.value = String(at); slider.dispatchEvent(new Event('input')) }", position
    )


def test_bars_follow_a_dragged_slider_and_the_release_reaches_the_link(view: View) -> None:
    page = opened(view, prompt="The capital of France is")
    before, asked = final_values(page), len(view.requests)
    drag(page, "temperature", 40)
    expect(page.locator('.ntl-stage[data-part="tempered"] .ntl-setting')).to_contain_text("2.00")
    expect(page.locator(f"{FINAL} .ntl-value")).not_to_have_text(before)  # drawn with the next frame
    assert "temperature" not in page.url and len(view.requests) == asked
    page.locator("input[name=temperature]").dispatch_event("change")
    expect(page).to_have_url(re.compile("temperature=2"))
    drag(page, "temperature", 0)
    expect(page.locator(f"{FINAL} .ntl-value").first).to_have_text("100%")
    expect(page.locator('.ntl-stage[data-part="tempered"] li.here')).to_have_count(11)
    view.assert_clean()


def test_many_draws_come_near_to_the_chances_and_a_removed_token_is_never_drawn(view: View) -> None:
    page = opened(view, prompt="My favourite colour is", top_k=3)
    drag(page, "draws", 40)
    expect(page.locator('[data-part="samples-distance"]')).to_contain_text("After 10,000 draws")
    seen = page.locator(".ntl-samples li .ntl-value:nth-child(3)").all_text_contents()
    counts = [int(text.replace(",", "").split()[0]) for text in seen]
    assert sum(counts) == 10_000 and all(counts[:3]) and not any(counts[3:])
    distance = page.locator('[data-part="samples-distance"]').text_content() or ""
    share = re.search(r"draws ([\d.]+)%", distance)
    assert share and float(share[1]) < 3


def test_another_token_of_the_text_is_looked_at(view: View) -> None:
    page = opened(view, prompt="The capital of France is", step=2)
    page.locator('.ntl-token[data-position="1"]').click()
    expect(page.locator(".ntl-context-title")).to_contain_text("the prompt goes on with “·of”")
    expect(page).to_have_url(re.compile("position=1"))
    view.assert_clean()


@pytest.mark.parametrize("prompt", PROMPTS)
def test_odd_prompts_are_shown_literally(view: View, prompt: str) -> None:
    page = opened(view, prompt=prompt)
    expect(page.locator(".ntl-token.here")).to_have_count(1)
    assert page.locator(".ntl img").count() == 0
    view.assert_clean()


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_a_flat_distribution_fits_a_phone_and_is_accessible(view: View) -> None:
    opened(view, temperature=1.5)
    view.no_sideways_scroll()
    view.assert_accessible()
