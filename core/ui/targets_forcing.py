"""The Targets page, second half: the same text with its true prefix and with the model's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from core.charts import targets as charts
from core.charts.labels import number
from core.components.targets import read_whole, two_worlds
from core.decoding.params import SamplingParams
from core.lessons import teacher_forcing as lesson
from core.lessons.generate import name_of
from core.lessons.job import Plan
from core.lessons.teacher_forcing import SEEDS, Average, Result, Worlds
from core.ui.measure import Measurement, measurement
from core.ui.page import Page
from core.ui.targets import Text, labels

_GIVEN, _GIVEN_OF, _SEED = "nt_targets_given", "nt_targets_given_of", "nt_targets_seed"
DRAWS = ("set", "plain", "greedy")
USUAL_SEEDS = 4
FORGOTTEN_AFTER_S = 60.0
KL_TOLERANCE = 1e-6


def forcing_section(page: Page, text: Text) -> None:
    """Settings, a button, and both worlds as they come."""
    page.section("forcing")
    if len(text.ids) < 2:
        return
    about = text.fingerprint(page.model.name)
    measurement(
        page,
        Measurement(
            "forcing",
            (about,),
            controls=lambda: _controls(page, text),
            show=lambda result: _show(page, text, result),
            icon=":material/edit:",
            forgotten_after_s=FORGOTTEN_AFTER_S,
        ),
    )


def _controls(page: Page, text: Text) -> Callable[[], Plan]:
    about, count = text.fingerprint(page.model.name), len(text.ids)
    if st.session_state.get(_GIVEN_OF) != about:
        st.session_state[_GIVEN_OF] = about
        st.session_state[_GIVEN] = lesson.usual_given(text.first_text, count)
    left, middle, right = st.columns([1, 1, 1], gap="medium")
    with left:
        given = int(st.number_input(page.label("given"), 1, count - 1, step=1, key=_GIVEN))
    params = page.session.params
    with middle:
        names = {
            "set": page.label("draw_set", temperature=number(params.temperature), seed=params.seed),
            "plain": page.label("draw_plain"),
            "greedy": page.label("draw_greedy"),
        }
        draw = st.selectbox(
            page.label("draw"),
            DRAWS,
            format_func=names.__getitem__,
            key="nt_targets_draw",
            persist_state="session",
        )
    chosen = _params(params, str(draw))
    with right:
        seeds = st.selectbox(
            page.label("seeds"),
            SEEDS,
            index=SEEDS.index(USUAL_SEEDS),
            key="nt_targets_seeds",
            persist_state="session",
            disabled=chosen.greedy,
        )
    if chosen.greedy:
        st.caption(page.label("one_text"))
    return lambda: lesson.plan(page.model, text.trace, given, chosen, int(seeds or 1))


def _params(params: SamplingParams, draw: str) -> SamplingParams:
    if draw == "greedy":
        return replace(params, temperature=0.0)
    return SamplingParams(temperature=1.0, top_p=1.0, seed=params.seed) if draw == "plain" else params


def _show(page: Page, text: Text, result: Result) -> None:
    if not result.worlds:
        return
    params = result.params
    values = {
        "temperature": number(params.temperature),
        "top_k": params.top_k or page.label("off"),
        "top_p": number(params.top_p),
    }
    done = len(result.complete)
    st.caption(page.label("setting", given=result.given, done=done, wanted=result.wanted, **values))
    _worlds(page, text, result)
    found = lesson.average(result)
    if found is not None:
        _average(page, found)
        _numbers(page, result)
    page.section("forcing method")


def _worlds(page: Page, text: Text, result: Result) -> None:
    shown = _shown(result)
    codec = page.model.codec
    ids = {token for place in shown.places for token, _ in (*place.true_top, *place.own_top)}
    ids |= {place.own_id for place in shown.places if place.own_id is not None}
    finished = {one.seed for one in result.complete}
    two_worlds(
        shown,
        text.texts[: result.given],
        {place.position: text.tokens[place.position] for place in shown.places},
        {token: name_of(codec, token) for token in ids},
        [(one.seed, one.parted, one.seed in finished) for one in result.worlds],
        text_id=text.fingerprint(page.model.name),
        labels=labels(),
        on_seed=_choose_seed,
    )


def _shown(result: Result) -> Worlds:
    """The seed that was chosen, else the first one."""
    seed = st.session_state.get(_SEED)
    return next((one for one in result.worlds if one.seed == seed), result.worlds[0])


def _choose_seed(payload: Any) -> None:
    seed = read_whole(payload, "seed")
    if seed is not None:
        st.session_state[_SEED] = seed


def _average(page: Page, found: Average) -> None:
    lines = {"true": found.true_loss, "own": found.own_loss, "words": found.own_words}
    means = {name: number(float(np.nanmean(values))) for name, values in lines.items()}
    st.markdown(page.label("average", seeds=found.seeds, places=found.positions.size, **means))
    names = ("positions", "true_loss", "own_loss", "own_words", "kl", "together", "running")
    columns = [getattr(found, name).tolist() for name in names]
    table = (names, list(zip(*columns, strict=True)))
    # A chart that gets other data under the same key keeps the range of its axes: one key for each seed.
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown(page.label("chart_losses"))
        figure = charts.two_worlds(found, labels(), page.theme)
        page.figure(figure, f"worlds-{found.seeds}", page.label("chart_losses_alt"), csv=table)
    with right:
        st.markdown(page.label("chart_kl"))
        figure = charts.distance(found, labels(), page.theme)
        page.figure(figure, f"kl-{found.seeds}", page.label("chart_kl_alt"), csv=table)


def _numbers(page: Page, result: Result) -> None:
    known = [place for place in _shown(result).places if place.kl is not None]
    widest = max(known, key=lambda place: place.kl or 0.0)
    page.formula(
        "kl",
        kl=float(widest.kl or 0.0),
        position=widest.position,
        vocabulary=page.model.shape.vocab_size,
    )
    page.check("check_kl", lesson.shared_error(result), KL_TOLERANCE)
