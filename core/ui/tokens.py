"""What the Tokens page keeps between two clicks: the merge table of a model, the chosen tokenizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.engine.bpe import BpeTable
from core.engine.other_tokenizers import load_other, other_tokenizers
from core.engine.text import TextCodec
from core.ui.page import Page
from core.ui.text import load

DEFAULT_OTHERS = ("gpt2", "mistral", "tekken")


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("tokens").labels


@st.cache_resource(show_spinner=False, max_entries=4)
def merge_table(_codec: TextCodec, model: str) -> BpeTable | None:
    """A model's merge table, shared by all learners; None when its tokenizer does not work by merges."""
    try:
        return BpeTable(_codec)
    except ValueError:
        return None


def chooser(page: Page) -> Callable[[Any], None]:
    """The handler of ``choose``: what the browser sends is checked like any other input."""

    def choose(payload: Any) -> None:
        position = payload.get("position") if hasattr(payload, "get") else None
        if isinstance(position, int) and 0 <= position < page.trace.n_positions:
            page.select(position=position)

    return choose


def chosen_tokenizers(page: Page) -> dict[str, tuple[str, TextCodec]]:
    """The model's own tokenizer and the others that the learner picked: name to title and codec."""
    titles = {item.name: item.title for item in other_tokenizers()}
    chosen = st.pills(
        page.label("choose"),
        list(titles),
        selection_mode="multi",
        default=list(DEFAULT_OTHERS),
        format_func=titles.__getitem__,
        key="nt_tokenizers",
    )
    found = {page.model.name: (f"{page.model.spec.title} ({page.label('this_model')})", page.model.codec)}
    with st.spinner(page.label("loading")):
        for name in titles:
            if name in chosen:
                found[name] = (titles[name], load_other(name))
    return found
