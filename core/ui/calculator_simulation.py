"""The serving simulation of the Calculators page."""

from __future__ import annotations

import streamlit as st

from core.charts import batching as charts
from core.charts.labels import number, percent
from core.errors import UserError
from core.lessons.batching import (
    Outcome,
    Request,
    Server,
    continuous_batching,
    sample_requests,
    static_batching,
)
from core.ui.calculator_inputs import field_row, small
from core.ui.page import Page

_COLUMNS = ("arrival", "prompt", "answer")


def simulation_section(page: Page) -> None:
    """Static and continuous batching of the same requests, their memory, and the block table."""
    page.section("batching")
    requests, server = _settings(page)
    try:
        static, continuous = static_batching(requests, server), continuous_batching(requests, server)
    except UserError as problem:
        st.warning(f"{problem.what} {problem.todo}")
        return
    passes = max(static.passes, continuous.passes)
    for name, outcome in (("static", static), ("continuous", continuous)):
        _line(page, name, outcome, requests)
        axis = (page.label("axis_pass"), page.label("axis_place"))
        figure = charts.timeline(outcome, passes, axis, page.theme)
        rows = [(s.slot + 1, s.request + 1, s.kind, s.start + 1, s.end) for s in outcome.spans]
        table = (["place", "request", "kind", "first pass", "last pass"], rows)
        alt = page.label(f"timeline_{name}_alt")
        page.figure(figure, f"timeline-{name}", alt, table, height=90 + 34 * server.slots)
    left, right = st.columns(2, gap="medium")
    with left:
        _memory(page, static, continuous)
    with right:
        _blocks(page, continuous, server)
    with st.expander(page.label("notes")):
        page.section("batching_notes")


def _settings(page: Page) -> tuple[list[Request], Server]:
    with field_row():
        count = _whole(page, "requests", 1, 16, 8)
        seed = _whole(page, "seed", 0, 9999, 4)
        slots = _whole(page, "slots", 1, 8, 4)
        block = _whole(page, "block_tokens", 1, 64, 16)
    with st.expander(page.label("sim_settings")):
        with field_row():
            blocks = _whole(page, "n_blocks", 4, 128, 32)
            limit = _whole(page, "answer_limit", 1, 256, 48)
            prefix = _whole(page, "prefix", 0, 256, 0)
        small(page.label("sim_requests"))
        drawn = sample_requests(count, seed, longest_answer=limit)
        requests = _edited(page, drawn, f"{count}-{seed}-{limit}")
    return requests, Server(slots, block, blocks, limit, prefix)


def _whole(page: Page, key: str, low: int, high: int, start: int) -> int:
    return int(st.number_input(page.label(key), low, high, start, key=f"calc_sim_{key}", width=170))


def _edited(page: Page, drawn: list[Request], key: str) -> list[Request]:
    table = {
        "arrival": [r.arrival for r in drawn],
        "prompt": [r.prompt_tokens for r in drawn],
        "answer": [r.answer_tokens for r in drawn],
    }
    config = {
        name: st.column_config.NumberColumn(
            page.label(f"column_{name}"), min_value=low, max_value=4096, step=1, required=True
        )
        for name, low in zip(_COLUMNS, (0, 1, 1), strict=True)
    }
    edited = st.data_editor(table, column_config=config, hide_index=True, key=f"calc_sim_table_{key}")
    return [
        Request(int(a), int(p), int(n)) for a, p, n in zip(*(edited[name] for name in _COLUMNS), strict=True)
    ]


def _line(page: Page, key: str, outcome: Outcome, requests: list[Request]) -> None:
    line = page.label(
        "sim_line",
        name=page.label(key),
        passes=outcome.passes,
        busy=percent(outcome.busy_share),
        wait=number(outcome.mean_wait(requests)),
        used=percent(outcome.used_share),
    )
    if outcome.preemptions:
        line += " · " + page.label("sim_waiting", count=outcome.preemptions)
    st.markdown(line)


def _memory(page: Page, static: Outcome, continuous: Outcome) -> None:
    rows = [(page.label("static"), static, "query"), (page.label("continuous"), continuous, "key")]
    names = (page.label("reserved"), page.label("used"))
    axis = (page.label("axis_pass"), page.label("axis_tokens"))
    table = [
        (name, step + 1, frame.reserved_tokens, frame.used_tokens)
        for name, outcome, _ in rows
        for step, frame in enumerate(outcome.frames)
    ]
    figure = charts.memory_lines(rows, names, axis, page.theme)
    page.figure(figure, "memory", page.label("memory_alt"), (["way", "pass", *names], table), height=340)


def _blocks(page: Page, outcome: Outcome, server: Server) -> None:
    last = outcome.passes
    step = (
        st.slider(page.label("blocks"), 1, last, min(last, 12), key=f"calc_sim_pass_{last}")
        if last > 1
        else 1
    )
    frame = outcome.frames[step - 1]
    words = (page.label("block_free"), page.label("block_request"), page.label("block_shared"))
    figure = charts.block_table(frame, server.n_blocks, server.block_tokens, words, page.theme)
    table = [(request + 1, " ".join(map(str, blocks))) for request, blocks in frame.tables.items()]
    height = 60 + 34 * (-(-server.n_blocks // charts.COLUMNS))
    page.figure(figure, "blocks", page.label("blocks_alt"), (["request", "blocks"], table), height=height)
    used, taken = frame.used_tokens, len(frame.fill)
    small(
        page.label(
            "blocks_line", step=step, taken=taken, all=server.n_blocks, used=used, wasted=frame.wasted_tokens
        )
    )
