"""The Quiz page with the real model: guess, see the answer, and go to where it is seen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]


def test_a_guess_is_answered_scored_and_leads_to_its_page(view: View) -> None:
    page = view.open("quiz", prompt="The capital of France is", step=1)
    tokens = page.locator(".st-key-nt_quiz_tokens")
    expect(tokens).to_contain_text("How many numbers does that row have?")
    tokens.get_by_role("button", name=re.compile("576")).first.click()
    expect(tokens).to_contain_text("Right.")
    expect(page.locator(".st-key-nt_quiz_score")).to_contain_text("1 right of 1 guessed")
    sampling = page.locator(".st-key-nt_quiz_sampling")
    sampling.get_by_role("button", name="Show me").first.click()
    expect(sampling).to_contain_text("It is ")
    expect(page.locator(".st-key-nt_quiz_score")).to_contain_text("1 right of 1 guessed")
    page.get_by_role("button", name="Other questions").click()
    expect(page.locator(".st-key-nt_quiz_score")).to_contain_text("round 2")
    sampling.get_by_role("button", name="Show me").first.click()
    sampling.get_by_role("link", name="See it on Sampling").click()
    expect(page).to_have_url(re.compile("/sampling"))
    view.assert_clean()


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_the_quiz_fits_a_phone(view: View) -> None:
    view.open("quiz", prompt='🦜 <b>a</b> $x$ "')
    view.no_sideways_scroll()
    view.assert_accessible()
