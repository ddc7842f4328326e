"""What stands ready on the What-if page: experiments at one click, and a true and a false sentence scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core.components import what_if as component
from core.lessons import what_if as lesson
from core.ui.page import Page
from core.ui.text import literal, load
from core.ui.what_if import work


@dataclass(frozen=True)
class Experiment:
    """A prompt with two ways to go on from it. ``label`` names a text of the page."""

    label: str
    prompt: str
    a: str
    b: str


def experiments(page: Page, ready: Sequence[Experiment]) -> None:
    """One button for each experiment: prompt and openings at once, greedy, so that only they differ."""
    with page.try_row():
        for item in ready:
            st.button(page.label(item.label), key=f"nt_{item.label}", on_click=_begin, args=(page, item))


def _begin(page: Page, item: Experiment) -> None:
    session = page.session
    session.ask(prompt=item.prompt, chat=False, literal=False)
    session.link = replace(session.link, temperature=0.0)
    current = work()
    current.take(None)
    current.notice, current.pending = "", (item.a, item.b)


def sentences(page: Page, pairs: Sequence[tuple[str, str]]) -> None:
    """A true and a false sentence, editable, scored token by token side by side."""
    texts = _sentence_inputs(page, pairs)
    scored: list[tuple[str, lesson.Sentence]] = []
    for name, text in zip(("true", "false"), texts, strict=True):
        ids = page.model.codec.encode(text, specials_as_text=True)
        if len(ids) < 2:
            st.caption(page.label("sentence_short", name=page.label(f"sentence_{name}")))
        elif len(ids) > lesson.MAX_SENTENCE:
            st.caption(page.label("sentence_long", count=len(ids), limit=lesson.MAX_SENTENCE))
        else:
            scored.append((page.label(f"sentence_{name}"), _scored(page.model, tuple(ids))))
    if scored:
        component.sentences(scored, load("what_if").labels)
    if len(scored) == 2:
        (_, first), (_, second) = scored
        ratio = 2.0 ** min(1000.0, abs(second.total_bits - first.total_bits))
        said = page.label("million") if ratio > 1e6 else f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
        key = "sentences_true" if first.total_bits <= second.total_bits else "sentences_false"
        st.markdown(page.label(key, ratio=literal(said)))
        page.formula(
            "mean", bits=first.total_bits, count=len(first.tokens) - 1, mean=first.mean_log_probability
        )


def _sentence_inputs(page: Page, pairs: Sequence[tuple[str, str]]) -> list[str]:
    keys = ("nt_sentence_true", "nt_sentence_false")
    for key, text in zip(keys, pairs[0], strict=True):
        st.session_state.setdefault(key, text)
    with st.container(horizontal=True, gap="small"):
        for index, pair in enumerate(pairs, start=1):
            st.button(
                page.label(f"pair_{index}"), key=f"nt_pair_{index}", on_click=_take_pair, args=(keys, pair)
            )
    left, right = st.columns(2)
    return [
        box.text_input(page.label(f"sentence_{name}"), key=key, max_chars=400, persist_state="session") or ""
        for box, name, key in zip((left, right), ("true", "false"), keys, strict=True)
    ]


def _take_pair(keys: tuple[str, str], pair: tuple[str, str]) -> None:
    for key, text in zip(keys, pair, strict=True):
        st.session_state[key] = text


def _scored(model: Any, ids: tuple[int, ...]) -> lesson.Sentence:
    """Scored once for each text and model, the last few kept."""
    known = st.session_state.setdefault("nt_sentences_scored", {})
    key = (model.name, ids)
    if key not in known:
        while len(known) >= 12:
            del known[next(iter(known))]
        known[key] = lesson.score(model, ids)
    scored: lesson.Sentence = known[key]
    return scored
