"""The Generate page in a real browser with the real model: stepped by key, dragged, found again by link."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

STEP_TIMEOUT_MS = 60_000
PROMPTS = {
    "markup": 'a<b<c "><img src=x onerror=alert(1)>',
    "markdown": "costs $5 or $6 *now* _x_ `y` :smile:",
    "spaces": "  Hello  World.\n\n\tx",
    "emoji": "🦜🦜 naïve 日本語 مرحبا",
    "control": "Hi<|im_end|> there",
}


def at_step(page: Page, step: int, total: int) -> None:
    """Wait until `step` of `total` generated tokens are on the screen and the page is at rest."""
    expect(page.locator(".ntg-scrub output")).to_have_text(f"Step {step} of {total}", timeout=STEP_TIMEOUT_MS)
    expect(page.locator(".ntg.busy")).to_have_count(0, timeout=STEP_TIMEOUT_MS)


def chips(page: Page) -> list[str]:
    return page.locator(".ntg-chip").all_text_contents()


def screen(page: Page) -> dict[str, Any]:
    """All that a learner sees of the run and the distribution."""
    return {
        "chips": page.locator(".ntg-chip").evaluate_all("all => all.map(e => [e.className, e.textContent])"),
        "bars": page.locator(".ntg-bar").all_text_contents(),
        "rest": page.locator('[data-part="bars-rest"]').text_content(),
        "draw": page.locator(".ntg-draw-now").text_content(),
        "now": page.locator(".ntg-now").text_content(),
        "settings": page.locator(".ntg-setting output").all_text_contents(),
        "cache": page.locator('.ntg-fact[data-part="cache"] b').text_content(),
    }


def test_a_run_stepped_forced_and_dragged_is_found_again_by_its_link(view: View) -> None:
    page = view.open("generate")
    prompt = page.get_by_label("Prompt")
    prompt.fill("Dog bites man")
    prompt.press("Enter")
    expect(page.locator(".ntg-chip")).to_have_text(["Dog", "·bites", "·man"], timeout=STEP_TIMEOUT_MS)
    page.locator(".ntg-now").click()
    for step in range(1, 6):
        page.keyboard.press("ArrowRight")
        at_step(page, step, step)
    first = chips(page)
    page.keyboard.press("ArrowLeft")
    at_step(page, 4, 5)
    page.keyboard.press("ArrowLeft")
    at_step(page, 3, 5)
    assert chips(page) == first, "going back keeps what was generated, pale"
    assert page.locator(".ntg-chip.ahead").count() == 2

    bar = page.locator(".ntg-bar:not(.recorded)").nth(2)
    name = bar.locator(".ntg-bar-name").text_content()
    bar.click()
    at_step(page, 4, 4)
    assert chips(page) == [*first[:6], name]
    assert page.locator(".ntg-chip.forced").count() == 1

    before = page.locator(".ntg-bar-value").all_text_contents()
    frames = drag_temperature(page, before)
    assert frames == 0, "dragging sends nothing to the server"
    page.wait_for_url(re.compile("temperature="), timeout=STEP_TIMEOUT_MS)
    at_step(page, 4, 4)
    seen = screen(page)

    page.reload()
    view.ready(STEP_TIMEOUT_MS * 2)
    at_step(page, 4, 4)
    assert screen(page) == seen


def drag_temperature(page: Page, before: list[str]) -> int:
    """Drag by hand until the bars differ from `before`; return the frames sent while the button was down."""
    slider = page.locator('.ntg input[name="temperature"]')
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.evaluate(_COUNT_FRAMES)
    page.mouse.move(box["x"] + box["width"] * 0.27, y)
    page.mouse.down()
    for share in (0.4, 0.55, 0.7, 0.85):
        page.mouse.move(box["x"] + box["width"] * share, y)
        page.wait_for_timeout(60)
    expect(page.locator(".ntg-bar-value")).not_to_have_text(before)
    frames = int(page.evaluate("window.__ntFrames"))
    page.mouse.up()
    return frames


_COUNT_FRAMES = """() => {
  window.__ntFrames = 0
  const send = WebSocket.prototype.send
  WebSocket.prototype.send = function (...all) { window.__ntFrames += 1; return send.apply(this, all) }
}"""


def test_two_clicks_at_once_are_one_step(view: View) -> None:
    page = view.open("generate", prompt="The capital of France is")
    page.get_by_role("button", name="Next token").dblclick()
    at_step(page, 1, 1)
    page.wait_for_timeout(500)
    at_step(page, 1, 1)


def test_play_steps_by_itself_to_the_limit_and_says_why_it_stopped(view: View) -> None:
    page = view.open("generate", prompt="The capital of France is", tokens=3, seed=1)
    page.get_by_role("button", name="fast").click()
    page.locator(".ntg-now").click()
    page.keyboard.press("Space")
    at_step(page, 3, 3)
    expect(page.locator('.ntg-fact[data-part="stop"] b')).to_have_text("stopped: 3-token limit")
    expect(page.locator(".ntg-now")).to_contain_text("limit of 3 tokens")


def test_typing_in_the_prompt_does_not_step(view: View) -> None:
    page = view.open("generate", prompt="The capital of France is")
    prompt = page.get_by_label("Prompt")
    prompt.press("End")
    prompt.press("ArrowLeft")
    prompt.press("ArrowRight")
    prompt.press("Space")
    page.wait_for_timeout(400)
    at_step(page, 0, 0)


def test_before_the_prefill_nothing_is_shown_but_the_prompt(view: View) -> None:
    page = view.open("generate", prompt="The capital of France is")
    page.locator(".ntg-now").click()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".ntg-now")).to_contain_text("Nothing has been read yet")
    assert page.locator(".ntg-numbers").evaluate("e => getComputedStyle(e).opacity") in ("0", "0.0")
    page.get_by_role("button", name="Prefill").click()
    expect(page.locator(".ntg-now")).to_contain_text("in one pass")


@pytest.mark.parametrize("name", PROMPTS)
def test_a_prompt_is_shown_literally_and_completely(view: View, name: str) -> None:
    text = PROMPTS[name]
    page = view.open("generate", prompt=text, step=1)
    at_step(page, 1, 1)
    shown = page.locator(".ntg-chip.given").evaluate_all(_FIRST_TEXTS)
    expected = text.replace(" ", "·").replace("\n", "↵").replace("\t", "⇥")
    assert "".join(shown) == expected
    assert page.locator("img[src='x']").count() == 0


_FIRST_TEXTS = """all => all.filter(e => !e.classList.contains("split") || e.classList.contains("first"))
  .map(e => e.firstChild ? e.firstChild.data : "")"""


@pytest.mark.parametrize(
    "view",
    [{"size": "phone"}, {"size": "tablet", "theme": "dark"}],
    indirect=True,
    ids=["phone", "tablet-dark"],
)
def test_the_page_fits_small_windows(view: View) -> None:
    page = view.open("generate", prompt="The capital of France is", chat=1, step=2)
    at_step(page, 2, 2)
    view.no_sideways_scroll()
    assert page.get_by_role("button", name="Next token").is_visible()
