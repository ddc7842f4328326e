"""A model trained in the page with the real app: watched, stopped, taken to Generate, where it steps."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from core.ui.text import label
from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]


def words(key: str) -> str:
    return label("from_zero", key)


def test_a_run_is_watched_stopped_and_its_model_steps_in_generate(view: View) -> None:
    page = view.open("from-zero")
    page.get_by_role("radio", name="2,000").click()
    page.get_by_role("button", name=words("start_train")).click()
    slider = page.get_by_role("slider", name=words("slider"))
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"step (20|30|50|75)\b"))
    page.get_by_role("button", name=words("stop"), exact=True).click()
    expect(page.get_by_text(words("stopped"))).to_be_visible()
    view.ready()

    last = slider.get_attribute("aria-valuetext")
    slider.focus()
    page.keyboard.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("step 0 "))
    assert slider.get_attribute("aria-valuetext") != last
    head = page.locator(".ntz-frame")
    before = page.locator(".ntz-large figcaption").inner_text()
    head.focus()
    page.keyboard.press("ArrowUp")
    assert page.locator(".ntz-large figcaption").inner_text() != before
    view.no_sideways_scroll()
    view.assert_accessible()

    name = page.locator(".st-key-nt_from_zero_use code").inner_text()
    page.get_by_role("button", name=words("use_generate")).click()
    expect(page).to_have_url(re.compile(f"/generate.*model={name}"))
    view.ready()
    page.get_by_role("button", name="From zero: a story").click()
    picker = page.get_by_role("combobox", name=label("shell", "model"))
    expect(picker).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Next token").first.click()
    expect(page).to_have_url(re.compile("step=1"))
    view.ready()


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True)
def test_a_link_to_a_model_of_another_machine_leads_to_training_it_here(view: View) -> None:
    page = view.open("generate", model="from-zero-0123abcd")
    page.get_by_role("button", name=label("shell", "train_again")).click()
    expect(page.get_by_role("button", name=words("start_train"))).to_be_visible()
    view.ready()
    view.no_sideways_scroll()
