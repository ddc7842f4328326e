"""The prompt bar at the top of every page: the text, Run, the examples, the model and how the text is
read."""

from __future__ import annotations

import streamlit as st

from core.ui import loading, models
from core.ui.choice_keys import key_showing
from core.ui.links import writable
from core.ui.presets import presets
from core.ui.state import Session
from core.ui.text import label

_PROMPT, _MODEL, _CHAT, _LITERAL, _LINES, _PRESET = (
    "nt_prompt",
    "nt_model",
    "nt_chat",
    "nt_literal",
    "nt_lines",
    "nt_preset",
)


def prompt_bar(session: Session) -> None:
    """Draw the bar. Whatever the learner changes becomes a new request of the session."""
    st.session_state[_PROMPT] = session.link.prompt
    row = st.container(key="nt_bar", horizontal=True, vertical_alignment="top", gap="small")
    with row:
        with st.form("nt_form", border=False, enter_to_submit=True):
            inner = st.container(key="nt_bar_form", horizontal=True, vertical_alignment="top", gap="small")
            with inner:
                _prompt_field(session)
                st.form_submit_button(
                    label("shell", "run"),
                    type="primary",
                    icon=":material/play_arrow:",
                    on_click=_run,
                    args=(session,),
                )
        st.menu_button(
            label("shell", "examples"),
            presets(),
            format_func=lambda preset: preset.label,
            key=_PRESET,
            on_click=_take_preset,
            args=(session,),
        )
        name = models.title(session.link.model)
        shown = label("shell", "with_chat", name=name) if session.link.chat else name
        with st.popover(shown, icon=":material/memory:", key="nt_model_menu"):
            _model_menu(session)


def _prompt_field(session: Session) -> None:
    if session.several_lines or "\n" in session.link.prompt:
        st.text_area(
            label("shell", "prompt"),
            key=_PROMPT,
            height=96,
            label_visibility="collapsed",
            placeholder=label("shell", "prompt_hint"),
        )
    else:
        st.text_input(
            label("shell", "prompt"),
            key=_PROMPT,
            label_visibility="collapsed",
            autocomplete="off",
            placeholder=label("shell", "prompt_hint"),
        )


def _model_menu(session: Session) -> None:
    names = models.offered(session.link.model, session.trained)
    model = key_showing(_MODEL, session.link.model)
    st.selectbox(
        label("shell", "model"),
        names,
        key=model,
        format_func=models.title,
        accept_new_options=True,
        on_change=_change_model,
        args=(session, session.link.model, model),
        help=label("shell", "model_help"),
    )
    chat = key_showing(_CHAT, session.link.chat)
    st.toggle(
        label("shell", "chat"),
        key=chat,
        on_change=_change_chat,
        args=(session, chat),
        help=label("shell", "chat_help"),
    )
    literal = key_showing(_LITERAL, session.link.literal)
    st.toggle(
        label("shell", "literal"),
        key=literal,
        on_change=_change_literal,
        args=(session, literal),
        help=label("shell", "literal_help"),
    )
    st.session_state[_LINES] = session.several_lines
    st.toggle(label("shell", "several_lines"), key=_LINES, on_change=_change_lines, args=(session,))


def _run(session: Session) -> None:
    session.ask(prompt=writable(st.session_state[_PROMPT]))


def _take_preset(session: Session) -> None:
    preset = st.session_state[_PRESET]
    if preset is not None:
        session.ask(prompt=preset.prompt, chat=preset.chat, literal=False)


def _change_model(session: Session, shown: str, key: str) -> None:
    name = str(st.session_state[key] or "").strip()
    if name and name != shown:
        loading.forget_failure(name)
        session.ask(model=name)


def _change_chat(session: Session, key: str) -> None:
    session.ask(chat=bool(st.session_state[key]))


def _change_literal(session: Session, key: str) -> None:
    session.ask(literal=bool(st.session_state[key]))


def _change_lines(session: Session) -> None:
    session.several_lines = bool(st.session_state[_LINES])
