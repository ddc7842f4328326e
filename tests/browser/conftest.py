"""The app started once, one browser, and a fresh tab per test that is checked when the test ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.harness import App, View, launch, running_app


@pytest.fixture(scope="session")
def app() -> Iterator[App]:
    """The running app with the real model, for the whole session."""
    with running_app() as started:
        yield started


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


@pytest.fixture
def view(app: App, browser: Browser, request: pytest.FixtureRequest) -> Iterator[View]:
    """A tab. Parametrise indirectly with {"size": "phone", "theme": "dark"} for another window.

    At the end: no request left the machine and the console holds no error, whatever the test looked at.
    """
    options: dict[str, Any] = getattr(request, "param", {})
    tab = View(browser, app.address, **options)
    yield tab
    if request.session.testsfailed:
        tab.screenshot(f"last-{request.node.name}"[:80].replace("/", "-"))
    try:
        tab.assert_clean()
    finally:
        tab.close()
