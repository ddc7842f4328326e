"""Closer looks of the Experts page, one at a time: loads, one expert's tokens, two contexts, another k."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from core.charts.experts import layer_load, load_map, top_k_bars
from core.charts.labels import number, percent, visible
from core.components.experts import taken_tokens, two_contexts
from core.lessons.experts import (
    Choices,
    agreement,
    choices_of_text,
    load,
    load_evenness,
    shared_tokens,
    taken_by,
)
from core.lessons.experts_change import TopK, top_k_table
from core.lessons.generate import texts_of
from core.ui.experts import change_part, labels
from core.ui.experts_side import counts_part, side_part
from core.ui.page import Page
from core.ui.text import section

CONTEXT_TOKENS = 64
_TOP_K = "nt_experts_top_k_rows"


@st.fragment
def closer(page: Page, found: Choices) -> None:
    """The chosen closer look; the others are not worked out."""
    looks: dict[str, Callable[[], None]] = {
        "change": lambda: change_part(page, found),
        "load": lambda: _load_part(page, found),
        "taken": lambda: _taken_part(page, found),
        "contexts": lambda: _contexts_part(page),
        "top_k": lambda: _top_k_part(page),
        "counts": lambda: counts_part(page),
        "side": lambda: side_part(page),
    }
    chosen = st.segmented_control(
        page.label("more"),
        list(looks),
        default="change",
        format_func=lambda name: page.label(f"more_{name}"),
        key="nt_experts_look",
    )
    looks[chosen or "change"]()


def _sample(page: Page) -> tuple[tuple[int, ...], Choices]:
    text = " ".join(section("experts", "sample text").split())  # the file's line ends are not part of it
    ids = tuple(page.model.codec.encode(text, specials_as_text=True))
    ids = ids[: page.model.shape.max_positions]
    return ids, choices_of_text(page.model, ids)


def _texts(page: Page, ids: tuple[int, ...]) -> list[str]:
    return texts_of(page.model.codec, ids)


# -- load ----------------------------------------------------------------------------------------------


def _load_part(page: Page, found: Choices) -> None:
    page.section("load")
    ids, sample = _sample(page)
    given = len(page.run.prompt_ids)
    shares = {"prompt": load(found, 0, given), "run": load(found), "sample": load(sample)}
    if given == found.n_positions:
        del shares["run"]
    scope = st.segmented_control(
        page.label("scope"),
        list(shares),
        default="sample",
        format_func=lambda name: page.label(f"scope_{name}", count=len(ids)),
        key="nt_experts_scope",
    )
    chosen = shares.get(scope or "sample", shares["sample"])
    even = load_evenness(chosen)
    low = int(even.argmin())
    st.markdown(
        page.label("evenness", mean=percent(even.mean()), low=percent(even[low]), layer=found.layers[low])
    )
    row = found.row(page.selection.layer)
    figure = load_map(chosen, found.layers, row, labels(), page.theme)
    table = (
        [page.label("axis_layer"), *range(found.n_experts)],
        [(layer, *values) for layer, values in zip(found.layers, chosen.round(6).tolist(), strict=True)],
    )
    height = 110 + max(16, 14) * len(found.layers)
    page.figure(figure, "load", page.label("load_alt"), csv=table, height=height)
    if row is None:
        return
    st.markdown(page.label("load_layer", layer=page.selection.layer, uniform=percent(1 / found.n_experts)))
    bars = [
        (page.label(f"scope_{name}", count=len(ids)), values[row].tolist()) for name, values in shares.items()
    ]
    table = (
        [page.label("axis_expert"), *(name for name, _ in bars)],
        [(e, *(values[e] for _, values in bars)) for e in range(found.n_experts)],
    )
    one = layer_load(bars, labels(), page.theme)
    page.figure(one, "load-layer", page.label("load_layer_alt"), csv=table, height=300)


# -- one expert's tokens -------------------------------------------------------------------------------


def _taken_part(page: Page, found: Choices) -> None:
    page.section("taken")
    place = page.selection
    row = found.row(place.layer)
    if row is None:
        st.caption(page.label("change_dense"))
        return
    weights = found.routing.weights[row, place.position]
    first = int(found.routing.indices[row, place.position, int(np.argmax(weights))])
    expert = st.selectbox(
        page.label("taken_which", layer=place.layer),
        range(found.n_experts),
        index=first,
        key=f"nt_experts_taken_{place.layer}_{first}",
        width=200,
    )
    ids, sample = _sample(page)
    rows = []
    for key, texts, choices in (
        ("taken_run", page.tokens, found),
        ("taken_sample", _texts(page, ids), sample),
    ):
        taken = taken_by(choices, place.layer, expert)
        title = page.label(key, count=int((taken > 0).sum()), all=len(taken))
        rows.append((title, texts, taken))
    taken_tokens(rows, expert=expert, labels=labels())


# -- two contexts --------------------------------------------------------------------------------------


def _contexts_part(page: Page) -> None:
    page.section("contexts")
    left, right = st.columns(2, gap="medium")
    with left:
        first = _sentence(page, "first")
    with right:
        second = _sentence(page, "second")
    pairs = shared_tokens(first, second)
    if not pairs:
        st.caption(page.label("no_word"))
        return
    texts = _texts(page, first)
    longest = max(range(len(pairs)), key=lambda i: len(texts[pairs[i][0]]))
    chosen = st.selectbox(
        page.label("word"),
        range(len(pairs)),
        index=longest,
        format_func=lambda i: visible(texts[pairs[i][0]]),
        key=f"nt_experts_word_{hash((first, second))}",
        width=240,
    )
    at, other = pairs[chosen]
    a, b = choices_of_text(page.model, first), choices_of_text(page.model, second)
    chance = a.routing.indices.shape[-1] / a.n_experts
    share = agreement(a, at, b, other)
    st.markdown(page.label("agreement", share=percent(share), chance=percent(chance)))
    token = visible(texts[at])
    rows = [
        (page.label("pair_title", token=token, text=page.model.codec.decode(list(ids))), choices, place)
        for ids, choices, place in ((first, a, at), (second, b, other))
    ]
    two_contexts(rows, n_layers=page.model.shape.n_layers, labels=labels())


def _sentence(page: Page, name: str) -> tuple[int, ...]:
    """The ids of a sentence that the learner may edit."""
    text = st.text_input(
        page.label(f"{name}_text"),
        page.label(f"{name}_default"),
        key=f"nt_experts_{name}",
        max_chars=2000,
    )
    ids = tuple(page.model.codec.encode(text, specials_as_text=True))
    if len(ids) > CONTEXT_TOKENS:
        st.caption(page.label("too_long", count=CONTEXT_TOKENS))
    return ids[:CONTEXT_TOKENS]


# -- another k -----------------------------------------------------------------------------------------


def _top_k_part(page: Page) -> None:
    page.section("top_k")
    if st.button(page.label("measure_k"), key="nt_experts_measure_k", icon=":material/timer:"):
        with st.spinner(page.label("measure_k")):
            st.session_state[_TOP_K] = (page.trace.tip, top_k_table(page.model, page.trace))
    kept: tuple[Any, list[TopK]] | None = st.session_state.get(_TOP_K)
    if kept is None or kept[0] is not page.trace.tip:
        return
    rows = kept[1]
    names = [page.label("k_own" if row.own else "k_name", k=row.k) for row in rows]
    bars = [(name, row.kl_next, row.kl_mean) for name, row in zip(names, rows, strict=True)]
    columns = [
        page.label("column_k"),
        page.label("column_kl_next"),
        page.label("column_kl_mean", count=rows[0].positions),
        page.label("column_active"),
        page.label("column_time"),
    ]
    table = [
        (name, round(r.kl_next, 5), round(r.kl_mean, 5), f"{r.active:,}", round(1e3 * r.step_s, 2))
        for name, r in zip(names, rows, strict=True)
    ]
    figure = top_k_bars(bars, labels(), page.theme)
    page.figure(figure, "top-k", page.label("top_k_alt"), csv=(columns, table), height=300)
    st.dataframe({column: [row[i] for row in table] for i, column in enumerate(columns)}, hide_index=True)
    fixed = [row for row in rows if row.used != row.k]
    if fixed:
        st.caption(page.label("k_fixed", used=number(fixed[0].used)))
