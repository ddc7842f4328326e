"""The Timeline page with the real model: a pass taken apart, a step added, a measurement beside it all."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View, text_of

PROMPT = "Hello, how was your day?"


def test_a_chosen_block_is_taken_apart_and_a_step_adds_one(view: View) -> None:
    view.open("timeline", prompt=PROMPT, step=2)
    view.page.get_by_text("Inside decode step 2").wait_for()
    picture = view.page.get_by_role("img", name=re.compile("The run to scale"))
    picture.focus()
    picture.press("Home")
    view.page.get_by_text("Inside the prefill (7 tokens").wait_for()
    view.page.wait_for_url("**position=6**")
    view.ready()
    view.page.get_by_role("button", name="Next token", exact=True).click()
    view.page.wait_for_url("**step=3**")
    view.ready()
    view.page.get_by_text("Inside decode step 3").wait_for()
    assert view.page.locator(".nt-guesses li").count() == 7
    assert view.page.locator(".nt-guesses li.used").count() == 1


def test_a_measurement_leaves_the_page_free_and_survives_leaving_it(view: View) -> None:
    view.open("timeline", prompt=PROMPT, step=1)
    view.page.get_by_role("button", name="Measure", exact=True).click()
    view.page.get_by_test_id("stProgress").wait_for()
    view.page.get_by_role("button", name="Next token", exact=True).click()
    view.page.wait_for_url("**step=2**")
    view.page.get_by_role("link", name="KV cache").click()
    view.page.locator(".nt-kv-frame").first.wait_for()
    view.page.get_by_role("link", name="Timeline").click()
    view.page.get_by_text("Time to first token", exact=True).wait_for(timeout=120_000)
    page = view.page.get_by_test_id("stMainBlockContainer")  # not the header, which has a Stop too
    stop = page.get_by_role("button", name="Stop", exact=True)
    if stop.count():  # a fast machine may have finished
        stop.click()
    view.page.get_by_test_id("stProgress").wait_for(state="detached", timeout=60_000)
    expect(view.page.get_by_role("button", name="Measure", exact=True)).to_be_enabled()


@pytest.mark.parametrize("prompt", ["a", "👩‍👩‍👧‍👦", "a<b<c $5 *x* <img src=x onerror=alert(1)>"])
def test_any_prompt_is_drawn_and_stays_literal(view: View, prompt: str) -> None:
    view.open("timeline", prompt=prompt, step=1)
    view.page.locator(".nt-guesses li.used").wait_for()
    assert text_of(view.page).count("largest difference") == 2
    assert ", more than the allowed" not in text_of(view.page)
    assert view.page.locator("img[src=x]").count() == 0


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_it_fits_a_phone_and_nothing_serious_is_found(view: View) -> None:
    view.open("timeline", prompt=PROMPT, step=2)
    view.no_sideways_scroll()
    view.assert_accessible()
