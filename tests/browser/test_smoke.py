"""Every page opens by its own address, in both themes, and nothing leaves the machine."""

from __future__ import annotations

import urllib.error
import urllib.request

import pytest
from playwright.sync_api import Browser, expect

from core.ui.pages import available_pages
from core.ui.text import label
from tests.browser.harness import CRASH_SIGNS, App, View, health

PATHS = [page.path for page in available_pages()]
BACKGROUND = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
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
def test_a_page_opens_by_its_address_and_follows_the_theme(view: View, path: str) -> None:
    page = view.open(path, **LINK)
    assert page.get_by_role("heading", level=1).first.is_visible()
    assert f"/{path}" in page.url
    assert page.get_by_test_id("stSidebarNav").count() == 1
    light = page.evaluate(BACKGROUND)
    view.set_theme("dark")
    assert page.evaluate(BACKGROUND) != light


@pytest.mark.parametrize("view", [{"size": "phone"}], indirect=True, ids=["phone"])
def test_on_a_phone_the_menu_gives_way_to_the_chosen_page_which_begins_at_its_top(view: View) -> None:
    page = view.open("output", **LINK)
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 500)")
    page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name="Tokens", exact=True).click()
    expect(page.locator("h1")).to_have_text("Tokens")
    expect(page.get_by_test_id("stSidebar")).to_have_attribute("data-collapsed", "true")
    view.ready()
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0


def test_a_malformed_link_falls_back_and_says_so(view: View) -> None:
    page = view.open("generate", prompt="Dog bites man", temperature="hot", layer="-3", nonsense="1")
    assert page.get_by_role("heading", level=1).first.is_visible()
    said = label("shell", "link_refused", names="temperature")
    expect(page.get_by_text(said.split("temperature")[0])).to_contain_text("temperature")


@pytest.mark.parametrize("sign", CRASH_SIGNS)
def test_a_crash_on_the_screen_is_never_clean(app: App, browser: Browser, sign: str) -> None:
    view = View(browser, app.address)
    view.page.set_content(f"<p><strong>{sign}</strong> More.</p>")
    with pytest.raises(AssertionError):
        view.assert_clean()
    view.close()


MARKUP = ["a<b<c", '"><img src=x onerror=alert(1)>', "costs $5 or $6 *now* `x` :smile:"]


@pytest.mark.parametrize("prompt", MARKUP)
def test_a_prompt_with_markup_is_shown_as_it_is(view: View, prompt: str) -> None:
    dialogs: list[str] = []
    view.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page = view.open("generate", prompt=prompt, tokens=2)
    assert page.locator("img[src='x']").count() == 0
    assert not dialogs


NO_ASSETS = ["assets/js/none.js", "assets/../requirements.txt", "assets/js/..%2f..%2fapp.py"]


@pytest.mark.parametrize("path", NO_ASSETS)
def test_only_files_of_the_assets_are_served(app: App, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match=r"40[04]"):
        urllib.request.urlopen(f"{app.address}/{path}", timeout=5)
    assert health(app.address) is not None
