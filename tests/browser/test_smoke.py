"""Every page opens by its own address, at every size, in both themes, and nothing leaves the machine."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest

from core.ui.pages import available_pages
from tests.browser.harness import SIZES, App, View, health

PATHS = [page.path for page in available_pages()]
LINK = {"prompt": "The capital of France is", "tokens": 8, "seed": 3}


def test_the_server_says_it_is_well(app: App) -> None:
    state = health(app.address)
    assert state is not None
    assert state["status"] == "ok"


def test_the_home_page_opens(view: View) -> None:
    page = view.open()
    assert page.title()
    assert page.get_by_role("heading", level=1).first.is_visible()
    view.no_sideways_scroll()


@pytest.mark.parametrize("path", PATHS)
def test_a_page_opens_by_its_address(view: View, path: str) -> None:
    page = view.open(path, **LINK)
    assert page.get_by_role("heading", level=1).first.is_visible()
    assert f"/{path}" in page.url
    assert page.get_by_test_id("stSidebarNav").count() == 1


@pytest.mark.parametrize("view", [{"size": size} for size in SIZES], indirect=True, ids=SIZES)
def test_no_page_scrolls_sideways(view: View) -> None:
    for path in PATHS:
        view.open(path, **LINK)
        view.no_sideways_scroll()


@pytest.mark.parametrize("path", PATHS)
def test_a_page_follows_the_theme(view: View, path: str) -> None:
    colour = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
    view.open(path, **LINK)
    light = view.page.evaluate(colour)
    view.set_theme("dark")
    assert view.page.evaluate(colour) != light


def test_a_malformed_link_falls_back_and_says_so(view: View) -> None:
    page = view.open(PATHS[0], prompt="Dog bites man", temperature="hot", layer="-3", nonsense="1")
    assert page.get_by_role("heading", level=1).first.is_visible()


MARKUP = ["a<b<c", '"><img src=x onerror=alert(1)>', "costs $5 or $6 *now* `x` :smile:"]


@pytest.mark.parametrize("prompt", MARKUP)
def test_a_prompt_with_markup_is_shown_as_it_is(view: View, prompt: str) -> None:
    dialogs: list[str] = []
    view.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page = view.open(PATHS[0], prompt=prompt, tokens=2)
    assert page.locator("img[src='x']").count() == 0
    assert not dialogs


NO_ASSETS = ["assets/js/none.js", "assets/../requirements.txt", "assets/js/..%2f..%2fapp.py"]


@pytest.mark.parametrize("path", NO_ASSETS)
def test_only_files_of_the_assets_are_served(app: App, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match=r"40[04]"):
        urllib.request.urlopen(f"{app.address}/{path}", timeout=5)
    assert health(app.address) is not None
