"""The journey page: one fragment that draws the run as a grid, and what the grid's events do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from core.charts.palette import palette
from core.components.journey import LENSES, LensData, journey, journey_header, read_place
from core.lessons import journey as lesson
from core.lessons import lens
from core.lessons.generate import name_of
from core.lessons.handout import collect, handout
from core.ui import generate, moving
from core.ui.page import Page
from core.ui.pages import available_pages
from core.ui.text import load

DEFAULT_LENS = "size"
LENS_BUDGET_S = 0.5
_LENS = "nt_journey_lens"
_WORK = "nt_journey_work"
LOGIT_TOLERANCE = 1e-3


def labels() -> dict[str, str]:
    """The journey's short texts, on top of those of the stepper that it shares with Generate."""
    return generate.labels() | load("journey").labels


def grid_view(page: Page) -> None:
    """The grid with its bars and stations: all of a step's numbers in one message."""
    moving.go_where_asked()  # a fragment runs without the shell
    run, model, trace = page.run, page.model, page.trace
    run.limit(page.session.link.tokens)
    shown = _lens_data(page)
    message = generate.run_message(page, labels())
    at = page.selection
    journey(
        message | {"journey": _journey_header(page, shown)},
        logits=run.tip.logits,
        sizes=trace.residual_norms()[1:],
        embeddings=lesson.condensed(model.embedding_rows(trace.token_ids)),
        final=lesson.condensed(trace.final_norm()[-1:])[0],
        weights=lesson.attention_row(trace, at.layer, at.head, at.position),
        lens=shown,
        on={
            "act": generate.on_event(page.session),
            "lens": _take_lens,
            "choose": lambda payload: page.session.select(**_inside(page, payload)),
            "more": lambda _payload: st.session_state.update({_WORK: True}),
            "open": lambda payload: _ask_for(page, payload),
        },
    )


def handout_button(page: Page) -> None:
    """The journey so far as one file to keep, written when it is asked for."""
    st.download_button(
        page.label("handout"),
        data=lambda: handout_text(page),
        file_name="next-token-journey.html",
        mime="text/html",
        on_click="ignore",
        icon=":material/download:",
        key="nt_handout",
    )


def handout_text(page: Page) -> str:
    """The handout of the run up to the step on the screen."""
    at = page.selection
    title = getattr(page.model.spec, "title", None) or page.model.name
    facts = collect(page.model, page.run, page.session.params, (at.layer, at.head, at.position), title)
    return handout(facts, load("journey").labels, palette("light").css_variables())


def check_line(page: Page) -> None:
    """The grid's last row against the logits that the run was made with."""
    page.check("check_end", lens.end_error(page.trace), LOGIT_TOLERANCE)


def _journey_header(page: Page, shown: LensData) -> dict[str, Any]:
    model, trace, at = page.model, page.trace, page.selection
    said = lesson.predictions(trace)
    named = [
        None if token < 0 else (name_of(model.codec, int(token)), float(chance))
        for token, chance in zip(said.ids, said.chances, strict=True)
    ]
    moe = model.shape.n_experts > 0
    return journey_header(
        place=(at.position, at.layer, at.head),
        heads=model.shape.n_heads,
        lenses=[name for name in LENSES if name != "expert" or moe],
        lens=shown,
        predictions=named,
        times=lesson.times(trace),
        first_kept=lesson.first_kept(model.shape.layer_windows, trace.n_positions),
        bytes_per_token=trace.passes[-1].kv_bytes / len(trace.passes[-1].token_ids),
        angles=lesson.dials(model, at.position),
        blocks="moe" if moe else "ffn",
        pages=[info.path for info in available_pages()],
    )


def _lens_data(page: Page) -> LensData:
    """What the chosen lens shows, worked out for that lens alone."""
    name = st.session_state.get(_LENS, DEFAULT_LENS)
    trace = page.trace
    if name == "say":
        return _said(page)
    if name == "expert":
        found = lesson.experts(trace)
        if found is None:
            return LensData(DEFAULT_LENS)
        arrays = {"experts": found.indices, "expert_weights": found.weights}
        return LensData(name, arrays, {"layers": list(found.layers)})
    return LensData(name)


def _said(page: Page) -> LensData:
    """What each layer would say, filled in as the browser asks for more."""
    trace, n_layers = page.trace, page.model.shape.n_layers
    wanted = lens.plan(n_layers, trace.n_positions, page.selection.position)
    budget = LENS_BUDGET_S if st.session_state.pop(_WORK, False) else 0.0
    grid = lens.grid(trace, wanted, budget)
    ids, chances = grid.ids[:, :, 0], grid.probabilities[:, :, 0]
    known = [int(token) for token in np.unique(ids) if token >= 0]
    return LensData(
        "say",
        {"say_ids": ids.astype(np.int32), "say_chances": chances.astype(np.float32)},
        {
            "rows": list(wanted.rows),
            "positions": list(wanted.positions),
            "names": [[token, name_of(page.model.codec, token)] for token in known],
            "done": grid.done,
            "complete": grid.complete,
        },
    )


def _take_lens(payload: Any) -> None:
    if payload in LENSES:
        st.session_state[_LENS] = payload
        st.session_state[_WORK] = payload == "say"


def _inside(page: Page, payload: Any) -> dict[str, int]:
    """The place that was chosen, as far as this run and model have it."""
    shape = page.model.shape
    limits = {"layer": shape.n_layers, "head": shape.n_heads, "position": page.trace.n_positions}
    return {name: value for name, value in read_place(payload).items() if value < limits[name]}


def _ask_for(page: Page, payload: Any) -> None:
    """Another page at the chosen place."""
    page.session.select(**_inside(page, payload))
    path = payload.get("page") if isinstance(payload, Mapping) else None
    names = {info.path: info.name for info in available_pages()}
    if path in names:
        moving.ask_for(names[path])
