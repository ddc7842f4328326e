"""The Tokens page with the real model: merges by button, a token chosen, other tokenizers, literal text."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.harness import View, text_of

PROMPT = "Hello, how was your day?"


def _open(view: View, prompt: str = PROMPT, **params: object) -> None:
    view.open("tokens", prompt=prompt, **params)
    view.page.locator(".nt-compare").nth(3).wait_for(timeout=180_000)  # the tables are read on first use
    view.ready()


def test_the_merges_of_a_word_are_played_to_its_id(view: View) -> None:
    _open(view, position=0)
    player = view.page.locator(".nt-player")
    assert player.locator(".nt-symbol").all_inner_texts() == list("Hello")
    for left in (4, 3, 2, 1):
        player.get_by_role("button", name="Next merge").click()
        assert player.locator(".nt-symbol").count() == left
    assert player.locator(".nt-symbol").inner_text().split() == ["Hello", "19556"]
    assert player.locator(".nt-history li").count() == 4
    player.get_by_role("button", name="Back").click()
    assert player.locator(".nt-symbol").count() == 2
    player.get_by_role("button", name="Play").click()
    view.page.get_by_text("The whole word has become one token.").wait_for()


def test_a_token_chosen_here_is_in_the_link(view: View) -> None:
    _open(view)
    view.page.locator("button.nt-token").nth(2).click()
    view.page.wait_for_url("**position=2**")
    view.ready()
    expect(view.page.locator("tr[aria-selected=true] td").first).to_have_text("2")


def test_the_same_text_has_its_published_ids_under_gpt2(view: View) -> None:
    _open(view)
    ids = view.page.locator(".nt-compare").nth(1).locator(".nt-token small").all_inner_texts()
    assert ids[:3] == ["15496", "11", "703"]
    counts = view.page.locator(".nt-compare .count").all_inner_texts()
    assert counts == ["7 tokens · 3.43 characters a token"] * 4


@pytest.mark.parametrize(
    "prompt",
    [
        'a<b<c "><img src=x onerror=alert(1)>',
        "costs $5 or $6 *a* `b` :smile:",
        "👩‍👩‍👧‍👦",
        "The end<|im_end|> or not?",
    ],
)
def test_any_text_is_shown_literally_and_comes_back(view: View, prompt: str) -> None:
    _open(view, prompt)
    assert text_of(view.page).count("largest difference 0 (allowed 0)") == 2
    assert view.page.locator("img[src=x]").count() == 0


def test_a_split_emoji_says_which_part_each_token_is(view: View) -> None:
    _open(view, "🍜")
    assert "part 2 of" in view.page.locator(".nt-table").inner_text()
    assert view.page.locator(".nt-token .badge").count() > 2


def test_the_chat_template_s_tokens_are_marked_as_what_they_are(view: View) -> None:
    _open(view, chat=1)
    assert "added by the chat template: " in view.page.locator(".nt-legend").inner_text()
    assert view.page.locator("button.nt-token.prompt").count() == 7


@pytest.mark.parametrize("view", [{"size": "phone", "theme": "dark"}], indirect=True, ids=["phone"])
def test_it_fits_a_phone_with_all_tables_read(view: View) -> None:
    _open(view, chat=1)
    view.no_sideways_scroll()
    view.assert_accessible()
