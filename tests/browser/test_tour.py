"""The guided tour in a real browser with the real model: from its first stop to its last, and presenting."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from core.lessons import tour
from core.lessons.tour import WHOLE
from core.ui import text
from core.ui.pages import available_pages
from tests.browser.harness import View

pytestmark = [pytest.mark.browser, pytest.mark.real_model]

STOPS = tour.stops(WHOLE, {page.name for page in available_pages()})
SLOW_MS = 60_000  # a stop may load another model


def answer(page: Page) -> None:
    """Take the first choice, or 4 where a number is asked for; whether it is right is told."""
    box = page.locator(".nt-tour .nt-question")
    if box.locator(".choice").count():
        box.locator(".choice").first.click()
    else:
        box.locator("input").fill("4")
        box.locator("input").press("Enter")
    expect(box.locator(".told")).to_contain_text(re.compile(r"^(Right\.|Not quite: .+\.) \S+"))


def test_the_tour_runs_from_its_first_stop_to_its_last(view: View) -> None:
    page = view.open("tour")
    page.get_by_role("link", name="Start the tour").click()
    words = text.load("tour")
    for number, stop in enumerate(STOPS, start=1):
        bar = page.locator(".nt-tour")
        counter = words.label("counter", number=number, count=len(STOPS))
        expect(bar.locator(".counter")).to_have_text(counter, timeout=SLOW_MS)
        expect(bar.locator("strong").first).to_have_text(words.label(f"title_{stop.id}"))
        expect(bar.locator(".ask")).to_be_visible()
        assert f"tour={stop.id}" in page.url
        assert not view.crashes()
        answer(page)
        page.keyboard.press("]")
    page.wait_for_url(re.compile(r"/tour(\?|$)"), timeout=SLOW_MS)
    view.wait_for_text(f"of {len(STOPS)} guesses right so far.")


def test_a_stop_is_left_and_found_again(view: View) -> None:
    page = view.open("attention", prompt="Dog bites man", layer=16, tour="heads", plan="30")
    bar = page.locator(".nt-tour")
    expect(bar.locator(".ask")).to_contain_text("layer 16")
    page.get_by_role("link", name="Block").click()
    expect(bar).to_contain_text("The tour waits at another page")
    bar.get_by_role("button", name="Leave the tour").click()
    expect(bar).to_have_count(0)
    page.wait_for_url(lambda url: "tour=" not in url)
    page.get_by_role("link", name="Tour", exact=True).click()
    page.get_by_role("link", name=re.compile("Go on at stop")).click()
    expect(bar.locator(".ask")).to_contain_text("layer 16")
    assert "The+cat+chased" in page.url or "The%20cat%20chased" in page.url


def test_presenting_goes_by_keys_alone(view: View) -> None:
    page = view.open("kv-cache", prompt="Dog bites man")
    sidebar = page.locator("[data-testid=stSidebar]")
    expect(sidebar).to_be_visible()
    page.keyboard.press("p")
    expect(sidebar).to_be_hidden()
    page.wait_for_url(re.compile("present=1"))
    view.ready()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("step=1"))
    view.ready()
    page.keyboard.press("PageDown")
    expect(page.locator("h1")).to_have_text("Calculators")
    view.ready()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("End presenting")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(sidebar).to_be_visible()
    page.wait_for_url(lambda url: "present=" not in url)


def test_letters_can_be_switched_off_as_keys_and_stay_off(view: View) -> None:
    page = view.open("glossary")
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Letters, digits and signs work as keys").uncheck()
    view.assert_accessible()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.reload()
    view.ready()
    page.keyboard.press("?")
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Letters, digits and signs work as keys").check()
    page.get_by_role("button", name="Close").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_a_chart_fills_the_screen_and_comes_back(view: View) -> None:
    page = view.open("embeddings")
    chart = page.locator(".st-key-nt_figure_embeddings-map .js-plotly-plot")
    before = chart.bounding_box()
    page.locator(".st-key-nt_figure_embeddings-map").get_by_role("button", name="Full screen").click()
    height = "() => document.querySelector('[class*=st-key-nt_figure_] .js-plotly-plot').clientHeight"
    page.wait_for_function(f"({height})() > 700")
    page.evaluate("document.exitFullscreen()")
    assert before is not None
    page.wait_for_function(f"({height})() === {round(before['height'])}")
