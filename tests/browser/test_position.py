"""The Position page with the real model: a dragged query, two moved together, odd prompts."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from core.lessons.position import rotation
from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

PROMPT = "The dog bites the man"
LAYER, HEAD = 3, 2


def score(page: Page) -> float:
    return float(page.locator(".ntp-score b").inner_text().replace("−", "-"))


def slide(page: Page, name: str, value: int) -> None:
    page.locator(f".ntp-sliders input.{name}").evaluate(
        "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')) }", str(value)
    )


def test_the_score_in_the_browser_is_the_models_and_depends_on_distance_alone(
    view: View, real_model: object
) -> None:
    page = view.open("position", prompt=PROMPT, layer=LAYER, head=HEAD)
    expect(page.locator(".ntp-score b")).not_to_be_empty()
    key = int(page.locator('.nt-chips [aria-pressed="true"] small').first.inner_text())
    model = real_model
    trace = model.trace(model.prefill(model.codec.encode(PROMPT)))  # type: ignore[attr-defined]
    query = trace.n_positions - 1
    own = float(trace.layer(LAYER).scores(HEAD)[query, key])
    assert score(page) == pytest.approx(own, abs=2e-3)
    slide(page, "both", 40)
    assert score(page) == pytest.approx(own, abs=2e-3)
    slide(page, "both", 0)
    slide(page, "query", 30)
    found = rotation(model, trace, LAYER, HEAD)
    assert found is not None
    assert score(page) == pytest.approx(found.score(query, key, 30 - query), abs=2e-3)
    before = page.locator(".nt-view > [data-part=readout]").inner_text()
    dials = page.locator(".ntp-dials")
    dials.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".nt-view > [data-part=readout]").inner_text() != before


@pytest.mark.parametrize("prompt", ["Hi", "the the the the", "🦜🦜🦜", 'a<b "><img src=x onerror=alert(1)>'])
def test_odd_prompts_are_turned_as_well(view: View, prompt: str) -> None:
    page = view.open("position", prompt=prompt)
    expect(page.locator(".ntp-score b")).not_to_be_empty()
    assert page.locator("img[src=x]").count() == 0
