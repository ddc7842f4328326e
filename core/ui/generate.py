"""What the Generate page's events do to the run. The browser's settings come with each event and are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.components.generate import GenerateEvent, read_event
from core.decoding.params import SamplingParams
from core.decoding.run import Run
from core.errors import UserError
from core.ui.state import Session
from core.ui.text import load

_KEY = "nt_generate_answer"


@dataclass(frozen=True)
class Answer:
    """The last event that was carried out, and what could not be done (a plain sentence, or "")."""

    number: int = 0
    notice: str = ""


def on_event(session: Session) -> Callable[[Any], None]:
    """The handler of the component's event ``act``; runs before the page is drawn again."""

    def handle(payload: Any) -> None:
        event = read_event(payload)
        run = session.run
        if event is None or run is None:
            return
        notice = ""
        try:
            apply(session, run, event)
        except UserError as error:
            notice = f"{error.what} {error.todo}"
        st.session_state[_KEY] = Answer(event.number, notice)

    return handle


def answered(session: Session) -> dict[str, Any]:
    """The fields ``answered`` and ``notice`` of the component's message."""
    answer = st.session_state.get(_KEY, Answer())
    return {"answered": answer.number, "notice": answer.notice}


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("generate").labels


def run_key(session: Session) -> str:
    """Differs for two runs that do not share their prompt and model."""
    return "\n".join(session.request)


def apply(session: Session, run: Run, event: GenerateEvent) -> None:
    """Carry an event out. Raises UserError when the run cannot go where it is asked to."""
    if event.params != session.params:
        session.set_params(event.params)
    if event.kind == "next":
        _forward(run, event.params)
    elif event.kind == "take":
        run.next(event.params, force=event.value)
    elif event.kind == "back":
        run.back()
    elif event.kind == "jump":
        run.jump(event.value)
    elif event.kind == "reset":
        run.reset()
    elif event.kind == "place":
        session.select(position=event.value)
    if event.kind not in ("place", "params"):
        session.follow_newest()


def _forward(run: Run, params: SamplingParams) -> None:
    """Along the path that is there while the settings explain it (a token taken by hand stays taken)."""
    ahead = run.cursor < len(run.steps)
    if ahead and run.steps[run.cursor].params == params:
        run.jump(run.cursor + 1)
    else:
        run.next(params)
