"""The What-if page: the swap in the address, two branches that grow in pieces, ready-made experiments.

The address says the swap (``swap=<tokens before it>:<ids of A>:<ids of B>``, ids joined by ``-``) and how far
both texts go (``length``), so back, forward and a shared link find the same comparison.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.components import what_if as component
from core.components.what_if import WhatIfEvent, read_event
from core.decoding.run import Run
from core.decoding.sampling import softmax, top_ids
from core.errors import UserError
from core.lessons import what_if as lesson
from core.lessons.generate import name_of
from core.lessons.what_if import LN2, Comparison, LaneToken, Swap
from core.ui import links, state
from core.ui.page import Page
from core.ui.state import Session
from core.ui.text import label, load

_KEY = "nt_what_if_work"
SWAP, LENGTH = "swap", "length"
LENGTHS = (16, 32, 48, 64)
FIRST_TEXT = 16
CANDIDATES = 8
PROMPT_TOKENS = 12
MAX_OPENING = 24
PIECE_S = 0.7
TOLERANCE = 1e-6


@dataclass
class Work:
    """One learner's comparison. ``written``: what the address said when it was last read or written."""

    swap: Swap | None = None
    length: int = LENGTHS[0]
    at: int | None = None
    pair: tuple[Run, Run] | None = None
    pair_of: tuple[Any, ...] = ()
    stopped: bool = False
    more: bool = False
    filling: int = 0
    written: dict[str, str] | None = None
    notice: str = ""
    pending: tuple[str, str] | None = None

    def take(self, swap: Swap | None) -> None:
        """Another comparison, from its beginning."""
        self.swap, self.length, self.stopped, self.more = swap, LENGTHS[0], False, True
        self.at = swap.at if swap else None
        self.pair, self.pair_of = None, ()


def work() -> Work:
    """This learner's comparison, made at the first call."""
    found = st.session_state.get(_KEY)
    if not isinstance(found, Work):
        found = st.session_state[_KEY] = Work()
    return found


# -- the address -------------------------------------------------------------------------------------


def parse_swap(text: str) -> Swap | None:
    """``3:7042:512-9`` as a swap; None for anything else."""
    if not re.fullmatch(r"\d{1,4}:\d{1,7}(-\d{1,7}){0,23}:\d{1,7}(-\d{1,7}){0,23}", text, flags=re.ASCII):
        return None
    at, a, b = text.split(":")
    return Swap(int(at), tuple(map(int, a.split("-"))), tuple(map(int, b.split("-"))))


def format_swap(swap: Swap) -> str:
    """What ``parse_swap`` reads."""
    return ":".join([str(swap.at), *("-".join(map(str, ids)) for ids in (swap.a, swap.b))])


def read_address(current: Work) -> None:
    """Take the swap of the address when it is news: a link, or back and forward in the browser.

    Coming from another page the address says nothing; the learner's comparison then stays.
    """
    query = {name: st.query_params[name] for name in (SWAP, LENGTH) if name in st.query_params}
    arrived = component.KEY not in st.session_state
    if query == current.written or (arrived and not query):
        return
    swap = parse_swap(query.get(SWAP, ""))
    if swap != current.swap:
        current.take(swap)
    length = query.get(LENGTH, "")
    current.length = int(length) if length in map(str, LENGTHS) else LENGTHS[0]
    current.more = swap is not None
    refused = {SWAP: swap is None, LENGTH: length not in map(str, LENGTHS)}
    current.notice = _refused([name for name in query if refused[name]])


def _refused(names: Sequence[str]) -> str:
    return label("shell", "link_refused", names=", ".join(names)) if names else ""


def write_address(current: Work, session: Session) -> None:
    """Make the address say this comparison and the run's place, in one step of the browser's history."""
    own: dict[str, str] = {}
    if current.swap:
        own[SWAP] = format_swap(current.swap)
        if current.length != LENGTHS[0]:
            own[LENGTH] = str(current.length)
    session.link = state.with_run(session.link, session.run)
    link = links.format_link(session.link)
    before = st.query_params.to_dict()
    others = {n: v for n, v in before.items() if n not in (*links.NAMES, SWAP, LENGTH)}
    if before != others | link | own:
        st.query_params.from_dict(others | link | own)
    session.written, session.known, current.written = link, link, own


# -- the page ----------------------------------------------------------------------------------------


def show(page: Page) -> None:
    """Both texts, in a fragment that grows them piece by piece.

    The address is read here and not in the fragment: back and forward draw the whole page, while an event of
    the component may still carry the address from before the last one was written.
    """
    read_address(work())
    st.fragment(live)(page)


def live(page: Page) -> None:
    """Everything that moves: the swap, both texts, their numbers, the check."""
    now, current = Page("what_if", page.session, page.model), work()
    now.run.limit(now.session.link.tokens)
    _open_pending(now, current)
    pair = _pair(now, current)
    if current.more:
        current.more = False
        _guarded(current, lambda: _piece(now, current, pair))
    now.grid()
    found = lesson.compare(*pair, current.swap, now.model.codec) if pair and current.swap else None
    component.what_if(_message(now, current, pair, found), _handler(now))
    write_address(current, now.session)
    if found and pair:
        _numbers(now, found, pair)


def _numbers(page: Page, found: Comparison, pair: tuple[Run, Run]) -> None:
    """The formula with the place where the branches differ most, and the check."""
    worst = max(found.places, key=lambda place: place.kl)
    if worst.kl > 0:
        page.formula("kl", kl=worst.kl, place=found.places.index(worst) + 1)
    page.tensor("lm_head", (page.model.shape.vocab_size,), page.model.shape.dtype)
    page.check("check_branches", branch_error(pair), TOLERANCE)


def branch_error(pair: tuple[Run, Run]) -> float:
    """Largest difference between the records' log-probabilities, summed, and those of the tree's nodes."""
    return max(
        abs(
            math.fsum(math.log(max(r.model_probability, 5e-324)) for r in run.steps[: run.cursor])
            - run.node.cumulative_log_probability
        )
        for run in pair
    )


def _open_pending(page: Page, current: Work) -> None:
    """A ready-made experiment: its two openings as tokens of this model, after the prompt."""
    if current.pending is None:
        return
    (first, second), current.pending = current.pending, None
    ids = [page.model.codec.encode(text, specials_as_text=True)[:MAX_OPENING] for text in (first, second)]
    if all(ids):
        current.take(Swap(0, tuple(ids[0]), tuple(ids[1])))


def _pair(page: Page, current: Work) -> tuple[Run, Run] | None:
    """The two branches, kept while nothing that they come from changes; None without a swap that fits."""
    swap, run = current.swap, page.run
    if swap is None:
        return None
    size = page.model.shape.vocab_size
    if swap.at > len(run.steps) or max(*swap.a, *swap.b) >= size:
        current.take(None)
        current.notice = _refused([SWAP])
        return None
    params, before = page.session.params, tuple(r.token_id for r in run.steps[: swap.at])
    made_of: tuple[Any, ...] = (id(run.tree), before, swap, params)
    if current.pair is None or current.pair_of != made_of or current.pair[0].tree is not run.tree:
        current.pair, current.pair_of, current.stopped, current.more = None, made_of, False, True
        _guarded(current, lambda: setattr(current, "pair", lesson.branches(run, swap, params)))
    return current.pair


def _guarded(current: Work, do: Any) -> None:
    try:
        do()
    except UserError as error:
        current.stopped, current.filling = True, 0
        current.notice = f"{error.what} {error.todo}"


def _piece(page: Page, current: Work, pair: tuple[Run, Run] | None) -> None:
    """Go on for a moment: the run's first text, or the branch that is behind."""
    ends = time.monotonic() + PIECE_S
    while time.monotonic() < ends:
        if current.filling:
            run = page.run
            run.jump(len(run.steps))
            if len(run.steps) >= current.filling or run.stop_reason:
                current.filling = 0
                return
            run.next(page.session.params)
        elif current.stopped or not pair or not current.swap:
            return
        elif not lesson.advance(*pair, current.swap, current.length):
            current.stopped = True


def _job(current: Work, page: Page, pair: tuple[Run, Run] | None) -> tuple[int, int] | None:
    """(done, total) tokens of what is going on."""
    if current.filling:
        return len(page.run.steps), current.filling
    if pair and current.swap and not current.stopped:
        openings = (len(current.swap.a), len(current.swap.b))
        done = sum(run.cursor - current.swap.at - given for run, given in zip(pair, openings, strict=True))
        return done, 2 * current.length
    return None


def _message(
    page: Page, current: Work, pair: tuple[Run, Run] | None, found: Comparison | None
) -> dict[str, Any]:
    run, codec = page.run, page.model.codec
    made = [
        LaneToken(r.token_id, name_of(codec, r.token_id), r.model_probability, r.model_entropy / LN2, False)
        for r in run.steps
    ]
    at = current.at if current.at is not None and current.at < len(run.steps) else None
    ids = run.prompt_ids[-PROMPT_TOKENS:]
    cut = "… " if len(run.prompt_ids) > PROMPT_TOKENS else ""
    return component.header(
        prompt=cut + "".join(name_of(codec, token_id) for token_id in ids),
        made=made,
        at=at,
        candidates=[] if at is None else _candidates(run, at, codec),
        found=found,
        stops=(pair[0].stop_reason, pair[1].stop_reason) if pair else (None, None),
        job=_job(current, page, pair),
        notice=current.notice,
        labels=load("what_if").labels,
    )


def _candidates(run: Run, at: int, codec: Any) -> list[tuple[int, str, float]]:
    """The likeliest tokens at a place of the run, the one that stands there left out."""
    node = run.tree.find([record.token_id for record in run.steps[:at]])
    if node is None:
        return []
    probabilities = softmax(node.engine_pass.logits)
    ids = [int(i) for i in top_ids(probabilities, CANDIDATES + 1) if int(i) != run.steps[at].token_id]
    return [(i, name_of(codec, i), float(probabilities[i])) for i in ids[:CANDIDATES]]


def _handler(page: Page) -> Any:
    def handle(payload: Any) -> None:
        event, run = read_event(payload), page.session.run
        if event is None or run is None:
            return
        current = work()
        if event.kind != "more":
            current.notice = ""
        _guarded(current, lambda: apply(page, run, current, event))

    return handle


def apply(page: Page, run: Run, current: Work, event: WhatIfEvent) -> None:
    """Carry an event out. Raises UserError when it cannot be."""
    if event.kind == "at" and event.value < len(run.steps):
        current.at = event.value
    elif event.kind == "swap":
        _swap(run, current, event.value)
    elif event.kind == "type":
        _typed(page, run, current, event.text)
    elif event.kind == "more":
        current.more = True
    elif event.kind == "stop":
        current.stopped, current.filling = True, 0
    elif event.kind == "longer":
        current.length = next((n for n in LENGTHS if n > current.length), LENGTHS[-1])
        current.stopped, current.more = False, True
    elif event.kind == "generate":
        current.filling = min(len(run.steps) + FIRST_TEXT, page.session.link.tokens)
        current.more = True
    elif event.kind == "clear":
        current.take(None)
    elif event.kind == "keep" and current.pair:
        _keep(page, run, current.pair[1])
        current.take(None)


def _swap(run: Run, current: Work, token_id: int) -> None:
    if current.at is not None and current.at < len(run.steps):
        current.take(Swap(current.at, (run.steps[current.at].token_id,), (token_id,)))


def _typed(page: Page, run: Run, current: Work, text: str) -> None:
    """A typed token: the text's first token is used, and the page says so where there are more."""
    codec = page.model.codec
    ids = codec.encode(text, specials_as_text=True)
    if not ids:
        raise UserError(page.label("typed_nothing"), page.label("typed_todo"))
    if len(ids) > 1:
        first = name_of(codec, ids[0]).replace(" ", "·").replace("\n", "↵")
        current.notice = page.label("typed_cut", count=len(ids), token=first)
    _swap(run, current, ids[0])


def _keep(page: Page, run: Run, branch: Run) -> None:
    """Branch B becomes the learner's run, on all pages, as far as the run may go."""
    run.params = page.session.params
    limit = run.rules.max_tokens
    run.follow(branch.generated_ids if limit is None else branch.generated_ids[:limit])
    page.session.follow_newest()
