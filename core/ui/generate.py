"""The Generate page: the run as a message to the browser, and what the browser's events do to the run.

An event comes with the browser's settings, which are kept. Most are answered on the session's own line,
beside the page's script (see ``core.components.lines``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.components import generate as component
from core.components.base import Message, pack
from core.components.generate import GenerateEvent, read_event
from core.components.lines import Line
from core.decoding.params import SamplingParams
from core.decoding.run import Run
from core.errors import UserError
from core.lessons.generate import candidates, choices, facts, ribbon
from core.ui import predict, state
from core.ui.page import Page
from core.ui.state import Session
from core.ui.text import load

ACT = "act"


def live(page: Page) -> None:
    """What a step changes, drawn alone; the steps themselves are answered on the line."""
    session = page.session
    with session.lock:
        now = Page(page.name, session, page.model)
        now.run.limit(session.link.tokens)
        on = {ACT: on_event(session), "choose": now.choose_cell}
        component.generate(_message(now), on, stepping_line(now, _message))
        now.sync_link()


def stepping_line(drawn: Page, message: Callable[[Page], Message]) -> Line:
    """The session's line for steps. It answers with ``message`` while the run is the one that was drawn."""
    session, run = drawn.session, drawn.run
    line, handle = session.line(ACT), on_event(session)

    def answer(payload: Any) -> bytes | None:
        with session.lock:
            if session.run is not run or read_event(payload) is None:
                return None
            handle(payload)
            now = Page(drawn.name, session, drawn.model)
            address = state.address(session)
            return pack(*message(now), line, address)

    line.answer = answer
    return line


def _message(page: Page) -> Message:
    header = run_message(page, labels()) | {"grid": page.grid_header()}
    return header, component.arrays(page.run.tip.logits, page.grid_norms())


def run_key(session: Session) -> str:
    """What tells one run from another in the browser."""
    return "\n".join(session.request)


def run_message(page: Page, words: dict[str, str]) -> dict[str, Any]:
    """The header of the components that step a run (Generate, the journey)."""
    run, codec, session = page.run, page.model.codec, page.session
    return component.header(
        run_key=run_key(session),
        tokens=ribbon(codec, run.prompt_ids + tuple(step.token_id for step in run.steps)),
        prompt_length=len(run.prompt_ids),
        chosen=choices(run.steps, session.params),
        state=facts(run),
        params=session.params,
        names=candidates(codec, run.tip.logits),
        layers=page.model.shape.n_layers,
        labels=words,
        position=page.selection.position,
        answered=session.answered,
        notice=session.notice,
        session=session.line(ACT).token[:8],
    )


def labels() -> dict[str, str]:
    """The page's short texts, with the words around a guess."""
    return load("generate").labels | {f"predict_{name}": word for name, word in predict.words().items()}


def on_event(session: Session) -> Callable[[Any], None]:
    """The handler of the component's event ``act``; runs before the page is drawn again.

    An event that was meant for a run that has given way (another prompt came at the same moment) does
    nothing.
    """

    def handle(payload: Any) -> None:
        event = read_event(payload)
        with session.lock:
            if event is None:
                return
            session.notice, session.answered = "", event.number
            if session.run is None or event.run not in ("", run_key(session)):
                return
            try:
                apply(session, session.run, event)
            except UserError as error:
                session.notice = f"{error.what} {error.todo}"

    return handle


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
