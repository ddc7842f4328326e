"""The journey page: one fragment that draws the run as a grid, and what the grid's events do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core.charts.palette import palette
from core.components.base import Message
from core.components.journey import (
    LENSES,
    LensData,
    journey,
    journey_arrays,
    journey_header,
    read_place,
)
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
VIEW = "nt_journey_view"
LOGIT_TOLERANCE = 1e-3


def labels() -> dict[str, str]:
    """The journey's short texts, on top of those of the stepper that it shares with Generate."""
    return generate.labels() | load("journey").labels


@dataclass
class View:
    """What this learner looks through: the lens, and whether cells of it may be worked out now."""

    lens: str = DEFAULT_LENS
    work: bool = False

    def take(self, payload: Any) -> None:
        """Another lens, as the browser asks for it."""
        if payload in LENSES:
            self.lens, self.work = payload, payload == "say"

    def go_on(self, _payload: Any) -> None:
        """More cells of the lens."""
        self.work = True


def view() -> View:
    """This learner's view, made at the first call."""
    found = st.session_state.get(VIEW)
    if not isinstance(found, View):
        found = st.session_state[VIEW] = View()
    return found


def live(page: Page) -> None:
    """The grid with its bars and stations: all of a step's numbers in one message, steps answered on the
    line."""
    moving.go_where_asked()  # a fragment runs without the shell
    session, seen = page.session, view()
    with session.lock:
        now = Page(page.name, session, page.model)
        now.run.limit(session.link.tokens)
        on = {
            generate.ACT: generate.on_event(session),
            "lens": seen.take,
            "choose": lambda payload: session.select(**_inside(now, payload)),
            "more": seen.go_on,
            "open": lambda payload: _ask_for(now, payload),
        }
        line = generate.stepping_line(now, lambda page: _message(page, seen))
        journey(_message(now, seen), on, line)
        now.sync_link()


def _message(page: Page, seen: View) -> Message:
    run, model, trace, at = page.run, page.model, page.trace, page.selection
    shown = _lens_data(page, seen)
    header = generate.run_message(page, labels()) | {"journey": _journey_header(page, shown)}
    return header, journey_arrays(
        logits=run.tip.logits,
        sizes=page.grid_norms(),
        embeddings=lesson.condensed(model.embedding_rows(trace.token_ids)),
        final=lesson.condensed(trace.final_norm()[-1:])[0],
        weights=lesson.attention_row(trace, at.layer, at.head, at.position),
        lens=shown,
    )


def handout_button(page: Page) -> None:
    """The journey so far as one file to keep, written when it is asked for."""
    st.download_button(
        page.label("handout"),
        data=lambda: handout_text(Page(page.name, page.session, page.model)),
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
        check=page.check_text("check_end", lens.end_error(trace), LOGIT_TOLERANCE),
    )


def _lens_data(page: Page, seen: View) -> LensData:
    """What the chosen lens shows, worked out for that lens alone."""
    name, trace = seen.lens, page.trace
    if name == "say":
        return _said(page, seen)
    if name == "expert":
        found = lesson.experts(trace)
        if found is None:
            return LensData(DEFAULT_LENS)
        arrays = {"experts": found.indices, "expert_weights": found.weights}
        return LensData(name, arrays, {"layers": list(found.layers)})
    return LensData(name)


def _said(page: Page, seen: View) -> LensData:
    """What each layer would say, filled in as the browser asks for more."""
    trace, n_layers = page.trace, page.model.shape.n_layers
    wanted = lens.plan(n_layers, trace.n_positions, page.selection.position)
    budget, seen.work = LENS_BUDGET_S if seen.work else 0.0, False
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
