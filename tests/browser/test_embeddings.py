"""The Embeddings page in a real browser with the real model."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

NEAR = ".st-key-nt_embedding_near"


def test_a_neighbour_and_a_token_of_the_text_can_be_followed(view: View) -> None:
    page = view.open("embeddings", prompt="one two three<b>", position=2)
    names = page.locator(".nt-stripe-name span.nt-mono")
    expect(names).to_have_text(["one", "·two", "·three", "<", "b", ">"])
    first = page.locator(f"{NEAR} .nt-bar-row").first
    expect(first).to_contain_text("·four")
    first.click()
    expect(page.get_by_label("Look up another token")).to_have_value(" four")
    expect(page.locator(f"{NEAR} h3")).to_contain_text("·four")
    names.nth(1).click()
    expect(page.locator(f"{NEAR} h3")).to_contain_text("·two")
    expect(page).to_have_url(re.compile("position=1"))
    expect(page.get_by_label("Look up another token")).to_have_value("")
    stripe = page.locator(".nt-stripes li.lit canvas")
    stripe.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".nt-tip:not([hidden])")).to_contain_text("·two · number 1 ·")


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True)
@pytest.mark.parametrize("prompt", ["🦜🦜", "a"])
def test_odd_prompts_fit_a_phone(view: View, prompt: str) -> None:
    page = view.open("embeddings", prompt=prompt)
    expect(page.locator(f"{NEAR} .nt-bar-row")).to_have_count(12)
    expect(page.locator(".st-key-nt_embedding_sum .nt-bar-row")).to_have_count(12)
    view.no_sideways_scroll()
