"""The Output page in a real browser with the real model."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

LENS_TIMEOUT_MS = 120_000


def test_the_lens_fills_by_itself_and_the_constant_moves_nothing(view: View) -> None:
    page = view.open("output", prompt="The capital of France is")
    said = page.locator(".st-key-nt_lens .nt-readout")
    expect(page.locator(".nt-out-progress")).to_have_count(1, timeout=LENS_TIMEOUT_MS)
    expect(page.locator(".nt-out-progress")).to_be_hidden(timeout=LENS_TIMEOUT_MS)
    grid = page.locator(".nt-out-scroll")
    grid.focus()
    page.keyboard.press("PageUp")
    expect(said).to_contain_text("After the last layer, the model's own, at “·is” (position 4): “·Paris” 77")
    page.wait_for_url(re.compile("layer=29"), timeout=LENS_TIMEOUT_MS)  # sent once the keys rest
    view.ready()

    chances = page.locator(".nt-out-worked")
    expect(chances).to_contain_text("All 49,152 probabilities together: 1.000000000")
    before = page.locator(".nt-two [data-part=chances] .nt-bar-number").all_text_contents()
    page.locator(".nt-out-slider input").fill("7.5")
    expect(page.locator(".nt-out-badge")).to_have_text(
        "Experiment: 7.5 added to every logit. The run is not changed."
    )
    expect(page.locator(".nt-out-moved")).to_contain_text("Largest change of any probability")
    assert page.locator(".nt-two [data-part=chances] .nt-bar-number").all_text_contents() == before
    expect(page.locator(".nt-two [data-part=scores] .nt-bar-number").first).to_have_text("24.87")

    page.locator(".nt-chips button", has_text="·London").click()
    expect(page.locator(".nt-out-table caption")).to_contain_text("·London")


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True)
@pytest.mark.parametrize("prompt", ["🦜🦜", "a"])
def test_odd_prompts_fit_a_phone(view: View, prompt: str) -> None:
    page = view.open("output", prompt=prompt)
    expect(page.locator(".nt-out-table .total .value")).not_to_be_empty()
    view.no_sideways_scroll()
