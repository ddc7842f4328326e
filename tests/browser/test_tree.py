"""The Tree page with the real model: a tree walked by keyboard; back; saved, opened; literal text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.harness import View

STEP_TIMEOUT_MS = 60_000
GROWTH_TIMEOUT_MS = 240_000


def node(page: Page, which: str) -> Locator:
    return page.locator(f".ntt-node{which}")


def opened(view: View, **link: object) -> Page:
    page = view.open("tree", **link)
    expect(node(page, ".here")).to_have_count(1, timeout=STEP_TIMEOUT_MS)
    return page


def number_in_focus(page: Page) -> int:
    focus = page.locator(".ntt-node:focus")
    expect(focus).to_have_count(1)
    return int(focus.get_attribute("data-number") or -1)


# Of 2 + 4 + … + 128 = 254 tokens two are missing: “the capital of France.<|im_end|>” ends at depth 6.
@pytest.mark.parametrize(
    ("children", "depth", "count"), [(2, 4, 30), pytest.param(2, 7, 252, marks=pytest.mark.full)]
)
def test_a_grown_tree_is_drawn_and_walked_by_keyboard(
    view: View, children: int, depth: int, count: int
) -> None:
    page = opened(view, prompt="The capital of France is")
    grow = page.locator(".ntt")
    grow.get_by_role("group", name="Children of each node").get_by_role("button", name=str(children)).click()
    grow.get_by_role("group", name="Depth").get_by_role("button", name=str(depth)).click()
    page.get_by_role("button", name="Grow", exact=True).click()
    expect(page.locator(".ntt-count")).to_contain_text(f"{count} tokens", timeout=GROWTH_TIMEOUT_MS)
    expect(page.locator(".ntt-progress:visible")).to_have_count(0, timeout=STEP_TIMEOUT_MS)
    assert node(page, "").count() == count + 1
    assert page.locator(".ntt-page path").count() == count

    node(page, ".root").focus()
    before = page.url
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    chosen = number_in_focus(page)
    page.keyboard.press("ArrowLeft")
    assert number_in_focus(page) != chosen
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert number_in_focus(page) == chosen
    page.keyboard.press(" ")
    folded = node(page, "").count()
    assert folded < count + 1 and page.locator(".ntt-node:focus").get_attribute("aria-expanded") == "false"
    page.keyboard.press("ArrowRight")
    assert node(page, "").count() == count + 1, "going on into a folded node opens it"
    assert number_in_focus(page) == chosen
    page.keyboard.press("Enter")
    expect(node(page, ".here")).to_have_attribute("data-number", str(chosen), timeout=STEP_TIMEOUT_MS)
    assert number_in_focus(page) == chosen
    page.wait_for_url(re.compile("step=2"), timeout=STEP_TIMEOUT_MS)
    page.go_back()
    page.wait_for_url(before, timeout=STEP_TIMEOUT_MS)
    expect(node(page, ".here.root")).to_have_count(1, timeout=STEP_TIMEOUT_MS)
    assert node(page, "").count() == count + 1, "back loses no branch"


def test_beams_are_searched_on_the_tree_and_one_is_chosen(view: View) -> None:
    page = opened(view, prompt="The capital of France is")
    page.get_by_role("group", name="Tokens at most").get_by_role("button", name="4", exact=True).click()
    page.get_by_role("group", name="Score").get_by_role("button", name="sum").click()
    page.get_by_role("button", name="Search", exact=True).click()
    finished = page.locator(".ntt-group.finished .ntt-beam")
    expect(page.locator('.ntt-report [data-part="over"]')).to_be_visible(timeout=STEP_TIMEOUT_MS)
    assert finished.count() == 3 and page.locator(".ntt-group.pruned .ntt-beam").count() > 0
    expect(page.locator('.ntt-report [data-part="rule"]')).to_contain_text("sum of the tokens")
    text = finished.first.locator(".nt-mono").text_content() or ""
    finished.first.click()
    expect(node(page, ".run")).to_have_count(5, timeout=STEP_TIMEOUT_MS)  # the prompt and four tokens
    shown = node(page, ".run").locator(".ntt-text").all_text_contents()[1:]
    assert "".join(shown) == text


def test_a_saved_tree_opens_again_in_another_tab(view: View, tmp_path: Path) -> None:
    page = opened(view, prompt="Dog bites man", step=2, temperature=0)
    page.locator(".nt-bar-row").nth(3).click()
    expect(node(page, "")).to_have_count(4, timeout=STEP_TIMEOUT_MS)
    seen = node(page, "").all_text_contents()
    with page.expect_download(timeout=STEP_TIMEOUT_MS) as waiting:
        page.get_by_role("button", name="Save the whole tree").click()
    file = tmp_path / "tree.json"
    waiting.value.save_as(file)
    assert json.loads(file.read_text("utf-8"))["asked"]["prompt"] == "Dog bites man"

    page = opened(view, prompt="Something else")
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("Opened: 3 tokens in the tree")).to_be_visible(timeout=STEP_TIMEOUT_MS)
    expect(node(page, "")).to_have_text(seen, timeout=STEP_TIMEOUT_MS)
    expect(page.get_by_label("Prompt")).to_have_value("Dog bites man")

    file.write_text(file.read_text("utf-8").replace('"fingerprint": "', '"fingerprint": "0'))
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("one with other weights")).to_be_visible(timeout=STEP_TIMEOUT_MS)
    expect(node(page, "")).to_have_text(seen, timeout=STEP_TIMEOUT_MS)


@pytest.mark.parametrize(
    ("view", "prompt"),
    [
        ({"size": "phone"}, 'a<b<c "><img src=x onerror=alert(1)> $5 *a*'),
        ({"size": "tablet", "theme": "dark"}, "🦜"),
    ],
    indirect=["view"],
    ids=["phone", "tablet-dark"],
)
def test_odd_prompts_fit_small_windows_and_are_literal(view: View, prompt: str) -> None:
    page = opened(view, prompt=prompt, step=1)
    view.no_sideways_scroll()
    assert page.locator("img[src=x]").count() == 0
    assert not [fault for fault in view.accessibility_faults() if "critical" in fault or "serious" in fault]
