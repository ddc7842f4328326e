"""From what the link asks for to a model and a run, or to a page that says what is missing and stops."""

from __future__ import annotations

import logging
from typing import Any

import streamlit as st

from core.engine import made_here
from core.errors import UserError
from core.ui import loading, models, notices, runs, state
from core.ui.pages import page_info
from core.ui.state import Session
from core.ui.text import label, literal

LOG = logging.getLogger("next_token")
POLL_S = 0.4
BAR_FROM = 8
"""Replays of a link shorter than this many steps show no progress bar."""


def model_or_stop(session: Session) -> Any:
    """The model that the learner asked for. Stops the page while it loads, or when it cannot be had."""
    name = session.link.model
    load = loading.known(name)
    if load is None:
        if not models.may_load(name) and session.asked_model != name:
            _ask_first(session, name)
            state.stop_page()
        load = loading.begin(name)
    if load.status == "loading":
        with st.container(key="nt_loading", border=True):
            _progress(name)
        state.stop_page()
    if load.status == "failed":
        _failed(session, name, load)
        state.stop_page()
    try:
        return loading.model(name)
    except UserError as error:  # it was ready once, and has left the memory or the disk since
        _gone(session, name, error)
        state.stop_page()


def run_or_stop(session: Session, model: Any) -> None:
    """Bring the session's run up to date with its link. Stops the page when there is nothing to run."""
    try:
        tokens = runs.tokens_of(model.codec, model.shape, session.link)
        if tokens.typed_specials:
            notices.special_tokens(session, tokens.typed_specials)
        runs.check(session.link, tokens)
        if session.run is None or session.run_of != session.request:
            _start(session, model, tokens)
    except UserError as error:
        session.drop_run()
        notices.user_error(error)
        state.stop_page()


def _start(session: Session, model: Any, tokens: runs.PromptTokens) -> None:
    steps = min(session.link.step + session.link.ahead, session.link.tokens)
    place = st.empty()
    with (
        st.spinner(label("shell", "prefilling", count=len(tokens.ids)))
        if steps < BAR_FROM
        else place.container()
    ):
        bar = st.progress(0.0, label("shell", "repeating", count=steps)) if steps >= BAR_FROM else None
        session.run = runs.start(
            model,
            tokens,
            session.link,
            lambda done: bar.progress(done / steps) if bar is not None else None,
            session.kept_tree,
        )
    if len(session.run.steps) < steps:  # the model ended its text earlier than the link says
        session.refused += ("step",)
    session.kept_tree = None
    place.empty()
    session.run_of = session.request


def _ask_first(session: Session, name: str) -> None:
    """A link never downloads anything by itself: the learner says so."""
    try:
        description = models.description(name)
    except UserError as error:
        _gone(session, name, error)
        return
    with st.container(key="nt_ask_model", border=True):
        st.markdown(label("shell", "ask_model", name=f"`{name.replace('`', '')}`"))
        st.markdown(literal(description))
        with st.container(horizontal=True, gap="small"):
            st.button(
                label("shell", "ask_model_yes"),
                type="primary",
                on_click=_agree,
                args=(session, name),
                key="nt_agree",
            )
            st.button(label("shell", "use_default"), on_click=_use_default, args=(session,), key="nt_no")


def _gone(session: Session, name: str, error: UserError) -> None:
    """A model that cannot be had by waiting: what to do, and a way on."""
    notices.user_error(error)
    with st.container(horizontal=True, gap="small"):
        if made_here.is_name(name) and st.button(label("shell", "train_again"), key="nt_train_again"):
            st.switch_page(str(page_info("from_zero").file))
        st.button(label("shell", "use_default"), on_click=_use_default, args=(session,), key="nt_use_default")


def _agree(session: Session, name: str) -> None:
    session.asked_model = name


def _use_default(session: Session) -> None:
    session.ask(model=models.DEFAULT)


def _failed(session: Session, name: str, load: loading.Load) -> None:
    if load.error is not None:
        notices.user_error(load.error)
    else:
        notices.our_error()
    with st.container(horizontal=True, gap="small"):
        st.button(label("shell", "try_again"), type="primary", on_click=_retry, args=(name,), key="nt_retry")
        if name != models.DEFAULT:
            st.button(
                label("shell", "use_default"), on_click=_use_default, args=(session,), key="nt_use_default"
            )


def _retry(name: str) -> None:
    loading.retry(name)


@st.fragment(run_every=POLL_S)
def _progress(name: str) -> None:
    """Where the load stands; draws the whole page anew when it is done."""
    load = loading.begin(name)
    if load.status != "loading":
        state.rerun()
    st.markdown(f"**{label('shell', 'loading_title', name=models.title(name))}**")
    event = load.event
    stages = ("wait", "download", "check", "convert", "load")
    stage = event.stage if event is not None and event.stage in stages else "load"
    share = event.fraction if event is not None else None
    st.progress(share or 0.0, label("shell", f"stage_{stage}"))
    st.caption(label("shell", "loading_note"))
