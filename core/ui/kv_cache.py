"""The sections of the KV cache page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from core.charts import kv_cache as charts
from core.charts.labels import byte_size, number, seconds
from core.components.kv_cache import cache_grid, cell_vectors, read_cell
from core.lessons import kv_cache as lesson
from core.lessons.calculators import compact, from_shape
from core.lessons.job import Plan
from core.lessons.measure import AnswerResult, StepResult, answer_plan, step_plan, total_curve
from core.ui.measure import Measurement, measurement
from core.ui.page import Page
from core.ui.stepping import step_buttons
from core.ui.text import load

_LOOKED = "nt_kv_looked"
ANSWERS = (8, 16, 32, 64)
CURVE_FACTOR = 4
"""The curves go on to this many times the measured length."""
LOGIT_TOLERANCE = 1e-3
REPLAY_TOLERANCE = 1e-4


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("kv_cache").labels


def grid_section(page: Page) -> None:
    """Both grids, the chosen cell's vectors, the bytes, and what this pass did."""
    step_buttons(page)
    shape, trace, place = page.model.shape, page.trace, page.selection
    held = lesson.grid(trace, shape.n_layers)
    layer, position = _looked(page) or (place.layer, place.position)
    shown = lesson.cell(trace, layer, position, shape.n_heads)
    cache_grid(
        held,
        page.tokens,
        prompt_length=len(page.run.prompt_ids),
        new_from=trace.tip.start,
        layer=place.layer,
        position=place.position,
        labels=labels(),
        on_choose=lambda payload: _choose(page, payload),
        on_look=lambda payload: _look(page, payload),
    )
    latent = bool(shape.latent_per_token)
    cell_vectors(shown, page.tokens[position], latent=latent, labels=labels())
    _windows(page, held)
    _sharing(page, shown)
    _work(page, held)
    _bytes(page, held)
    heads, size = shown.keys.shape if shown.keys is not None else (0, 0)
    if heads:
        page.tensor(f"cache.layers[{layer}].keys, .values", (1, heads, trace.n_positions, size), shape.dtype)
        chosen = lesson.cell(trace, place.layer, place.position, shape.n_heads)
        error = lesson.cell_error(trace, chosen)
        if error is not None:
            page.check("check_cell", error, REPLAY_TOLERANCE)


def _windows(page: Page, held: lesson.Grid) -> None:
    sliding = [layer for layer, window in enumerate(held.windows) if window is not None]
    if not sliding:
        return
    full = [layer for layer in sliding if held.full[layer]]
    listed = ", ".join(map(str, full))
    window = held.windows[sliding[0]]
    key = "windows_full" if full else "windows_filling"
    st.markdown(page.label(key, layers=listed, count=len(sliding), window=window))


def _sharing(page: Page, shown: lesson.Cell) -> None:
    heads, stored = page.model.shape.n_heads, len(shown.readers)
    if page.model.shape.latent_per_token:
        st.markdown(page.label("latent"))
    elif stored < heads:
        st.markdown(page.label("shared", heads=heads, stored=stored, group=heads // stored))


def _work(page: Page, held: lesson.Grid) -> None:
    page.section("work")
    work = lesson.step_work(page.trace, page.model.shape, held)
    values = {
        "new": work.new,
        "q": work.queries,
        "k": work.keys,
        "layers": work.layers,
        "columns": f"{work.columns:,}",
        "read": byte_size(work.bytes_read),
        "written": byte_size(work.bytes_written),
    }
    st.markdown(page.label("work_prefill" if work.is_prefill else "work_computed", **values))
    if not work.is_prefill:
        st.markdown(page.label("work_read", **values))


def _bytes(page: Page, held: lesson.Grid) -> None:
    page.section("bytes")
    found = lesson.cache_bytes(page.trace, page.model.shape, held)
    columns = st.columns(3)
    for column, key, value in (
        (columns[0], "bytes_now", found.tensors),
        (columns[1], "bytes_token", found.growth),
        (columns[2], "bytes_limit", found.at_limit),
    ):
        column.metric(page.label(key, tokens=f"{found.tokens:,}", limit=f"{found.limit:,}"), byte_size(value))
    shape = page.model.shape
    if not shape.latent_per_token:
        heads = page.trace.kv_cache(0).keys.shape[0]
        page.formula(
            "bytes",
            layers=shape.n_layers,
            heads=heads,
            size=shape.head_dim,
            number=found.per_token // (2 * shape.n_layers * heads * shape.head_dim),
            token=found.per_token,
        )
    page.check("check_bytes", float(abs(found.tensors - found.formula)), 0.0)
    page.check("check_tensors", float(abs(found.tensors - held.n_bytes)), 0.0)


def step_section(page: Page) -> None:
    """The same step with and without the cache, measured."""
    page.section("step")
    measurement(
        page,
        Measurement(
            "step",
            (page.model.name, page.session.request),
            controls=lambda: _step_controls(page),
            show=lambda result: _show_step(page, result),
        ),
    )


def _step_controls(page: Page) -> Callable[[], Plan]:
    if not page.run.cursor:
        st.caption(page.label("step_ahead"))
    return lambda: step_plan(page.model, _step_ids(page))


def _step_ids(page: Page) -> tuple[int, ...]:
    """The text up to the newest token; a prompt alone gets its likeliest next one, to have a step."""
    run = page.session.run
    assert run is not None
    ids = tuple(run.token_ids)
    return ids if run.cursor else (*ids, int(run.tip.logits.argmax()))


def _show_step(page: Page, result: StepResult) -> None:
    if not result.cached:
        return
    token = page.model.codec.pieces([result.token_id])[0].text
    st.markdown(page.label("step_about", token=_code(token), position=result.position))
    rows = [("cached", *result.cached), ("uncached", *result.uncached)]
    figure = charts.step_times(result, labels(), page.theme)
    page.figure(figure, "step", page.label("step_alt"), csv=(("kind", "seconds"), rows), height=180)
    tokens = result.position + 1
    work = lesson.step_multiply_adds(from_shape(page.model.shape, page.model.name), tokens)
    cached = {"time": seconds(result.cached_s), "columns": 1}
    uncached = {"time": seconds(result.uncached_s), "columns": f"{tokens:,}"}
    left, right = st.columns(2)
    for column, key, values, count in (
        (left, "cached", cached, work.cached if work else None),
        (right, "uncached", uncached, work.uncached if work else None),
    ):
        with column:
            st.markdown(page.label(f"step_{key}", **values))
            if count is not None:
                st.markdown(page.label("multiply_adds", count=compact(count)))
    values = {"times": number(result.uncached_s / result.cached_s, 2)}
    if work:
        st.markdown(page.label("step_ratio", work=number(work.uncached / work.cached, 2), **values))
    same = page.label("same_favourite" if result.same_favourite else "other_favourite")
    st.caption(f"{page.label('logits_differ')} {same}")
    page.check("check_logits", result.difference or 0.0, LOGIT_TOLERANCE * max(1.0, result.largest_logit))


def answer_section(page: Page) -> None:
    """A whole answer with and without the cache, as two curves."""
    page.section("answer")
    measurement(
        page,
        Measurement(
            "answer",
            (page.model.name, page.session.request),
            controls=lambda: _answer_controls(page),
            show=lambda result: _show_answer(page, result),
        ),
    )


def _answer_controls(page: Page) -> Callable[[], Plan]:
    room = (page.model.shape.max_positions or 10**9) - len(page.run.prompt_ids) - 1
    offered = [count for count in ANSWERS if count <= room] or [max(1, room)]
    count = offered[0]
    if len(offered) > 1:
        count = int(
            st.select_slider(
                page.label("answer_length"), offered, 16, key="nt_kv_answer", persist_state="session"
            )
        )
    return lambda: answer_plan(page.model, page.run.prompt_ids, count)


def _show_answer(page: Page, result: AnswerResult) -> None:
    measured = len(result.cached)
    if not measured:
        return
    count = CURVE_FACTOR * measured
    cached, uncached = total_curve(result.cached, count), total_curve(result.uncached, count)
    rows = [
        (index + 1, "measured" if index < measured else "carried on", a, b)
        for index, (a, b) in enumerate(zip(cached.seconds, uncached.seconds, strict=True))
    ]
    table = (("tokens", "how", "with_cache_s", "without_cache_s"), rows)
    figure = charts.answer_curves(cached, uncached, labels(), page.theme)
    page.figure(figure, "answer", page.label("answer_alt"), csv=table, height=340)
    values = {
        "count": measured,
        "cached": seconds(cached.seconds[measured - 1]),
        "uncached": seconds(uncached.seconds[measured - 1]),
        "prompt": result.prompt_tokens,
    }
    st.markdown(page.label("answer_said", **values))
    st.caption(page.label("answer_how"))
    page.check("check_answer", result.difference, LOGIT_TOLERANCE * max(1.0, result.largest_logit))


def _code(text: str) -> str:
    """A token as literal Markdown code."""
    shown = text.replace("\n", "↵").replace("`", "ˋ")
    return f"`{shown}`" if shown.strip() else f"`{shown.replace(' ', '·')}`"


def _looked(page: Page) -> tuple[int, int] | None:
    """The cell that is pointed at, while the run and the chosen place are those it was pointed at in."""
    kept = st.session_state.get(_LOOKED)
    return kept[1] if kept and kept[0] == _here(page) else None


def _here(page: Page) -> tuple[Any, ...]:
    place = page.selection
    return (page.session.request, page.run.token_ids, place.layer, place.position)


def _look(page: Page, payload: Any) -> None:
    found = read_cell(payload)
    if found and found[0] < page.model.shape.n_layers and found[1] < page.trace.n_positions:
        st.session_state[_LOOKED] = (_here(page), found)


def _choose(page: Page, payload: Any) -> None:
    found = read_cell(payload)
    if found:
        page.select(layer=found[0], position=found[1])
