"""The Attention page's events, its overview that fills in after the page, and its experiment."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from core.charts.attention import before_and_after
from core.charts.labels import percent
from core.components.attention import all_heads, read_place
from core.lessons.attention_experiment import Comparison, SwitchedOff, compare
from core.lessons.attention_overview import Overview, is_complete, overview
from core.lessons.generate import name_of
from core.ui import state
from core.ui.page import Page
from core.ui.text import load

BUDGET_S = 0.25
"""How long the overview works before it shows what it has and lets others have the model."""

_OFF = "nt_attention_off"
_MOVED = "nt_attention_moved"
_GROWING = "nt_attention_growing"


def on_place(page: Page) -> Any:
    """The handler of the components' event ``place``."""

    def handle(payload: Any) -> None:
        page.select(**read_place(payload))

    return handle


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("attention").labels


def names_of(page: Page, token_ids: Any) -> list[str]:
    """The texts of single tokens."""
    return [name_of(page.model.codec, int(token_id)) for token_id in token_ids]


def formulas(page: Page, facts: Any, position: int) -> None:
    """The formula with the numbers of the heaviest cell in the chosen row."""
    first = int(facts.first_key[position])
    scores = facts.q[position] @ facts.k[first : position + 1].T  # (keys in sight,)
    key = first + int(scores.argmax())
    weight = float(page.trace.layer(facts.layer).weights(facts.head)[position, key])
    rows, size = facts.q.shape
    page.formula("attention all", rows=rows, size=size, width=int(facts.v.shape[1]))
    page.formula("attention", raw=float(scores[key - first]), scale=float(facts.scale), weight=weight)


def tensors(page: Page, view: Any) -> None:
    """Which tensors are shown: q, k and v of the layer, under the name of its attention module."""
    named = (row for row in page.model.parameters() if row.role == "attention" and row.layer == view.layer)
    weight = next(named, None)
    module = weight.name.rsplit(".", 2)[0] if weight else f"layer {view.layer} attention"
    with st.container(key="nt_attention_tensors", horizontal=True, gap="medium"):
        for name, array in (("q", view.q), ("k", view.k), ("v", view.v)):
            page.tensor(f"{module}: {name}", array.shape, page.model.shape.dtype)


def overview_part(page: Page) -> None:
    """All heads. While layers are missing this is a fragment that goes on by itself, because the browser asks
    for more once it has drawn some; complete, it is a plain part of the page: opening a head is one run."""
    if is_complete(page.trace, page.model.shape.n_layers):
        st.session_state.pop(_MOVED, None)
        _overview(page, 0.0)
    else:
        _growing_overview(page)


@st.fragment
def _growing_overview(page: Page) -> None:
    found = _overview(page, BUDGET_S)
    opened = st.session_state.pop(_MOVED, False)
    if opened or (found.complete and st.session_state.pop(_GROWING, False)):
        state.rerun()
    st.session_state[_GROWING] = not found.complete


def _overview(page: Page, budget_s: float) -> Overview:
    shape = page.model.shape
    found = overview(page.trace, shape.n_layers, shape.n_heads, budget_s)
    page.section("all heads")
    all_heads(
        found,
        n_positions=page.trace.n_positions,
        n_kv_heads=shape.n_kv_heads,
        labels=labels(),
        on_place=_moved(page),
        on_more=lambda _done: None,
    )
    return found


def _moved(page: Page) -> Any:
    def handle(payload: Any) -> None:
        on_place(page)(payload)
        st.session_state[_MOVED] = True

    return handle


@st.fragment
def experiment_part(page: Page) -> None:
    """Switch heads or a layer's attention off, and see the next token's chances before and after."""
    shape, place = page.model.shape, page.selection
    off = _off().inside(shape.n_layers, shape.n_heads)
    page.section("experiment")
    with st.container(key="nt_attention_switches", horizontal=True, gap="small"):
        head_key = "on_head" if (place.layer, place.head) in off.heads else "off_head"
        layer_key = "on_layer" if place.layer in off.layers else "off_layer"
        spot = {"layer": place.layer, "head": place.head}
        st.button(
            page.label(head_key, **spot),
            key="nt_attention_head",
            on_click=_set,
            args=(off.toggled_head(place.layer, place.head),),
        )
        st.button(
            page.label(layer_key, **spot),
            key="nt_attention_layer",
            on_click=_set,
            args=(off.toggled_layer(place.layer),),
        )
        st.button(
            page.label("reset"),
            key="nt_attention_reset",
            disabled=not off,
            on_click=_set,
            args=(SwitchedOff(),),
        )
    if not off:
        st.caption(page.label("off_none"))
        return
    with st.container(key="nt_attention_experiment", border=True):
        st.badge(page.label("badge"), icon=":material/science:", color="orange")
        st.markdown(page.label("off_now", what=_listed(page, off)))
        _result(page, compare(page.model, page.trace, off))


def _result(page: Page, compared: Comparison) -> None:
    first, now = compared.favourites
    favourite = page.label("same_favourite" if first == now else "other_favourite")
    st.markdown(f"{page.label('moved', moved=percent(compared.moved))} {favourite}")
    names = names_of(page, compared.token_ids)
    table = (
        [page.label(key) for key in ("csv_id", "csv_token", "before", "after")],
        list(
            zip(
                compared.token_ids,
                names,
                np.round(compared.before, 8).tolist(),
                np.round(compared.after, 8).tolist(),
                strict=True,
            )
        ),
    )
    figure = before_and_after(compared, names, labels(), page.theme)
    height = 90 + 34 * (len(names) + 1)
    page.figure(figure, "before-and-after", page.label("compare_alt"), csv=table, height=height)


def _listed(page: Page, off: SwitchedOff) -> str:
    heads = [page.label("one_head", layer=layer, head=head) for layer, head in sorted(off.heads)]
    layers = [page.label("one_layer", layer=layer) for layer in sorted(off.layers)]
    return ", ".join([*layers, *heads])


def _off() -> SwitchedOff:
    found: SwitchedOff = st.session_state.get(_OFF, SwitchedOff())
    return found


def _set(off: SwitchedOff) -> None:
    st.session_state[_OFF] = off
