"""Guess first in a real browser: the answer is nowhere on the page until the learner has guessed."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

# All text of the main part, shadow trees included.
ALL_TEXT = """() => {
  const read = (node) => [...node.childNodes].map((child) => child.nodeType === 3 ? child.data
    : ["STYLE", "SCRIPT"].includes(child.tagName) ? ""
    : read(child) + (child.shadowRoot ? read(child.shadowRoot) : "")).join(" ")
  return read(document.querySelector("[data-testid=stMain]"))
}"""


def test_the_number_of_tokens_is_guessed_before_it_is_shown(view: View) -> None:
    page = view.open("tokens", prompt="Hello, how was your day?")
    assert "7 of at most" in page.evaluate(ALL_TEXT)
    page.get_by_text("Guess first").click()
    expect(page.locator(".nt-predict .ask")).to_contain_text("Into how many tokens")
    expect(page.locator(".st-key-nt_grid")).to_have_count(0)
    told = page.evaluate(ALL_TEXT)
    assert "·how" not in told and "of at most" not in told
    view.assert_accessible()
    page.get_by_role("spinbutton").fill("7")
    page.get_by_role("button", name="Check").click()
    expect(page.locator(".nt-predict .told")).to_contain_text("Right.")
    expect(page.locator(".nt-small-grid-line")).to_contain_text("7 of at most")
    expect(page.locator(".st-key-nt_guess")).to_contain_text("1 of 1 right")
    view.assert_clean()


def test_a_next_token_is_guessed_before_its_bars_are_drawn(view: View) -> None:
    page = view.open("generate", prompt="The capital of France is", temperature=0)
    expect(page.locator(".ntg-bar").first).to_be_visible()
    page.get_by_role("button", name="Guess first").click()
    expect(page.locator(".ntg-bar")).to_have_count(0)
    before = page.evaluate(ALL_TEXT)
    assert "The draw" not in before and "·Paris" in before  # one choice of five, with nothing that marks it
    choices = page.locator(".nt-predict .choice")
    expect(choices).to_have_count(5)
    assert len({choice.get_attribute("class") for choice in choices.all()}) == 1
    view.assert_accessible()
    choices.filter(has_text="·Paris").click()
    expect(page.locator(".nt-predict .told")).to_contain_text("Right.")
    expect(page.locator(".ntg-bar").first).to_be_visible()
    expect(page.locator(".ntg-guess-row")).to_contain_text("1 of 1")
    page.get_by_role("button", name="Next").first.click()
    expect(page.locator(".nt-predict .ask")).to_contain_text("new token 2")
    expect(page.locator(".ntg-bar")).to_have_count(0)
    page.get_by_role("button", name="Guess first").click()
    expect(page.locator(".ntg-bar").first).to_be_visible()
    view.assert_clean()
