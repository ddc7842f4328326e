"""Guess first: a switch on some pages that hides the numbers until the learner has guessed one of them.

Off, it costs the page one switch. The answer is not sent to the page's other parts, they are not drawn at
all, so nothing on the screen tells it. The question stays the same while the prompt does, whatever is chosen
or stepped meanwhile; switching off and on again asks another.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from core.lessons.guess import QUESTIONS
from core.lessons.questions import Question
from core.lessons.tour_scene import Scene
from core.ui import predict, state
from core.ui.page import Page
from core.ui.quiz import words_of
from core.ui.text import label

TOPIC = "guess"
PAGE = "quiz"
_KEY = "nt_guess"
_SWITCH = "nt_guess_first"


@dataclass
class _Guessing:
    """``asked``: the question of each page, with the request that it was made for and the turn."""

    on: bool = False
    turn: int = 0
    asked: dict[str, tuple[tuple[str, ...], int, Question | None]] = field(default_factory=dict)


def guess_first(page: Page) -> None:
    """Show the switch and, while it is on, the page's question. Ends the page until it is answered."""
    guessing: _Guessing = st.session_state.setdefault(_KEY, _Guessing())
    with st.container(key="nt_guess", horizontal=True, vertical_alignment="center", gap="small"):
        st.session_state[_SWITCH] = guessing.on
        st.toggle(label(PAGE, "guess_first"), key=_SWITCH, on_change=_switch, args=(guessing,))
        right, guessed = predict.score(TOPIC)
        if guessing.on and guessed:
            st.caption(label(PAGE, "guess_score", right=right, guessed=guessed))
    question = _question(page, guessing) if guessing.on else None
    with st.container():  # one element in the page's list with a question and without
        hidden = question is not None and _told(page, question) is None
    if hidden:
        state.stop_page()


def _told(page: Page, question: Question) -> predict.Outcome | None:
    told = predict.predict(question, page=words_of(question.kind), key=f"nt_guess_{page.name}", topic=TOPIC)
    if told is None:
        st.caption(label(PAGE, "guess_hidden"))
    return told


def _question(page: Page, guessing: _Guessing) -> Question | None:
    request = page.session.request
    known = guessing.asked.get(page.name)
    if known is None or known[:2] != (request, guessing.turn):
        at = page.selection
        scene = Scene(page.model, page.run, page.session.params, at.layer, at.head, at.position)
        known = guessing.asked[page.name] = (
            request,
            guessing.turn,
            QUESTIONS[page.name](scene, guessing.turn),
        )
    return known[2]


def _switch(guessing: _Guessing) -> None:
    guessing.on = bool(st.session_state[_SWITCH])
    guessing.turn += not guessing.on
