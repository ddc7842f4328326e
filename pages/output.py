"""Output: from the last block's vector to a score for every token, and what each layer would have said."""

import streamlit as st

from core.lessons.output import logits_of
from core.ui.output import (
    follow_place,
    head_section,
    hidden_section,
    lens_check,
    lens_section,
    logits_section,
    norm_section,
    place_line,
)
from core.ui.page import Page, Try, open_page

page = open_page("output", grid=False)


def lens(page: Page) -> None:
    """What each layer would have said."""
    page.section("lens")
    st.fragment(lens_section)(page)
    lens_check(page)


def scores(page: Page) -> None:
    """From the final norm to a score for every token."""
    page.section("norm")
    place_line(page)
    norm = norm_section(page)
    logits = logits_of(page.model, page.trace, page.selection.position)
    page.section("head")
    head_section(page, norm.normed, logits)
    page.section("logits")
    logits_section(page, logits)


page.intro()
page.try_this(
    [
        Try("try_capital", {"prompt": "The capital of France is"}),
        Try("try_unsure", {"prompt": "My favourite colour is"}),
        Try("try_repeat", {"prompt": "one two three one two three one two"}),
        Try("try_one", {"prompt": "Hello"}),
    ]
)
page.follow(follow_place, hidden_section, lens, scores)
