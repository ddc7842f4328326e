"""The Block page with the real model: boxes that open, a head and a neuron chosen, odd prompts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]


def test_boxes_open_and_a_head_is_chosen_for_all_pages(view: View) -> None:
    page = view.open("block", prompt="The capital of France is", layer=28)
    boxes = page.locator(".ntb-box")
    expect(boxes).to_have_count(15)
    heights = boxes.locator("canvas").evaluate_all("all => all.map(e => e.clientHeight)")
    names = boxes.evaluate_all("all => all.map(e => e.dataset.part.slice(4))")
    sizes = dict(zip(names, heights, strict=True))
    assert sizes["gate"] / sizes["resid_in"] == pytest.approx(1536 / 576, rel=0.05)
    assert sizes["query"] / sizes["key"] == pytest.approx(3, rel=0.1)
    page.locator('[data-part="box-heads"]').click()
    panel = page.locator(".ntb-panel")
    expect(panel.locator("li")).to_have_count(9)
    panel.locator("li button").nth(4).click()
    expect(page.get_by_label("Head (0 to 8)")).to_have_value("4")
    expect(panel.locator("li.lit")).to_contain_text("4")
    expect(page).to_have_url(re.compile("head=4"))


def test_a_neuron_shows_the_tokens_it_pushes(view: View) -> None:
    page = view.open("block", prompt="The capital of France is", layer=28)
    page.get_by_text("Inside the feed-forward part").click()
    neurons = page.locator('.ntb-neurons [data-part="neurons"] .nt-bar-row')
    expect(neurons).to_have_count(12)
    title = page.locator('.ntb-neurons [data-part="list-0"] h3')
    before = title.inner_text()
    neurons.nth(3).click()
    expect(title).not_to_have_text(before)


@pytest.mark.parametrize("prompt", ["Hi", "🦜🦜🦜"])
def test_odd_prompts_have_a_block_as_well(view: View, prompt: str) -> None:
    page = view.open("block", prompt=prompt)
    expect(page.locator(".ntb-box")).to_have_count(15)
