"""The tour's own page: its stops with their links, selections for a class, notes for teachers, the score."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from core.lessons import tour
from core.lessons.tour import PLANS, Stop
from core.ui import links, predict
from core.ui.pages import page_info
from core.ui.state import Session
from core.ui.text import label
from core.ui.tour import PAGE, TOPIC, last_stop, result, selection, stop_link, title

_PLAN, _NOTES = "nt_tour_plan", "nt_tour_notes"


def tour_view(session: Session) -> None:
    """Choose a selection, start or go on, and see all its stops."""
    plan = _choose_plan(session)
    stops = selection(plan)
    if not stops:
        st.markdown(label(PAGE, "no_stops"))
        return
    st.markdown(label(PAGE, "sum", count=len(stops), minutes=tour.minutes(stops)))
    _begin(stops, plan)
    notes = st.toggle(label(PAGE, "notes"), key=_NOTES)
    with st.container(key="nt_tour_stops", gap="small"):
        for number, stop in enumerate(stops, start=1):
            _row(number, stop, plan, notes)
    _score()


def _choose_plan(session: Session) -> str:
    plan = session.link.plan
    st.session_state[_PLAN] = plan
    st.segmented_control(
        label(PAGE, "plan"),
        list(PLANS),
        key=_PLAN,
        format_func=lambda name: label(PAGE, f"plan_{name}"),
        required=True,
        on_change=_take_plan,
        args=(session,),
    )
    return plan


def _take_plan(session: Session) -> None:
    session.link = replace(session.link, plan=st.session_state[_PLAN] or tour.WHOLE)


def _begin(stops: tuple[Stop, ...], plan: str) -> None:
    with st.container(horizontal=True, gap="small", key="nt_tour_begin"):
        _to(stops[0], plan, label(PAGE, "start"), ":material/play_arrow:")
        last = last_stop()
        if last is not None:
            stop, its_plan = last
            number = selection(its_plan).index(stop) + 1
            _to(stop, its_plan, label(PAGE, "resume", number=number, title=title(stop)), ":material/resume:")


def _row(number: int, stop: Stop, plan: str, notes: bool) -> None:
    told = result(stop)
    facts = [label("shell", f"page_{stop.page}"), label(PAGE, "minutes", minutes=stop.minutes)]
    if told is not None:
        name = "shown" if told.given is None else "right" if told.right else "wrong"
        facts.append(label(PAGE, f"answered_{name}"))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"nt_stop_{stop.id}"):
        _to(stop, plan, label(PAGE, "stop_line", number=number, title=title(stop)), None)
        st.caption(" · ".join(facts), width="content")
    if notes:
        st.caption(label(PAGE, f"notes_{stop.id}"))


def _to(stop: Stop, plan: str, text: str, icon: str | None) -> None:
    """A link to a stop, with the whole screen in its address."""
    query = links.format_link(stop_link(stop, plan))
    st.page_link(str(page_info(stop.page).file), label=text, icon=icon, query_params=query)


def _score() -> None:
    right, count = predict.score(TOPIC)
    if count:
        with st.container(horizontal=True, vertical_alignment="center", gap="small", key="nt_tour_score"):
            st.markdown(label(PAGE, "score", right=right, count=count), width="content")
            st.button(label(PAGE, "again"), on_click=predict.forget, args=(TOPIC,), key="nt_tour_again")
