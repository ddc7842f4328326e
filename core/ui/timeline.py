"""The sections of the Timeline page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.charts import timeline as charts
from core.charts.labels import byte_size, number, seconds
from core.components.timeline import read_position, run_timeline, unused_predictions
from core.lessons import timeline as lesson
from core.lessons.calculators import from_shape
from core.lessons.generate import name_of
from core.lessons.job import Plan
from core.lessons.measure import LengthsResult, lengths_plan, lengths_up_to
from core.ui.measure import Measurement, measurement
from core.ui.page import Page
from core.ui.stepping import step_buttons
from core.ui.text import load

LONGEST = (64, 128, 256, 512, 1024)
USUAL_LONGEST = 256
CLOCK_TOLERANCE_S = 1e-6
PROBABILITY_TOLERANCE = 1e-4


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("timeline").labels


def line_section(page: Page) -> None:
    """The run to scale, what is read off it, and where the numbers come from."""
    step_buttons(page)
    line, own = _line(page)
    run_timeline(
        line,
        page.tokens,
        prompt_length=len(page.run.prompt_ids),
        position=page.selection.position,
        labels=labels(),
        on_choose=lambda payload: _choose(page, payload),
    )
    first = line.passes[0]
    if line.ttft_s is None:
        st.markdown(page.label("no_token_yet"))
    else:
        page.formula(
            "ttft",
            tokenise=1000 * line.tokenise_s,
            prefill=1000 * first.total_s,
            choose=1000 * (first.choose_s or 0.0),
            ttft=1000 * line.ttft_s,
        )
    if line.gap_s is not None:
        page.formula("gap", count=len(line.gaps), gap=1000 * line.gap_s, speed=1 / line.gap_s)
    st.caption(page.label("clock_own" if own else "clock_tokenise"))
    page.check("check_stages", line.stage_error, CLOCK_TOLERANCE_S)


def _line(page: Page) -> tuple[lesson.Timeline, bool]:
    codec, link = page.model.codec, page.session.link
    chat = link.chat and codec.has_chat_template

    def encode() -> object:
        if chat:
            return codec.chat(link.prompt, specials_as_text=link.literal)
        return codec.encode(link.prompt, specials_as_text=link.literal)

    tokenise_s, own = lesson.tokenise_seconds(page.run, encode)
    return lesson.timeline(page.run, page.trace.passes, tokenise_s), own


def guesses_section(page: Page) -> None:
    """What prefill predicted at the prompt's positions and nobody used."""
    page.section("unused")
    shape, trace = page.model.shape, page.trace
    found = lesson.prompt_guesses(trace, shape.n_layers, page.selection.position)
    unused_predictions(
        found,
        page.tokens,
        {guess.token_id: name_of(page.model.codec, guess.token_id) for guess in found},
        position=page.selection.position,
        labels=labels(),
        on_choose=lambda payload: _choose(page, payload),
    )
    given = [guess for guess in found if not guess.used]
    if given:
        right = sum(guess.right for guess in given)
        st.markdown(page.label("guesses_right", right=right, count=len(given)))
    if len(found) < trace.n_prompt:
        st.caption(
            page.label("guesses_some", first=found[0].position, last=given[-1].position, count=trace.n_prompt)
        )
    page.tensor(page.label("tensor_logits"), (trace.n_prompt, shape.vocab_size), shape.dtype)
    page.check("check_guess", lesson.guess_error(trace, found), PROBABILITY_TOLERANCE)


def lengths_section(page: Page) -> None:
    """Time to first token against prompt length, measured when the learner says so."""
    page.section("lengths")
    measurement(
        page,
        Measurement(
            "lengths",
            (page.model.name,),
            controls=lambda: _controls(page),
            show=lambda result: _show_lengths(page, result),
        ),
    )


def _controls(page: Page) -> Callable[[], Plan]:
    context = page.model.shape.max_positions
    offered = [length for length in LONGEST if lengths_up_to(length, context)[-1:] == (length,)]
    offered = offered or [max(lengths_up_to(LONGEST[-1], context), default=8)]
    usual = USUAL_LONGEST if USUAL_LONGEST in offered else offered[-1]
    longest = int(
        st.select_slider(
            page.label("longest"), offered, usual, key="nt_timeline_longest", persist_state="session"
        )
        if len(offered) > 1
        else offered[0]
    )
    lengths = lengths_up_to(longest, context)
    return lambda: lengths_plan(page.model, page.run.prompt_ids, lengths)


def _show_lengths(page: Page, result: LengthsResult) -> None:
    if not result.rows:
        return
    rows = result.rows
    names = ("tokens", "ttft_s", "tokenise_s", "prefill_s", "choose_s", "prefill_per_token_s", "decode_s")
    table = (names, [[getattr(row, name) for name in names] for row in rows])
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(page.label("chart_ttft"))
        figure = charts.time_to_first_token(rows, labels(), page.theme)
        page.figure(figure, "ttft", page.label("chart_ttft_alt"), csv=table)
    with right:
        st.markdown(page.label("chart_per_token"))
        figure = charts.time_per_token(rows, labels(), page.theme)
        page.figure(figure, "per-token", page.label("chart_per_token_alt"), csv=table)
    first, last = rows[0], rows[-1]
    if len(rows) > 1:
        st.markdown(
            page.label(
                "lengths_said",
                short=first.tokens,
                long=f"{last.tokens:,}",
                fewer=number(first.prefill_per_token_s / last.prefill_per_token_s, 2),
                decode=number(last.decode_s / first.decode_s, 2),
            )
        )
    if result.ratios:
        prefill, decode = result.ratios
        st.caption(page.label("cost_of_looking", prefill=number(prefill, 3), decode=number(decode, 3)))
    if result.waited_s > 0.01:
        st.caption(page.label("waited", time=seconds(result.waited_s)))
    _roofline(page, result)


def _roofline(page: Page, result: LengthsResult) -> None:
    if result.machine is None:
        return
    shape = page.model.shape
    found = lesson.roofline(result, from_shape(shape, page.model.name), shape.bytes_per_weight)
    if found is None:
        st.caption(page.label("no_roofline"))
        return
    page.section("roofline")
    names = ("kind", "tokens", "flops_per_byte", "reached", "roof", "memory_bound")
    table = (names, [[getattr(dot, name) for name in names] for dot in found.dots])
    figure = charts.roofline(found, labels(), page.theme)
    page.figure(figure, "roofline", page.label("roofline_alt"), csv=table, height=380)
    for dot in found.dots[-2:]:
        values: dict[str, Any] = {
            "tokens": f"{dot.tokens:,}",
            "intensity": number(dot.flops_per_byte),
            "share": f"{dot.reached / dot.roof:.0%}",
        }
        bound = page.label("memory_bound" if dot.memory_bound else "compute_bound")
        st.markdown(page.label(f"roof_{dot.kind}", bound=bound, **values))
    machine = result.machine
    st.caption(
        page.label(
            "machine",
            bandwidth=byte_size(machine.bandwidth),
            peak=number(machine.peak / 1e9),
            ridge=number(found.ridge),
            threads=machine.threads,
            dtype=machine.dtype,
        )
    )


def _choose(page: Page, payload: Any) -> None:
    position = read_position(payload)
    if position is not None:
        page.select(position=position)
