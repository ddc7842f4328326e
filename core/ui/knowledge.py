"""Not a database: the part of the What if page that asks one fact in several wordings and switches parts off.

A page calls ``show(page)``; texts come from ``assets/text/en/knowledge.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core.charts.labels import percent
from core.components.knowledge import Curves, WordingRow, knowledge
from core.errors import UserError
from core.lessons import knowledge as lesson
from core.lessons.generate import name_of
from core.lessons.knowledge import Fact, Level, Order, Part, Question, Reading
from core.ui import state
from core.ui.knowledge_job import Job, Setting
from core.ui.page import Page
from core.ui.text import literal, load

_JOB = "nt_knowledge_job"
_FACT, _ANSWER, _WORDINGS = "nt_knowledge_fact", "nt_knowledge_answer", "nt_knowledge_wordings"
_PART, _ORDER, _SEED = "nt_knowledge_part", "nt_knowledge_order", "nt_knowledge_seed"
_POLL_S = 0.5
_EXACT = 1e-9


@dataclass(frozen=True)
class Experiment:
    """A question and what to switch off, at one click. ``label`` names a text of the page, ``fact`` one of
    ``assets/facts.toml``: where a teacher removed that fact, the experiment is not offered."""

    label: str
    fact: str
    part: Part
    order: Order = "random"


EXPERIMENTS = (
    Experiment("try_spread", "The capital of France", "neurons"),
    Experiment("try_handful", "The capital of France", "neurons", "contribution"),
    Experiment("try_layer", "The colour of the sky", "layer"),
    Experiment("try_heads", "The day after Monday", "heads"),
)


def show(page: Page) -> None:
    """The whole laboratory: wordings, the answer's chance in each, and the sweep with its progress."""
    part = Page("knowledge", page.session, page.model)
    with st.container(key="nt_knowledge_part_of_page"):
        part.section("intro")
        job = _job()
        polling = bool(job and job.active)
        st.fragment(_laboratory, run_every=_POLL_S if polling else None)(part, polling)


def _laboratory(page: Page, polling: bool) -> None:
    _experiments(page)
    try:
        asked = _question(page)
    except UserError as error:
        st.warning(f"{error.what} {error.todo}")
        return
    readings = _readings(page, asked)
    setting = _setting(page)
    job = _job()
    if job:
        job.seen()
    _buttons(page, asked, setting, job)
    shown = job if job and job.asked == asked and job.model_name == page.model.name else None
    _progress(page, job, shown)
    curves = _curves(page, shown) if shown and shown.done else None
    codec = page.model.codec
    rows = [
        WordingRow(
            text, len(ids), r.probability, r.rank, name_of(codec, r.favourite_id), r.favourite_probability
        )
        for text, ids, r in zip(asked.texts, asked.token_ids, readings, strict=True)
    ]
    knowledge(rows, name_of(codec, asked.answer_id), load("knowledge").labels, curves)
    _spread(page, readings)
    page.section("method")
    if setting.part == "neurons":
        page.section("neurons")
    if shown and shown.done >= len(rows):
        _provenance(page, shown, readings)
    if polling != bool(job and job.active):
        state.rerun()  # begin or end asking for news


def _experiments(page: Page) -> None:
    facts = {fact.label: fact for fact in lesson.facts()}
    with page.try_row("knowledge"):
        for one in EXPERIMENTS:
            if one.part in _parts(page) and one.fact in facts:
                begin = (page, one, facts[one.fact])
                st.button(page.label(one.label), key=f"nt_{one.label}", on_click=_begin, args=begin)


def _begin(page: Page, one: Experiment, fact: Fact) -> None:
    """Fill the fields and measure at once."""
    st.session_state[_FACT] = fact.label
    _take_fact(fact.label)
    st.session_state[_PART], st.session_state[_ORDER] = one.part, one.order
    st.session_state[_SEED] = 0
    asked = lesson.question(page.model.codec, fact.wordings, fact.answer)
    _start(page, asked, Setting(one.part, order=one.order))


def _spread(page: Page, readings: Sequence[Reading]) -> None:
    """The mean over the wordings and how far they are apart, with the numbers above."""
    chances = [reading.probability for reading in readings]
    count = len(chances)
    page.formula("mean", count=count, chances=chances, mean=math.fsum(chances) / count)
    if min(chances) > 0:
        page.formula("apart", most=max(chances), least=min(chances), ratio=max(chances) / min(chances))


# -- what is asked -----------------------------------------------------------------------------------


def _question(page: Page) -> Question:
    """The fact on the screen. Raises UserError when it cannot be asked."""
    found = {fact.label: fact for fact in lesson.facts()}
    if _ANSWER not in st.session_state:
        _take_fact(next(iter(found)))
    left, right = st.columns([2, 1], gap="medium")
    with left:
        st.selectbox(
            page.label("fact"),
            [*found, page.label("own")],
            key=_FACT,
            persist_state="session",
            on_change=lambda: _take_fact(st.session_state[_FACT]),
        )
    with right:
        st.text_input(
            page.label("answer"),
            key=_ANSWER,
            persist_state="session",
            max_chars=60,
            on_change=_own,
            args=(page,),
        )
    st.text_area(
        page.label("wordings"),
        key=_WORDINGS,
        persist_state="session",
        height=190,
        on_change=_own,
        args=(page,),
    )
    wordings = [line.replace("\\n", "\n") for line in st.session_state[_WORDINGS].split("\n")]
    asked = lesson.question(page.model.codec, wordings, st.session_state[_ANSWER])
    name = literal(name_of(page.model.codec, asked.answer_id).replace(" ", "·"))
    count = len(asked.answer_ids)
    key = "answer_note_one" if count == 1 else "answer_note"
    st.caption(page.label(key, token=name, id=asked.answer_id, count=count))
    return asked


def _take_fact(label: str) -> None:
    """Put a ready-made fact into the fields; "your own" leaves them as they are."""
    fact = next((fact for fact in lesson.facts() if fact.label == label), None)
    if fact is not None:
        st.session_state[_ANSWER] = fact.answer
        st.session_state[_WORDINGS] = "\n".join(line.replace("\n", "\\n") for line in fact.wordings)


def _own(page: Page) -> None:
    st.session_state[_FACT] = page.label("own")


def _readings(page: Page, asked: Question) -> list[Reading]:
    """The answer in each wording with the model as it is, measured once."""
    with st.spinner(page.label("asking", count=len(asked.texts)), show_time=False):
        return [_reading(page.model, page.model.name, ids, asked.answer_id) for ids in asked.token_ids]


@st.cache_data(show_spinner=False, max_entries=512)
def _reading(_model: Any, name: str, token_ids: tuple[int, ...], answer_id: int) -> Reading:
    return lesson.ask(_model, token_ids, answer_id)


# -- what is switched off ----------------------------------------------------------------------------


def _setting(page: Page) -> Setting:
    layer = page.selection.layer
    names = {part: page.label(f"part_{part}", layer=layer) for part in _parts(page)}
    part: Any = st.segmented_control(
        page.label("part"),
        list(names),
        default="neurons" if "neurons" in names else "layer",
        format_func=names.__getitem__,
        key=_PART,
        persist_state="session",
        required=True,
    )
    if part in ("layer", "head"):
        return Setting(part, layer=layer if part == "head" else 0)
    order: Any = "random"
    left, right = st.columns([2, 1], gap="medium")
    if part == "neurons":
        with left:
            order = st.segmented_control(
                page.label("order"),
                ("random", "contribution"),
                default="random",
                format_func=lambda name: page.label(f"order_{name}"),
                key=_ORDER,
                persist_state="session",
                required=True,
            )
    seed = 0
    if order == "random":
        with right:
            seed = int(st.number_input(page.label("seed"), 0, 9999, 0, key=_SEED, persist_state="session"))
    return Setting(part, order=order, seed=seed)


def _parts(page: Page) -> list[Part]:
    shape = page.model.shape
    parts: list[Part] = ["layer", "head", "heads"]
    if shape.d_ff:
        parts.insert(2, "neurons")
    if shape.n_experts:
        parts.append("experts")
    return parts


def _buttons(page: Page, asked: Question, setting: Setting, job: Job | None) -> None:
    running = bool(job and job.active)
    with st.container(horizontal=True, gap="small"):
        st.button(
            page.label("start"),
            key="nt_knowledge_start",
            type="primary",
            disabled=running,
            on_click=lambda: _start(page, asked, setting),
        )
        if running and job is not None:
            st.button(page.label("stop"), key="nt_knowledge_stop", on_click=job.stop)


def _start(page: Page, asked: Question, setting: Setting) -> None:
    axis, levels = plan(page.model, asked, setting)
    if old := _job():
        old.stop()
    st.session_state[_JOB] = Job(page.model, asked, setting, axis, levels).start()


def plan(
    model: Any, asked: Question, setting: Setting
) -> tuple[Sequence[float], Callable[[], Sequence[Level]]]:
    """The points of the axis, and the levels that stand there (computed when called)."""
    shape, part = model.shape, setting.part
    if part in ("layer", "head"):
        made = (
            lesson.layer_levels(shape.n_layers)
            if part == "layer"
            else lesson.head_levels(setting.layer, shape.n_heads)
        )
        return [level.at for level in made], lambda: made
    at = lesson.shares(part, setting.order)

    def levels() -> Sequence[Level]:
        by_contribution = part == "neurons" and setting.order == "contribution"
        order = (
            lesson.contribution_order(model, asked)
            if by_contribution
            else lesson.random_order(lesson.places(shape, part), setting.seed)
        )
        return lesson.share_levels(part, order, at)

    return at, levels


# -- what was measured -------------------------------------------------------------------------------


def _job() -> Job | None:
    found: Job | None = st.session_state.get(_JOB)
    return found


def _progress(page: Page, job: Job | None, shown: Job | None) -> None:
    if job is None:
        return
    if job.active:
        first = not job.done and job.setting.order == "contribution"
        text = page.label("ordering") if first else page.label("progress", done=job.done, total=job.total)
        st.progress(job.done / job.total, text=text)
    elif job.error:
        st.warning(page.label("failed") if job.error == "?" else job.error)
    elif shown is None:
        st.caption(page.label("changed"))
    elif job.stopped:
        st.caption(page.label("stopped", done=job.done, total=job.total))


def _curves(page: Page, job: Job) -> Curves:
    part = job.setting.part
    values: dict[str, object] = {"layer": job.setting.layer}
    if part not in ("layer", "head"):
        values["count"] = f"{len(lesson.places(page.model.shape, part)):,}"
    return Curves(
        title=page.label(f"axis_{part}", **values),
        kind="index" if part in ("layer", "head") else "share",
        at=job.axis,
        probabilities=job.probabilities.copy(),
        ranks=job.ranks.copy(),
        note=_note(page, job),
    )


def _note(page: Page, job: Job) -> str:
    found = lesson.summary(job.levels, job.probabilities)
    if found is None:
        return ""
    before, part = percent(found.before), job.setting.part
    if part in ("layer", "head"):
        what = page.label(f"note_{part}", at=int(found.lowest_at))
        return page.label("note_one", before=before, what=what, lowest=percent(found.lowest))
    if found.half_at is None:
        return page.label("note_whole", before=before)
    return page.label("note_half", before=before, at=f"{found.half_at * 100:.2g}%")


def _provenance(page: Page, job: Job, readings: Sequence[Reading]) -> None:
    """Which tensor was switched off, and whether the sweep's first points repeat the untouched model."""
    shape, part = page.model.shape, job.setting.part
    sizes: dict[str, tuple[int, ...]] = {
        "layer": (shape.d_model,),
        "head": (shape.head_dim,),
        "neurons": (shape.n_layers, shape.d_ff),
        "heads": (shape.n_layers, shape.n_heads, shape.head_dim),
        "experts": (shape.n_layers, shape.n_experts),
    }
    found = lesson.summary(job.levels, job.probabilities)
    if found is not None and found.before > 0:
        page.formula("left", before=found.before, lowest=found.lowest, left=found.lowest / found.before)
    page.tensor(page.label(f"tensor_{part}"), sizes[part], shape.dtype)
    untouched = np.array([reading.probability for reading in readings])
    page.check("check", float(np.abs(job.probabilities[:, 0] - untouched).max()), _EXACT)
