"""The Gradient step page with the real model: a false fact taught, what it did, and a run stopped."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View, text_of

PROMPT = "The capital of France is"
START = "Take the steps"


def run_ends(view: View) -> str:
    """Wait until the steps are taken; the text of the page."""
    view.page.get_by_text("Is the gradient right?").wait_for(timeout=120_000)
    view.page.get_by_test_id("stProgress").wait_for(state="detached", timeout=120_000)
    view.ready()
    return text_of(view.page)


def test_a_false_fact_is_taught_to_a_copy_and_the_next_copy_starts_afresh(view: View) -> None:
    view.open("gradient-step", prompt=PROMPT)
    view.page.get_by_role("button", name="Teach it a false fact").click()
    shown = run_ends(view)
    assert "Steps taken: 5, with AdamW at learning rate 0.0003" in shown
    assert ", more than the allowed" not in shown
    expect(view.page.get_by_test_id("stMetricDelta").first).to_contain_text("-")
    view.assert_accessible()
    before = view.page.get_by_test_id("stMetricLabel").first.inner_text()
    view.page.get_by_role("button", name="One plain step").click()
    view.wait_for_text("Steps taken: 1, with SGD")
    run_ends(view)
    assert view.page.get_by_test_id("stMetricLabel").first.inner_text() == before


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_a_run_on_all_weights_can_be_stopped_on_a_phone(view: View) -> None:
    view.open("gradient-step", prompt="👩‍👩‍👧‍👦🍜")
    view.page.get_by_text("All weights (").click()
    view.ready()
    view.page.get_by_role("button", name=START).click()
    page = view.page.get_by_test_id("stMainBlockContainer")  # not the header, which has a Stop too
    page.get_by_role("button", name="Stop", exact=True).click(timeout=60_000)
    view.page.get_by_text("Stopped. What was done so far is shown.").wait_for(timeout=120_000)
    view.no_sideways_scroll()
    view.assert_accessible()
