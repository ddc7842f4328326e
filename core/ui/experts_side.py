"""Dense beside Mixture of Experts: parameters and FLOPs counted, two answers, and the time they take."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.charts import costs as charts
from core.charts.labels import byte_size, number, percent
from core.lessons.calculators import compact, from_shape
from core.lessons.costs import WEIGHT_BYTES, active_parameters, total_parameters
from core.lessons.experts_compare import (
    COST_NAMES,
    Counts,
    counts,
    flops,
    partner_of,
    side_by_side,
    step_times,
)
from core.ui import loading, models, notices, state
from core.ui.experts import chances
from core.ui.page import Page
from core.ui.text import literal

LONG_CONTEXT = 4096
ROUNDS = 7
_TIMES = "nt_experts_times"


@st.fragment
def beside_dense(page: Page) -> None:
    """What a dense model's page shows in place of a routing: both models side by side."""
    side_part(page)
    counts_part(page, offer=False)


def partner(page: Page, offer: bool = True) -> Any | None:
    """The model to hold beside the page's own, when it is in memory; otherwise ``offer`` to load it."""
    name = partner_of(page.model.name)
    load = loading.known(name) if name is not None else None
    if name is not None and load is not None and load.status == "ready":
        return loading.model(name)
    if offer:
        _offer(page, name, load)
    return None


def _offer(page: Page, name: str | None, load: loading.Load | None) -> None:
    if name is None:
        st.caption(page.label("no_partner"))
        return
    if load is not None and load.status == "loading":
        _waiting(page, name)
        return
    if load is not None and load.error is not None:
        notices.user_error(load.error)
    elif load is not None:
        notices.our_error()
    st.button(
        page.label("load_partner", name=models.title(name)),
        key="nt_experts_partner",
        on_click=_load,
        args=(name,),
    )
    st.caption(literal(models.description(name)))


def _load(name: str) -> None:
    if loading.known(name) is None:
        loading.begin(name)
    else:
        loading.retry(name)


@st.fragment(run_every=0.5)
def _waiting(page: Page, name: str) -> None:
    if loading.begin(name).status != "loading":
        state.rerun()
    st.markdown(f":material/hourglass: {page.label('loading_partner', name=models.title(name))}")


def _pair(page: Page, other: Any) -> tuple[Any, Any]:
    """(dense, MoE)."""
    return (other, page.model) if page.model.shape.n_experts else (page.model, other)


# -- parameters ----------------------------------------------------------------------------------------


def counts_part(page: Page, offer: bool = True) -> None:
    """Stored and used parameters, bytes per type of number, FLOPs by part."""
    page.section("counts")
    other = partner(page, offer)
    pair = [page.model] if other is None else list(_pair(page, other))
    counted = [counts(model) for model in pair]
    names = [page.label("moe_model" if model.shape.n_experts else "dense_model") for model in pair]
    for column, name, one in zip(st.columns(len(pair), gap="medium"), names, counted, strict=True):
        with column:
            st.markdown(f"**{name}** · {literal(models.title(one.name))}")
            _totals(page, one)
            _parts(page, one, max(total for c in counted for _, total, *_ in c.parts))
    _bytes_table(page, names, counted)
    _flops(page, pair, names, counted)
    with st.expander(page.label("notes")):
        page.section("counts notes")
    for model, one in zip(pair, counted, strict=True):
        _count_check(page, model, one)


def _totals(page: Page, one: Counts) -> None:
    with st.container(horizontal=True, gap="large"):
        st.metric(
            page.label("stored"),
            compact(one.total),
            page.label("embedding_in"),
            delta_color="off",
            delta_arrow="off",
            width="content",
        )
        below = page.label("used_share", share=percent(one.active / one.total))
        if one.active_without != one.active:
            below = page.label("embedding_without", count=compact(one.active_without))
        st.metric(
            page.label("used"),
            compact(one.active),
            below,
            delta_color="off",
            delta_arrow="off",
            width="content",
        )


def _parts(page: Page, one: Counts, largest: int) -> None:
    rows = [
        (COST_NAMES.get(role, role), page.label(f"part_{role}"), total, active)
        for role, total, active, _ in one.parts
    ]
    names = (page.label("stored"), page.label("used"))
    figure = charts.parameter_bars(rows, names, page.label("axis_parameters"), page.theme)
    figure.update_xaxes(range=[0, 1.08 * largest])  # both models on one scale
    columns = [page.label(f"column_{name}") for name in ("part", "total", "active", "bytes")]
    key = f"parameters-{'moe' if any(role == 'experts' for role, *_ in one.parts) else 'dense'}"
    page.figure(
        figure, key, page.label("parameters_alt"), csv=(columns, one.parts), height=90 + 36 * len(rows)
    )


def _bytes_table(page: Page, names: list[str], counted: list[Counts]) -> None:
    table = {page.label("column_model"): names, page.label("column_total"): [f"{c.total:,}" for c in counted]}
    table[page.label("column_active")] = [f"{c.active:,}" for c in counted]
    for dtype in WEIGHT_BYTES:
        table[page.label(f"column_{dtype}")] = [byte_size(c.bytes_as()[dtype]) for c in counted]
    st.dataframe(table, hide_index=True)


def _flops(page: Page, pair: list[Any], names: list[str], counted: list[Counts]) -> None:
    now = page.trace.n_positions
    contexts = sorted({now, min(LONG_CONTEXT, page.model.shape.max_positions)})
    each = [
        (name, tokens, flops(model, tokens))
        for tokens in contexts
        for model, name in zip(pair, names, strict=True)
    ]
    known = [(name, tokens, found) for name, tokens, found in each if found is not None]
    if len(known) < len(each):
        return
    parts = {
        part: (page.label(f"flops_{part}"), [found[part] for *_, found in known])
        for part in known[0][2]
        if any(found[part] for *_, found in known)
    }
    short = {page.label("moe_model"): page.label("moe_short")}  # four of them stand side by side on a phone
    ticks = [
        page.label("flops_column", name=short.get(name, name), tokens=f"{tokens:,}")
        for name, tokens, _ in known
    ]
    if len(pair) == 2:
        dense, moe = (sum(found.values()) for *_, found in known[:2])
        st.markdown(
            page.label(
                "flops_sentence",
                context=f"{contexts[0]:,}",
                moe=_giga(moe),
                dense=_giga(dense),
                work=percent(moe / dense),
                used=percent(counted[1].active / counted[0].active),
            )
        )
    line = "flops_line" if any(model.shape.n_experts for model in pair) else "flops_line_dense"
    level = (page.label(line), 2.0 * counted[-1].active_without)
    axis = (page.label("axis_context"), page.label("axis_flops"))
    figure = charts.flops_bars(ticks, parts, level, axis, page.theme)
    rows = [(tick, *found.values()) for tick, (*_, found) in zip(ticks, known, strict=True)]
    columns = [page.label("axis_context"), *(name for name, _ in parts.values())]
    page.figure(
        figure, "flops", page.label("flops_alt"), csv=(columns, _only(rows, known[0][2], parts)), height=380
    )


def _only(rows: list[tuple[Any, ...]], every: Any, kept: Any) -> list[tuple[Any, ...]]:
    """The columns of the parts that are shown."""
    at = [0, *(i + 1 for i, part in enumerate(every) if part in kept)]
    return [tuple(row[i] for i in at) for row in rows]


def _giga(count: float) -> str:
    return f"{number(count / 1e9)} GFLOPs"


def _count_check(page: Page, model: Any, one: Counts) -> None:
    shape = from_shape(model.shape, model.name)
    if shape is not None and model is page.model:
        error = max(abs(total_parameters(shape) - one.total), abs(active_parameters(shape) - one.active))
        page.check("check_counts", error, 0)


# -- two answers ---------------------------------------------------------------------------------------


def side_part(page: Page) -> None:
    """Both models on the learner's text: chances, KL, parameters touched, time."""
    page.section("side")
    other = partner(page)
    if other is None:
        return
    dense, moe = _pair(page, other)
    found = side_by_side(dense, moe, page.trace)
    st.markdown(page.label("side_kl", kl=number(found.kl), moved=percent(found.compared.moved)))
    words = {"before": page.label("dense_model"), "after": page.label("moe_model")}
    chances(page, found.compared, "side", "side_alt", words)
    st.caption(page.label("same_tokenizer" if found.same_tokens else "other_tokenizer"))
    first, second = counts(dense), counts(moe)
    st.markdown(
        page.label(
            "touched",
            dense=compact(first.active),
            moe=compact(second.active),
            share=percent(second.active / first.active),
            dense_total=compact(first.total),
            moe_total=compact(second.total),
        )
    )
    _time(page, dense, moe)
    page.section("why slow")


def _time(page: Page, dense: Any, moe: Any) -> None:
    if st.button(page.label("measure_time"), key="nt_experts_time", icon=":material/timer:"):
        with st.spinner(page.label("measure_time")):
            st.session_state[_TIMES] = (page.trace.tip, step_times(dense, moe, page.trace, ROUNDS))
    kept = st.session_state.get(_TIMES)
    if kept is None or kept[0] is not page.trace.tip:
        return
    slow, fast = kept[1]
    st.markdown(
        page.label(
            "time_result",
            dense_ms=number(1e3 * slow),
            moe_ms=number(1e3 * fast),
            dense_rate=number(1 / slow),
            moe_rate=number(1 / fast),
            rounds=ROUNDS,
        )
    )
