"""Back, next and several tokens at once, for pages that follow a run while it grows."""

from __future__ import annotations

import streamlit as st

from core.decoding.run import Run
from core.errors import UserError
from core.ui.page import Page
from core.ui.state import Session

SEVERAL = 8
_NOTICE = "nt_step_notice"
_ASKED = "nt_step_asked"


def take_steps(page: Page) -> None:
    """Do the several steps that were asked for, with progress. Call it before the run is drawn."""
    asked = st.session_state.pop(_ASKED, 0)
    if not asked:
        return
    place = st.empty()
    bar = place.progress(0.0, page.label("stepping"))
    for index in range(asked):
        if not _step(page.session):
            break
        bar.progress((index + 1) / asked)
    place.empty()
    page.session.follow_newest()


def step_buttons(page: Page) -> None:
    """A row of buttons that move the run. Texts: the page's labels step_back, step_next, step_several."""
    run, session = page.run, page.session
    with st.container(key="nt_steps", horizontal=True, vertical_alignment="center", gap="small"):
        st.button(
            page.label("step_back"),
            key="nt_step_back",
            disabled=run.cursor == 0,
            on_click=_back,
            args=(session,),
        )
        st.button(
            page.label("step_next"), key="nt_step_next", type="primary", on_click=_next, args=(session,)
        )
        st.button(page.label("step_several", count=SEVERAL), key="nt_step_several", on_click=_ask)
        st.markdown(page.label("step_state", count=run.cursor), width="content")
    if notice := st.session_state.pop(_NOTICE, ""):
        st.caption(notice)


def _ask() -> None:
    st.session_state[_ASKED] = SEVERAL


def _next(session: Session) -> None:
    _step(session)
    session.follow_newest()


def _back(session: Session) -> None:
    if session.run is not None:
        session.run.back()
    session.follow_newest()


def _step(session: Session) -> bool:
    """One token on, along the path that is there while the settings explain it; False at the run's end."""
    run = session.run
    if run is None:
        return False
    try:
        _forward(run, session)
    except UserError as error:
        st.session_state[_NOTICE] = f"{error.what} {error.todo}"
        return False
    return True


def _forward(run: Run, session: Session) -> None:
    run.limit(session.link.tokens)
    params = session.params
    if run.cursor < len(run.steps) and run.steps[run.cursor].params == params:
        run.jump(run.cursor + 1)
    else:
        run.next(params)
