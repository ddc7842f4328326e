"""The quiz page: the five concepts, their questions of this round, the score, and other questions."""

from __future__ import annotations

import streamlit as st

from core.lessons.quiz import CONCEPTS, Asked, questions
from core.lessons.tour_scene import Scene
from core.ui import predict
from core.ui.page import Page
from core.ui.pages import available_pages, page_info
from core.ui.text import label, load

PAGE = "quiz"
_ROUND, _MADE = "nt_quiz_round", "nt_quiz_made"


def quiz(page: Page) -> None:
    """Everything below the introduction; drawn by itself when a question is answered."""
    st.fragment(_draw)(page)


def words_of(kind: str) -> str:
    """The page whose text holds the words of a kind of question."""
    return PAGE if f"ask_{kind}" in load(PAGE).labels else "tour"


def _draw(page: Page) -> None:
    asked = _questions(page)
    score = st.container(key="nt_quiz_score")
    for concept in CONCEPTS:
        with st.container(key=f"nt_quiz_{concept}", border=True):
            page.section(f"concept {concept}")
            for place, one in enumerate(item for item in asked if item.concept == concept):
                _one(one, f"{concept}_{place}")
    st.button(page.label("again"), on_click=_go_to, args=(_round() + 1,), key="nt_quiz_again", type="primary")
    with score:  # last, so that it never speaks of a round whose questions are not on the screen yet
        _score(page, asked)


def _one(asked: Asked, key: str) -> None:
    told = predict.predict(
        asked.question, page=words_of(asked.question.kind), key=f"nt_quiz_ask_{key}", topic=_topic()
    )
    there = {info.name for info in available_pages()}
    if told is not None and asked.page in there:
        info = page_info(asked.page)
        title = label(PAGE, "seen", title=label("shell", f"page_{info.name}"))
        st.page_link(str(info.file), label=title, icon=info.icon)


def _score(page: Page, asked: tuple[Asked, ...]) -> None:
    outcomes = [predict.outcome(one.question, _topic()) for one in asked]
    guesses = [told for told in outcomes if told is not None and told.given is not None]
    st.markdown(
        page.label(
            "score",
            right=sum(told.right for told in guesses),
            guessed=len(guesses),
            all=len(asked),
            round=_round() + 1,
        )
    )
    if all(told is not None for told in outcomes):
        st.markdown(page.label("done"))


def _questions(page: Page) -> tuple[Asked, ...]:
    """The round's questions; worked out once for a run, a place, the settings and a round."""
    at = page.selection
    made_for = (page.session.request, page.run.token_ids, page.session.params, at, _round())
    kept = st.session_state.get(_MADE)
    if kept is None or kept[0] != made_for:
        scene = Scene(page.model, page.run, page.session.params, at.layer, at.head, at.position)
        kept = st.session_state[_MADE] = (made_for, questions(scene, _round()))
    found: tuple[Asked, ...] = kept[1]
    return found


def _topic() -> str:
    """Each round counts by itself, so that a question that comes up again is open again."""
    return f"{PAGE} {_round()}"


def _round() -> int:
    return int(st.session_state.get(_ROUND, 0))


def _go_to(number: int) -> None:
    """The number comes with the button, so that a second click on the same one goes no further."""
    st.session_state[_ROUND] = number
