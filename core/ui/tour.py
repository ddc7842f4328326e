"""The guided tour on the pages: the bar at a stop, what it remembers, and the links of the stops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from core.components.tour_bar import Bar, read_move, tour_bar
from core.lessons import tour
from core.lessons.questions import Question
from core.lessons.tour import WHOLE, Stop
from core.ui import links, moving, predict, state
from core.ui.links import Link
from core.ui.pages import available_pages
from core.ui.state import Selection, Session
from core.ui.text import label, load

PAGE = TOPIC = "tour"
_ASKED, _LAST = "nt_tour_asked", "nt_tour_last"


def stop_link(stop: Stop, plan: str, present: bool = False) -> Link:
    """The link of a stop: it sets up the whole screen, so it means the same for everybody."""
    return Link(**stop.link, tour=stop.id, plan=plan, present=present)


def selection(plan: str) -> tuple[Stop, ...]:
    """The stops of a selection whose pages are there."""
    return tour.stops(plan, {page.name for page in available_pages()})


def title(stop: Stop) -> str:
    """The stop's name for readers."""
    return label(PAGE, f"title_{stop.id}")


def last_stop() -> tuple[Stop, str] | None:
    """Where this learner was last, and in which selection."""
    name, plan = st.session_state.get(_LAST, ("", WHOLE))
    stop = tour.find(name)
    return None if stop is None or stop not in selection(plan) else (stop, plan)


def result(stop: Stop) -> predict.Outcome | None:
    """The last answer given at a stop."""
    told = [one for one in predict.outcomes(TOPIC) if one.kind == stop.id]
    return told[-1] if told else None


def stands_on(session: Session, page: str) -> bool:
    """Whether a tour is on whose stop stands on this page."""
    stop = tour.find(session.link.tour)
    return stop is not None and stop.page == page


def waiting_bar(session: Session, page: str) -> None:
    """On other pages the tour waits: one line with the way back. Drawn by the shell above the page."""
    stop = tour.find(session.link.tour)
    with st.container():  # one element in the page's list with a bar and without
        if stop is not None and stop.page != page:
            with st.container(key="nt_tour_place"):
                _draw(session, stop, None, label(PAGE, "away", title=title(stop)))


def bar(session: Session, page: str, model: Any, place: Selection, where: Any) -> None:
    """The bar of the stop that stands on this page, into the container ``where``; nothing when there is
    none."""
    stop = tour.find(session.link.tour)
    if stop is None or stop.page != page:
        return
    st.session_state[_LAST] = (stop.id, session.link.plan)
    _ask(session, stop, model, place)
    with where, st.container(key="nt_tour_place"):
        st.fragment(_bar)(session, stop)


def go_to(session: Session, stop: Stop, plan: str) -> None:
    """Set up a stop's screen and go to its page, as soon as the script runs."""
    link = stop_link(stop, plan, session.link.present)
    moving.ask_for(stop.page, **links.format_link(link))


def _bar(session: Session, stop: Stop) -> None:
    """The active bar, by itself: an answer does not draw the page again."""
    moving.go_where_asked()
    if session.link.tour != stop.id:
        state.rerun()
    _draw(session, stop, st.session_state[_ASKED][1], "")


def _draw(session: Session, stop: Stop, asked: Question | None, waiting: str) -> None:
    found = selection(session.link.plan)
    if stop not in found:
        found = selection(WHOLE)
    number = found.index(stop) + 1 if stop in found else 0

    def answer(payload: Any) -> None:
        if asked is not None:
            predict.take(asked, TOPIC, payload)

    def go(payload: Any) -> None:
        move = read_move(payload)
        if move is not None:
            answer(payload.get("answer"))  # on its own it may be overtaken by the move
            _go(session, found, stop, move)

    shown = Bar(
        counter=label(PAGE, "counter", number=number, count=len(found)),
        title=title(stop),
        first=number <= 1,
        last=number >= len(found),
        asked=None if asked is None else predict.in_words(asked, PAGE, TOPIC),
        waiting=waiting,
    )
    tour_bar(
        shown,
        key="nt_tour_waiting" if waiting else "nt_tour_bar",
        labels=load(PAGE).labels,
        words=predict.words(),
        on_answer=answer,
        on_go=go,
    )


def _ask(session: Session, stop: Stop, model: Any, place: Selection) -> None:
    """Find the stop's question once for what is on the screen; it stays while the learner steps on, so that
    looking at the answer does not change what was asked."""
    from core.lessons.tour_questions import question  # with it comes torch, for which the shell must not wait
    from core.lessons.tour_scene import Scene

    link = session.link
    about = (stop.id, session.request, session.params, link.layer, link.head, link.position)
    known = st.session_state.get(_ASKED)
    if known is None or known[0] != about:
        scene = Scene(model, session.run, session.params, place.layer, place.head, place.position)
        st.session_state[_ASKED] = (about, question(stop.id, scene))


def _go(session: Session, found: tuple[Stop, ...], stop: Stop, move: str) -> None:
    plan = session.link.plan
    at = found.index(stop) + {"next": 1, "back": -1}.get(move, 0) if stop in found else 0
    if move == "leave" or at >= len(found):
        session.link = replace(session.link, tour="", plan=WHOLE)
    if at >= len(found):
        moving.ask_for(PAGE, **({} if plan == WHOLE else {"plan": plan}))
    elif move in ("next", "back", "stop"):
        go_to(session, found[max(0, at)], plan)
