"""The KV cache page with the real model: a cell pointed at, a cell chosen, a step measured both ways."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View, text_of

PROMPT = "The capital of France is"


def test_pointing_reads_a_cell_and_a_click_chooses_it_for_all_pages(view: View) -> None:
    view.open("kv-cache", prompt=PROMPT, step=1, layer=3, position=2)
    view.page.locator("h3", has_text="What layer 3 keeps of ·of (position 2)").wait_for()
    grid = view.page.locator(".nt-kv-frame canvas").first
    grid.hover(position={"x": 40, "y": 5})
    view.page.locator("h3", has_text="What layer 29 keeps of The (position 0)").wait_for()
    grid.click(position={"x": 40, "y": 5})
    view.page.wait_for_url("**layer=29**position=0**")
    view.ready()
    grid.focus()
    grid.press("ArrowDown")
    view.page.wait_for_url("**layer=28**")
    expect(view.page.locator("h3", has_text="What layer 28 keeps")).to_have_count(1)
    assert ", more than the allowed" not in text_of(view.page)


def test_the_default_model_s_bytes_are_as_published(view: View) -> None:
    """2 · 30 layers · 3 K/V heads · 64 numbers · 4 bytes = 46,080 bytes a token."""
    view.open("kv-cache", prompt=PROMPT)
    view.wait_for_text("Now, 5 tokens 230 KB The next token adds 46.1 KB")
    view.page.get_by_role("button", name="Next token", exact=True).click()
    view.page.wait_for_url("**step=1**")
    view.wait_for_text("Now, 6 tokens 276 KB")


def test_a_step_is_measured_with_and_without_the_cache(view: View) -> None:
    view.open("kv-cache", prompt=PROMPT, step=1)
    view.page.get_by_role("button", name="Measure this step both ways").click()
    view.page.get_by_test_id("stProgress").wait_for(state="detached", timeout=120_000)
    view.page.get_by_text("Logits with the cache against those without").first.wait_for(timeout=120_000)
    view.ready()
    # 30 · (2·576² + 2·576·192 + 3·576·1536 + 6 keys · 9 heads · 128) + 576 · 49,152
    assert "134.7M multiply-adds" in text_of(view.page)
    assert ", more than the allowed" not in text_of(view.page)


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_it_fits_a_phone_and_nothing_serious_is_found(view: View) -> None:
    view.open("kv-cache", prompt="👩‍👩‍👧‍👦🍜", step=1)
    view.no_sideways_scroll()
    view.assert_accessible()
