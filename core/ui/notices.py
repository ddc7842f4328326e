"""Calm notices: what happened, what to do about it, and nothing lost."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.errors import UserError
from core.ui.state import Session
from core.ui.text import label, literal


def quiet_line(session: Session, place: Any) -> None:
    """One quiet line when the address held values that could not be used."""
    if session.refused:
        names = ", ".join(dict.fromkeys(session.refused))
        place.caption(f":material/link_off: {label('shell', 'link_refused', names=names)}")


def user_error(error: UserError) -> None:
    """An error that the reader can mend, in two plain sentences."""
    st.warning(f"**{literal(error.what)}**  \n{literal(error.todo)}", icon=":material/info:")


def our_error() -> None:
    """An error that is ours; the log has the details."""
    st.error(
        f"**{label('shell', 'crash_what')}**  \n{label('shell', 'crash_todo')}", icon=":material/healing:"
    )


def special_tokens(session: Session, found: tuple[str, ...]) -> None:
    """The typed text holds control tokens: say which, and offer to read them as plain text."""
    names = " ".join(f"`{name.replace('`', '')}`" for name in found)
    with st.container(key="nt_specials", horizontal=True, vertical_alignment="center", gap="small"):
        if session.link.literal:
            st.markdown(f":material/abc: {label('shell', 'specials_plain', names=names)}", width="stretch")
            st.button(
                label("shell", "specials_use"),
                on_click=_literal,
                args=(session, False),
                key="nt_specials_use",
            )
        else:
            st.markdown(
                f":material/warning: {label('shell', 'specials_typed', names=names)}", width="stretch"
            )
            st.button(
                label("shell", "specials_make"),
                on_click=_literal,
                args=(session, True),
                key="nt_specials_make",
            )


def _literal(session: Session, value: bool) -> None:
    session.ask(literal=value)
