"""The Tree page: what its component shows, what its events do to the run, and work that goes on in pieces.

Growing and searching run a few steps at a time: after each piece the browser paints the tree and asks for
more. So the tree is seen growing, a stop is heard at once, and leaving the page ends the work.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st

from core.components import tree as component
from core.components.tree import MAX_DEPTH, MAX_TOP_K, TreeEvent, read_event
from core.decoding.beam import BeamSettings, BeamStep, beam_search
from core.decoding.run import Run
from core.decoding.tree import Growth, Tree, grow
from core.engine.scheduler import BACKGROUND
from core.errors import UserError
from core.lessons import tree_view
from core.lessons.generate import name_of
from core.ui.page import Page
from core.ui.text import load

_KEY = "nt_tree_work"
PIECE_S = 0.7
PROMPT_TOKENS = 12
PROMPT_CHARACTERS = 12
TOLERANCE = 1e-6
WRITTEN = 4
_NUMBERS = itertools.count(1)


@dataclass
class Work:
    """What one learner does on one tree beside the run itself. ``steps``: of the beam search so far."""

    tree: Tree
    key: str = field(default_factory=lambda: str(next(_NUMBERS)))
    growing: Iterator[Growth] | None = None
    done: int = 0
    total: int = 0
    searching: Iterator[BeamStep] | None = None
    settings: BeamSettings | None = None
    steps: list[BeamStep] = field(default_factory=list)
    more: bool = False
    notice: str = ""

    @property
    def job(self) -> dict[str, Any] | None:
        """What is going on, for the progress bar."""
        if self.growing is not None:
            return {"kind": "grow", "done": self.done, "total": self.total}
        if self.searching is not None and self.settings is not None:
            return {"kind": "beam", "done": len(self.steps), "total": self.settings.max_tokens}
        return None

    def stop(self) -> None:
        """End what is going on; what is there stays."""
        self.growing = self.searching = None


def work_on(run: Run) -> Work:
    """This learner's work on the run's tree; another tree starts afresh."""
    work = st.session_state.get(_KEY)
    if not isinstance(work, Work) or work.tree is not run.tree:
        work = st.session_state[_KEY] = Work(run.tree)
    return work


def live(page: Page) -> None:
    """Everything that moves: the tree, the path's numbers, the check."""
    now = Page("tree", page.session, page.model)
    run, work = now.run, work_on(now.run)
    if work.more:
        work.more = False
        piece(work)
    now.grid()
    component.tree(message(now, work), on_event(now))
    now.sync_link()
    sums = tree_view.path_sums(run.node)
    if sums.probabilities:
        now.formula(
            "path", steps=sums.probabilities[:WRITTEN], total=sums.stored, chance=_chance(sums.stored)
        )
        if len(sums.probabilities) > WRITTEN:
            st.caption(now.label("formula_some", count=len(sums.probabilities)))
    now.tensor("lm_head", (now.model.shape.vocab_size,), now.model.shape.dtype)
    now.check("check_path", sums.error, TOLERANCE)
    if work.settings is not None and work.steps:
        now.check("check_beams", tree_view.beam_error(work.steps, work.settings), TOLERANCE)


def message(page: Page, work: Work) -> dict[str, Any]:
    """The component's message for the run's present place."""
    run, codec = page.run, page.model.codec
    room = _room(page)
    steps = [tree_view.beam_view(step, codec) for step in work.steps]
    return component.header(
        tree_key=work.key,
        prompt=prompt_end([name_of(codec, token_id) for token_id in run.prompt_ids[-PROMPT_TOKENS:]]),
        nodes=tree_view.rows(run.tree, codec, codec.eos_ids),
        path=tree_view.path_numbers(run),
        cursor=run.node.number,
        log_probability=run.node.cumulative_log_probability,
        near=tree_view.candidates(run.node, codec),
        deepest={k: min(MAX_DEPTH, tree_view.deepest(k, room)) for k in range(1, MAX_TOP_K + 1)},
        job=work.job,
        beams=None if work.settings is None else (steps, work.settings),
        stop=run.stop_reason,
        notice=work.notice,
        labels=load("tree").labels,
    )


def prompt_end(texts: list[str]) -> str:
    """The last tokens of the prompt that fit into a node, one at least."""
    shown = texts[-1]
    for text in reversed(texts[:-1]):
        if len(text) + len(shown) > PROMPT_CHARACTERS:
            return "…" + shown
        shown = text + shown
    return shown


def _room(page: Page) -> int:
    """How many tokens may still follow the run's place: its token limit and the model's context."""
    run = page.run
    rooms = [run.rules.max_tokens, (run.rules.max_positions or 0) - len(run.prompt_ids) or None]
    return max(0, min((room for room in rooms if room is not None), default=MAX_DEPTH) - run.cursor)


def on_event(page: Page) -> Any:
    """The handler of the component's event ``act``; runs before the fragment is drawn again."""

    def handle(payload: Any) -> None:
        event, run = read_event(payload), page.session.run
        if event is None or run is None:
            return
        work = work_on(run)
        work.notice = ""
        try:
            apply(page, run, work, event)
        except UserError as error:
            work.notice = f"{error.what} {error.todo}"

    return handle


def apply(page: Page, run: Run, work: Work, event: TreeEvent) -> None:
    """Carry an event out. Raises UserError when the run cannot go where it is asked to."""
    if event.kind == "more":
        work.more = work.job is not None
    elif event.kind == "stop":
        work.stop()
    elif event.kind == "clear":
        work.stop()
        work.settings, work.steps = None, []
    elif event.kind == "grow":
        _start_growing(page, work, event)
    elif event.kind == "beam" and event.beams is not None:
        _start_beams(page, work, event.beams)
    else:
        _move(page, run, event)


def _move(page: Page, run: Run, event: TreeEvent) -> None:
    node = run.tree.numbered(event.node)
    run.limit(page.session.link.tokens)
    run.params = page.session.params
    if event.kind == "next":
        run.next()
    elif node is not None:
        if node is not run.node:
            run.follow(node.token_ids())
        if event.kind == "take":
            run.next(force=event.value)
    page.session.follow_newest()


def _start_growing(page: Page, work: Work, event: TreeEvent) -> None:
    start = work.tree.numbered(event.node)
    depth = min(event.depth, tree_view.deepest(event.top_k, _room(page)))
    if start is None or depth < 1:
        return
    work.stop()
    work.done, work.total = 0, tree_view.growth_size(event.top_k, depth)
    end_ids = frozenset(page.model.codec.eos_ids)
    work.growing = grow(work.tree, start, event.top_k, depth, end_ids, step=_quietly(page.model))
    work.more = True


def _start_beams(page: Page, work: Work, asked: BeamSettings) -> None:
    work.stop()
    end_ids = frozenset(page.model.codec.eos_ids)
    tokens = min(asked.max_tokens, _from_prompt(page))
    work.settings = BeamSettings(asked.width, tokens, asked.rule, asked.length_penalty, end_ids)
    work.steps = []
    work.searching = beam_search(work.tree, work.settings, _quietly(page.model))
    work.more = True


def _from_prompt(page: Page) -> int:
    """Tokens that may follow the prompt before the context is full."""
    return max(1, (page.model.shape.max_positions or 2**31) - len(page.run.prompt_ids))


def _quietly(model: Any) -> Any:
    """The model's step behind those of everybody who waits for a click."""
    return partial(model.step, priority=BACKGROUND)


def piece(work: Work) -> None:
    """Work on for about so long: one node or one beam step at least, all that fits at most."""
    ends = time.monotonic() + PIECE_S
    try:
        while work.job is not None:
            _one(work)
            if time.monotonic() >= ends:
                return
    except UserError as error:
        work.stop()
        work.notice = f"{error.what} {error.todo}"


def _one(work: Work) -> None:
    if work.growing is not None:
        growth = next(work.growing, None)
        if growth is None:
            work.growing = None
        else:
            work.done, work.total = growth.done, growth.total
    elif work.searching is not None:
        step = next(work.searching, None)
        if step is not None:
            work.steps.append(step)
        if step is None or step.last:
            work.searching = None


def _chance(log_probability: float) -> float:
    return math.exp(log_probability)
