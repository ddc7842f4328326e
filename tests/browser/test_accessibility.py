"""Every page under axe-core in light and dark, no rule switched off; and none scrolls sideways."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from core.ui.pages import available_pages
from tests.browser.harness import SIZES, App, Theme, View

PATHS = [page.path for page in available_pages()]
LINK = {"prompt": "The capital of France is", "tokens": 8, "seed": 3, "step": 2}

# The scope puts all tests of a page together, so that each page is opened once.
pytestmark = pytest.mark.parametrize("path", PATHS, scope="module")


@pytest.fixture(scope="module")
def tab(app: App, browser: Browser) -> Iterator[View]:
    shared = View(browser, app.address)
    yield shared
    shared.close()


@pytest.fixture(scope="module")
def opened(tab: View, path: str) -> View:
    """The shared tab at one page."""
    tab.resize("wide", settle=False)
    tab.set_theme("light", settle=False)
    tab.complaints.clear()
    tab.open(path, **LINK)
    return tab


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_serious_is_found_by_the_accessibility_check(opened: View, path: str, theme: Theme) -> None:
    if theme == "dark":
        opened.set_theme(theme, settle=False)
        opened.open(path, **LINK)  # drawn in dark from the start, charts included
    opened.assert_accessible()
    opened.assert_clean()


def test_no_page_scrolls_sideways(opened: View) -> None:
    for size in SIZES:
        opened.resize(size)
        opened.no_sideways_scroll()
