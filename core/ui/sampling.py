"""What the Sampling page shows of the run, and what its component's events change."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.components.generate import header
from core.components.sampling_lab import read_params, read_place, sampling_lab
from core.decoding.sampling import Pipeline, pipeline
from core.lessons.generate import StepFacts, candidates, choices, name_of, ribbon
from core.lessons.sampling_lab import coldest_error, place, renormalisation_error, worked
from core.ui.page import Page
from core.ui.text import literal, load

EXACT = 1e-9


def laboratory(page: Page) -> Pipeline:
    """The component on the chosen position; returns the pipeline under the learner's settings."""
    run, session, model = page.run, page.session, page.model
    at = place(run, page.selection.position)
    logits = page.trace.logits_at(at.position)
    ids = run.prompt_ids + tuple(step.token_id for step in run.steps)
    message = header(
        run_key="\n".join(session.request),
        tokens=ribbon(model.codec, ids),
        prompt_length=at.prefix,
        chosen=choices(run.steps, session.params),
        state=StepFacts(at.step, at.ahead, None, None, 0, 0, 1, 0.0),
        params=session.params,
        names=candidates(model.codec, logits),
        layers=model.shape.n_layers,
        labels={**load("generate").labels, **load("sampling").labels},
        answered=0,
        position=at.position,
    )
    sampling_lab(
        {**message, "given": at.given},
        logits,
        on_params=lambda payload: _take_params(page, payload),
        on_place=lambda payload: _take_place(page, payload, len(ids)),
    )
    return pipeline(logits, session.params, ids[: at.position + 1])


def formula(page: Page, result: Pipeline) -> None:
    """The pipeline written out for one candidate, with the learner's own numbers."""
    numbers = worked(result)
    if numbers is None:
        page.section("greedy")
        return
    name = literal(name_of(page.model.codec, numbers.token_id).replace(" ", "·").replace("\n", "↵"))
    st.markdown(page.label("formula_for", token=name))
    page.formula("rule")
    page.formula(
        "tempered",
        logit=numbers.penalised,
        highest=numbers.highest,
        temperature=float(result.params.temperature),
        above=numbers.above,
        below=numbers.below,
        tempered=numbers.tempered,
    )
    page.formula("final", tempered=numbers.tempered, mass=numbers.mass, final=numbers.final)


def checks(page: Page, result: Pipeline) -> None:
    """What is shown, recomputed in one go from the logits."""
    page.check("check_once", renormalisation_error(result), EXACT)
    st.caption(page.label("coldest", share=f"{1 - coldest_error(result):.6f}"))


def _take_params(page: Page, payload: Any) -> None:
    params = read_params(payload)
    if params is not None and params != page.session.params:
        page.session.set_params(params)


def _take_place(page: Page, payload: Any, count: int) -> None:
    """A position ahead of the step on screen moves the run to it."""
    position = read_place(payload, count)
    if position is None:
        return
    step = position + 1 - len(page.run.prompt_ids)
    if step > page.run.cursor:
        page.run.jump(step)
    page.select(position=position)
