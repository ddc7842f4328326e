"""The Journey in a real browser with the real model: stepped, looked at through its lenses, taken home."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

TIMEOUT_MS = 60_000
PROMPT = "The capital of France is"


def at_step(page: Page, step: int) -> None:
    expect(page.locator(".ntg-scrub output")).to_have_text(re.compile(f"^Step {step} of"), timeout=TIMEOUT_MS)
    expect(page.locator(".ntg.busy")).to_have_count(0, timeout=TIMEOUT_MS)


def test_the_run_is_stepped_by_key_and_seen_through_every_lens(view: View) -> None:
    page = view.open("", prompt=PROMPT)
    at_step(page, 0)
    place = page.locator(".ntj-place > span")
    expect(place).to_contain_text("“·is” · position 4")
    page.keyboard.press("ArrowRight")
    at_step(page, 1)
    expect(page.locator(".ntg-now")).to_contain_text("“·Paris” joined the text")
    expect(page.locator(".ntj-station .ntj-mini.append")).to_have_text("·Paris")
    page.wait_for_url(re.compile("step=1"), timeout=TIMEOUT_MS)

    for name in ("KV cache", "Time", "Attention"):
        page.locator(".ntj-lenses button", has_text=name).click()
        expect(page.locator(".ntj-lenses button", has_text=name)).to_have_attribute(
            "aria-pressed", "true", timeout=TIMEOUT_MS
        )
    expect(place).to_contain_text("head 0 of the chosen cell takes")
    page.locator(".ntj-heads button", has_text="3").click()
    expect(place).to_contain_text("head 3", timeout=TIMEOUT_MS)
    page.keyboard.press("ArrowLeft")
    at_step(page, 0)

    page.locator(".ntj-place button").click()
    page.wait_for_url(re.compile(r"/block\?.*layer=15&head=3"), timeout=TIMEOUT_MS)


def test_the_last_layer_would_say_what_the_model_says(view: View) -> None:
    page = view.open("", prompt=PROMPT, layer=29)
    page.locator(".ntj-lenses button", has_text="would say").click()
    expect(page.locator(".ntj-place > span")).to_contain_text(
        "would say “·Paris” with 77", timeout=TIMEOUT_MS
    )


def test_the_handout_opens_from_disk_without_scripts(view: View, tmp_path: Path) -> None:
    page = view.open("", prompt=f"{PROMPT} <img src=x onerror=alert(1)>", step=1)
    with page.expect_download(timeout=TIMEOUT_MS) as kept:
        page.locator(".st-key-nt_handout button").click()
    file = tmp_path / "handout.html"
    kept.value.save_as(file)
    context = view.browser.new_context(java_script_enabled=False, offline=True)
    try:
        alone = context.new_page()
        asked: list[str] = []
        alone.on("request", lambda request: asked.append(request.url))
        alone.goto(file.as_uri())
        assert asked == [file.as_uri()]
        assert alone.locator("img").count() == 0
        expect(alone.locator("pre")).to_contain_text("<img src=x onerror=alert(1)>")
        expect(alone.locator("table").first).to_contain_text("·France")
        expect(alone.locator("svg rect").first).to_be_visible()
    finally:
        context.close()


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True)
@pytest.mark.parametrize("prompt", ["🦜🦜", "one two three " * 20])
def test_odd_prompts_fit_a_phone(view: View, prompt: str) -> None:
    page = view.open("", prompt=prompt)
    expect(page.locator(".ntj-grid canvas")).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.locator(".ntj-station")).to_have_count(14)
    view.no_sideways_scroll()
