"""Prompts at the edges on every page that shows the run: one token, repeated, emoji alone, 512 tokens."""

from __future__ import annotations

import pytest

from core.ui.pages import available_pages
from tests.browser.harness import View

PROMPTS = {
    "one": "Hello",
    "repeated": "the the the the the the",
    "emoji": "🦜🦜👩‍👩‍👧‍👦",
    "long": "The quick brown fox jumps over the lazy dog. " * 51,
}
WITHOUT_A_RUN = {"tour", "glossary", "concepts", "from_zero", "calculators"}
PAGES = [page.path for page in available_pages() if page.name not in WITHOUT_A_RUN]


@pytest.mark.full
@pytest.mark.parametrize("view", [{"size": "phone"}], indirect=True)
@pytest.mark.parametrize("prompt", PROMPTS)
def test_every_page_shows_the_run_of_an_odd_prompt(view: View, prompt: str) -> None:
    for path in PAGES:
        page = view.open(path, prompt=PROMPTS[prompt], step=1)
        view.ready(120_000)
        assert page.get_by_role("alert").filter(has_text="error").count() == 0, path
        view.no_sideways_scroll()
        view.assert_clean()
