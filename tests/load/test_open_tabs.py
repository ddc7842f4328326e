"""Several browser tabs stay connected and answer while they all reload at once."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import sync_playwright

from core.ui.pages import home_page
from tests.browser.harness import App, View, launch, running_app

TABS = 6


@pytest.fixture(scope="module")
def app() -> Iterator[App]:
    with running_app() as started:
        yield started


@pytest.mark.load
def test_tabs_that_open_together_are_all_drawn(app: App) -> None:
    path = home_page().path
    with sync_playwright() as playwright:
        browser = launch(playwright)
        alone = View(browser, app.address)
        begin = time.perf_counter()
        alone.open(path, prompt="Dog bites man", tokens=4)
        one_s = time.perf_counter() - begin
        tabs = [View(browser, app.address) for _ in range(TABS)]
        begin = time.perf_counter()
        for tab in tabs:
            tab.page.goto(f"{app.address}/{path}?prompt=Once+upon+a+time&tokens=4", wait_until="commit")
        seconds = []
        for tab in tabs:
            tab.ready()
            seconds.append(time.perf_counter() - begin)
        for tab in tabs:
            tab.assert_clean()
        browser.close()
    assert statistics.median(seconds) < 3 * TABS * max(one_s, 1.0)
