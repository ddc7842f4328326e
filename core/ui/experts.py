"""The Experts page: its facts, its grid and cell, and the experiment that overrules the router."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from core.charts.attention import before_and_after
from core.charts.labels import number, percent, visible
from core.components.experts import cell_added, read_numbers, routing_grid
from core.lessons.attention_experiment import Comparison
from core.lessons.experts import Cell, Choices, cell, layer_rows, router_error, router_rows
from core.lessons.experts_added import addition
from core.lessons.experts_change import Change, Forced, moved
from core.lessons.experts_compare import partner_of
from core.lessons.generate import name_of
from core.ui import models
from core.ui.page import Page
from core.ui.text import literal, load

_CHANGE = "nt_experts_change"
_EXPERT = "nt_experts_sought"
FALLBACK_MOE = "smollm2-135m-moe"


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("experts").labels


def dense_notice(page: Page) -> None:
    """Say that this model has no router, and offer one that has."""
    with st.container(key="nt_experts_dense", border=True):
        page.section("dense")
        partner = partner_of(page.model.name)
        name = partner or FALLBACK_MOE
        st.button(
            page.label("offer" if partner else "offer_other"),
            type="primary",
            key="nt_experts_offer",
            icon=":material/hub:",
            on_click=_open_model,
            args=(page, name),
        )
        st.caption(literal(models.description(name)))


def _open_model(page: Page, name: str) -> None:
    page.session.ask(model=name)


def converted(page: Page) -> None:
    """Say so plainly where the model was made from a dense one."""
    if page.model.spec is not None and page.model.spec.made_from:
        page.section("converted")


def facts(page: Page, found: Choices) -> None:
    """How this model's routers work, in words."""
    shape = page.model.shape
    dense = [str(layer) for layer in range(shape.n_layers) if layer not in found.layers]
    rule, factor = found.weight_rule
    k = found.routing.indices.shape[-1]
    words = [
        page.label("facts", moe=len(found.layers), layers=shape.n_layers, experts=found.n_experts, k=k),
        page.label("facts_dense", which=", ".join(dense)) if dense else "",
        page.label("facts_shared") if shape.d_shared else "",
        page.label("facts_gate") if found.routing.shared_gate is not None else "",
        page.label(f"facts_{found.routing.scoring}"),
        page.label(f"rule_{rule}", unused=percent(found.unused), factor=number(factor)),
    ]
    st.markdown(" ".join(word for word in words if word))


def grid_part(page: Page, found: Choices) -> None:
    """The grid, and what the chosen cell's experts added."""
    place = page.selection
    routing_grid(
        found,
        page.tokens,
        prompt_length=len(page.run.prompt_ids),
        n_layers=page.model.shape.n_layers,
        labels=labels(),
        on_choose=lambda payload: page.select(**read_numbers(payload, "layer", "position")),
        on_expert=_sought,
    )
    added = addition(page.model, page.trace, found, place.layer, place.position)
    cell_added(
        added,
        layer=place.layer,
        position=place.position,
        token=page.tokens[place.position],
        next_token="" if added is None else name_of(page.model.codec, added.token_id),
        gated=found.routing.shared_gate is not None,
        labels=labels(),
    )


def _sought(payload: Any) -> None:
    asked = read_numbers(payload, "expert")
    if asked:
        st.session_state[_EXPERT] = asked["expert"]


def arithmetic(page: Page, found: Choices) -> None:
    """The formula with the chosen cell's numbers, the tensors, and the check lines."""
    place = page.selection
    here = cell(found, place.layer, place.position)
    if here is None:
        return
    rule, factor = found.weight_rule
    expert, weight = here.chosen[0]
    total = sum(here.probability(e) for e, _ in here.chosen)
    if rule != "own":
        page.formula(rule, p=here.probability(expert), sum=total, w=weight, factor=factor)
    shared = page.model.shape.d_shared
    if here.shared_gate is not None:
        page.formula("out gated", gate=here.shared_gate)
    else:
        page.formula("out shared" if shared else "out")
    with st.container(key="nt_experts_tensors", horizontal=True, gap="medium"):
        dtype = page.model.shape.dtype
        experts = layer_rows(page.model, place.layer, "experts")
        for row in [*router_rows(page.model, place.layer), *experts]:
            page.tensor(row.name, row.shape, dtype)
    page.check("check_router", router_error(page.model, page.trace, found, place.layer), 1e-4)
    added = addition(page.model, page.trace, found, place.layer, place.position)
    if added is not None:
        page.check("check_sum", added.error, 1e-5)


# -- the experiment ------------------------------------------------------------------------------------


def change_part(page: Page, found: Choices) -> None:
    """Force another expert or switch one off, and see the next token's chances move."""
    place = page.selection
    page.section("change")
    change = _change().inside(found.layers, found.n_experts, found.n_positions)
    here = cell(found, place.layer, place.position)
    if here is None:
        st.caption(page.label("change_dense"))
    else:
        _force_row(page, here, change)
        _off_row(page, here, change, found.n_experts)
    st.button(
        page.label("reset"), key="nt_experts_reset", disabled=not change, on_click=_set, args=(Change(),)
    )
    if not change:
        st.caption(page.label("changed_none"))
        return
    with st.container(key="nt_experts_experiment", border=True):
        st.badge(page.label("badge"), icon=":material/science:", color="orange")
        st.markdown(page.label("changed_now", what=_listed(page, change)))
        result = moved(page.model, page.trace, change)
        first, now = result.compared.favourites
        favourite = page.label("same_favourite" if first == now else "other_favourite")
        if not change.forced and result.kl == 0:
            st.markdown(page.label("nothing_moved"))
        share = percent(result.compared.moved)
        st.markdown(f"{page.label('moved', moved=share, kl=number(result.kl))} {favourite}")
        chances(page, result.compared, "experiment", "compare_alt", {})


def _force_row(page: Page, here: Cell, change: Change) -> None:
    place = page.selection
    chosen = [expert for expert, _ in here.chosen]
    others = [expert for expert in here.order if expert not in chosen]
    if not others:
        return
    with st.container(key="nt_experts_force_row", horizontal=True, vertical_alignment="bottom", gap="small"):
        spot = f"{place.layer}_{place.position}"
        instead = st.selectbox(page.label("replace"), chosen, key=f"nt_experts_instead_{spot}", width=160)
        token = literal(visible(page.tokens[place.position]))
        other = st.selectbox(
            page.label("with", token=token, layer=place.layer),
            others,
            format_func=_scored(here),
            key=f"nt_experts_other_{spot}",
            width=340,
        )
        forced = Forced(place.layer, place.position, instead, other)
        st.button(
            page.label("force"), key="nt_experts_force", on_click=_set, args=(change.with_forced(forced),)
        )


def _scored(here: Cell) -> Callable[[int], str]:
    return lambda expert: f"{expert} ({percent(here.probability(expert))})"


def _off_row(page: Page, here: Cell, change: Change, n_experts: int) -> None:
    layer = page.selection.layer
    with st.container(key="nt_experts_off_row", horizontal=True, vertical_alignment="bottom", gap="small"):
        sought = st.session_state.get(_EXPERT)
        first = sought if sought is not None and sought < n_experts else here.chosen[0][0]
        expert = st.selectbox(
            page.label("off_which", layer=layer),
            range(n_experts),
            index=first,
            key=f"nt_experts_off_{layer}_{first}",
            width=160,
        )
        is_off = (layer, expert) in change.off
        st.button(
            page.label("on" if is_off else "off"),
            key="nt_experts_off",
            on_click=_set,
            args=(change.toggled(layer, expert),),
        )


def _listed(page: Page, change: Change) -> str:
    forced = [
        page.label("one_forced", layer=f.layer, position=f.position, expert=f.expert, instead=f.instead)
        for f in change.forced
    ]
    off = [page.label("one_off", layer=layer, expert=expert) for layer, expert in sorted(change.off)]
    return "; ".join([*forced, *off])


def _change() -> Change:
    kept: Change = st.session_state.get(_CHANGE, Change())
    return kept


def _set(change: Change) -> None:
    st.session_state[_CHANGE] = change


def chances(page: Page, compared: Comparison, key: str, alt: str, words: dict[str, str]) -> None:
    """Paired bars of the likeliest next tokens. ``words`` replaces the names of the two bars."""
    texts = labels() | words
    names = [name_of(page.model.codec, token) for token in compared.token_ids]
    columns = [texts[name] for name in ("csv_id", "csv_token", "before", "after")]
    rows = zip(
        compared.token_ids,
        names,
        np.round(compared.before, 8).tolist(),
        np.round(compared.after, 8).tolist(),
        strict=True,
    )
    figure = before_and_after(compared, names, texts, page.theme)
    page.figure(figure, key, page.label(alt), csv=(columns, list(rows)), height=90 + 34 * (len(names) + 1))
