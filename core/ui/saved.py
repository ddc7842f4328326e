"""Saving a run or a tree to a file, and opening one: what it asks of the model is shown as it goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from core.decoding.run import Run
from core.decoding.saved import from_text, open_saved, read_asked, run_to_json, tree_to_json
from core.errors import UserError
from core.ui import notices, runs, state
from core.ui.links import DEFAULT_TOKEN_LIMIT, MAX_TOKEN_LIMIT, Link
from core.ui.page import Page
from core.ui.text import label

MAX_BYTES = 1_000_000
_TEXT = "tree"
_ROUND, _OPENED, _REFUSED = "nt_saved_round", "nt_saved_opened", "nt_saved_refused"


def save_buttons(page: Page) -> None:
    """Two downloads; what they hold is written when they are pressed."""
    with st.container(horizontal=True, gap="small"):
        _download("save_run", "run", lambda: run_text(page))
        _download("save_tree", "tree", lambda: tree_text(page))


def run_text(page: Page) -> str:
    """The learner's run as a file."""
    return json.dumps(run_to_json(page.run, page.model, asked_of(page.session.link)), ensure_ascii=False)


def tree_text(page: Page) -> str:
    """The whole tree, with the run's place in it, as a file."""
    data = tree_to_json(page.run.tree, page.model, asked_of(page.session.link), page.run)
    return json.dumps(data, ensure_ascii=False)


def asked_of(link: Link) -> dict[str, Any]:
    """How the link asks for its prompt."""
    return {"prompt": link.prompt, "chat": link.chat, "literal": link.literal}


def _download(name: str, kind: str, text: Callable[[], str]) -> None:
    st.download_button(
        label(_TEXT, name),
        data=text,
        file_name=f"next-token-{kind}.json",
        mime="application/json",
        on_click="ignore",
        icon=":material/download:",
        key=f"nt_{name}",
    )


def open_box(page: Page) -> None:
    """Where a file is dropped; opening it replaces the run, on this page and on all others."""
    number = st.session_state.setdefault(_ROUND, 0)
    file = st.file_uploader(
        label(_TEXT, "open_file"),
        type=["json"],
        help=label(_TEXT, "open_help"),
        key=f"nt_open_file_{number}",
    )
    if file is None:
        return
    st.session_state[_ROUND] = number + 1  # an empty box again, whatever comes of the file
    try:
        if file.size > MAX_BYTES:
            raise UserError(label(_TEXT, "too_big_what"), label(_TEXT, "too_big_todo"))
        with _Progress() as progress:
            open_text(page, file.getvalue(), progress)
        st.session_state[_OPENED] = True
    except UserError as error:
        st.session_state[_REFUSED] = error
    state.rerun()


def show_opened(page: Page) -> None:
    """One line about the file that was just opened, or why not."""
    refused = st.session_state.pop(_REFUSED, None)
    if isinstance(refused, UserError):
        notices.user_error(refused)
    if st.session_state.pop(_OPENED, False):
        run = page.run
        st.success(
            label(_TEXT, "opened", count=run.tree.steps_computed, step=run.cursor),
            icon=":material/check:",
        )


def open_text(page: Page, text: bytes, progress: Callable[[int, int], object]) -> None:
    """Make the run in a file the learner's own. Raises UserError; the run at hand then stays."""
    data = from_text(text)
    run = open_saved(data, page.model, progress)
    session = page.session
    link = link_for(page.model, run, read_asked(data), session.link)
    session.drop_run()
    session.kept_tree = None
    session.link, session.refused = link, ()
    session.run, session.run_of = run, session.request


def link_for(model: Any, run: Run, asked: dict[str, Any] | None, link: Link) -> Link:
    """The link that asks for the run's prompt, under its settings. Raises UserError when there is none."""
    text = model.codec.decode(list(run.prompt_ids))
    plain = [{"prompt": text, "chat": False, "literal": literal} for literal in (False, True)]
    for wish in [asked] if asked else plain:
        found = replace(link, **wish, step=0, ahead=0, taken=(), position=None).with_params(run.params)
        if runs.tokens_of(model.codec, model.shape, found).ids == run.prompt_ids:
            limit = run.rules.max_tokens or max(DEFAULT_TOKEN_LIMIT, len(run.steps))
            run.limit(min(limit, MAX_TOKEN_LIMIT))
            return replace(found, tokens=min(limit, MAX_TOKEN_LIMIT))
    raise UserError(label(_TEXT, "other_prompt_what"), label(_TEXT, "other_prompt_todo"))


class _Progress:
    """A bar while the model computes a file's tokens; gone afterwards."""

    def __enter__(self) -> Callable[[int, int], object]:
        self._place = st.empty()
        return self._show

    def __exit__(self, *_exc: object) -> None:
        self._place.empty()

    def _show(self, done: int, total: int) -> None:
        self._place.progress(done / total, label(_TEXT, "opening", done=done, total=total))
