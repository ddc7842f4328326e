"""The Targets page, first half: a text scored row by row on its shifted targets.

The text is the run's own or one typed here; the latter stands in the address as ``text=``, the switch for
special tokens as ``specials=1``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core.charts import targets as charts
from core.charts.labels import number, visible
from core.components.targets import ROWS_KEY, read_whole, target_rows
from core.errors import UserError
from core.lessons import targets as lesson
from core.lessons.generate import name_of, texts_of
from core.lessons.targets import Kind, Scores, Summary
from core.ui import links, notices, runs, state
from core.ui.page import Page
from core.ui.state import Session
from core.ui.text import literal, load

TEXT, QUERY = "nt_targets_text", "text"
SPECIALS_QUERY = "specials"
OWN_QUERY = (QUERY, SPECIALS_QUERY)
SPECIALS = "nt_targets_specials"
_OF, _WRITTEN, _PASS, _ROW = "nt_targets_of", "nt_targets_written", "nt_targets_pass", "nt_targets_row"
MAX_CHARACTERS, MAX_TOKENS = 4000, 512
SLOW_ROWS = 64
"""A text of more rows than this shows a progress bar while it is scored."""
USUAL_ROW = 9
TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Text:
    """What the page scores. ``texts`` join to the text, ``tokens`` name each one; ``own``: typed here."""

    trace: Any
    texts: list[str]
    tokens: list[str]
    kinds: list[Kind]
    own: bool

    @property
    def ids(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.trace.token_ids
        return found

    @property
    def first_text(self) -> int:
        """Position of the first token that is neither a control token nor the template's."""
        return next((at for at, kind in enumerate(self.kinds) if kind == "text"), 0)

    def fingerprint(self, model: str) -> str:
        """Tells texts apart, for what is kept between two runs of the page."""
        return f"{model} {int(self.own)} {hash(self.ids):x}"


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("targets").labels


# -- the text ----------------------------------------------------------------------------------------


def text_section(page: Page) -> Text:
    """The field for another text, and what is scored: that text, or the run's while the field is empty."""
    _read_address(page)
    with st.expander(page.label("own_title"), expanded=bool(st.session_state.get(TEXT))):
        typed = st.text_area(
            page.label("own_text"),
            key=TEXT,
            height=90,
            max_chars=MAX_CHARACTERS,
            placeholder=page.label("own_hint"),
            persist_state="session",
        )
    if typed and typed.strip():
        try:
            return _own_text(page, typed)
        except UserError as error:
            notices.user_error(error)
    return _run_text(page)


def _read_address(page: Page) -> None:
    """A new request puts the run's text back; what the address says is taken when it is news.

    Coming from another page the address says nothing; the learner's own choices then stay.
    """
    asked, arrived = page.session.request, ROWS_KEY not in st.session_state
    query = {name: st.query_params[name] for name in OWN_QUERY if name in st.query_params}
    if query != st.session_state.get(_WRITTEN, {}) and (query or not arrived):
        st.session_state[TEXT] = query.get(QUERY, "")[:MAX_CHARACTERS]
        st.session_state[SPECIALS] = query.get(SPECIALS_QUERY) == "1"
    elif st.session_state.get(_OF, asked) != asked:
        st.session_state[TEXT] = ""
    st.session_state[_OF] = asked


def _write_address(session: Session) -> None:
    """Make the address say this text, the switch and the run's place: one step of the browser's history."""
    own: dict[str, str] = {}
    if st.session_state.get(TEXT):
        own[QUERY] = st.session_state[TEXT]
    if st.session_state.get(SPECIALS):
        own[SPECIALS_QUERY] = "1"
    session.link = state.with_run(session.link, session.run)
    link = links.format_link(session.link)
    before = st.query_params.to_dict()
    others = {name: value for name, value in before.items() if name not in (*links.NAMES, *OWN_QUERY)}
    if before != others | link | own:
        st.query_params.from_dict(others | link | own)
    session.written, st.session_state[_WRITTEN] = link, own


def _own_text(page: Page, typed: str) -> Text:
    model = page.model
    ids = tuple(model.codec.encode(typed, specials_as_text=page.session.link.literal))
    limit = min(runs.prompt_limit(model.shape), MAX_TOKENS)
    if len(ids) > limit:
        what = page.label("own_long", count=f"{len(ids):,}", limit=f"{limit:,}")
        raise UserError(what, page.label("own_long_todo"))
    kept = st.session_state.get(_PASS)
    if kept is None or kept[:2] != (model.name, ids):
        kept = st.session_state[_PASS] = (model.name, ids, model.prefill(ids))
    st.caption(page.label("own_badge", count=len(ids)))
    return _text(model, model.trace(kept[2]), lesson.kinds(model.codec.pieces(ids)), own=True)


def _run_text(page: Page) -> Text:
    st.session_state.pop(_PASS, None)
    codec, link, trace = page.model.codec, page.session.link, page.trace
    message = codec.message_span(link.prompt) if link.chat and codec.has_chat_template else None
    kinds = lesson.kinds(codec.pieces(trace.token_ids), len(page.run.prompt_ids), message)
    st.caption(page.label("run_badge", count=trace.n_positions))
    return _text(page.model, trace, kinds, own=False)


def _text(model: Any, trace: Any, kinds: list[Kind], own: bool) -> Text:
    texts = [piece.text for piece in model.codec.pieces(trace.token_ids)]
    return Text(trace, texts, texts_of(model.codec, trace.token_ids), kinds, own)


# -- the rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scored:
    """A scored text. ``end_id``: the token that the last row is scored on, None when it has no target."""

    text: Text
    scores: Scores
    counts: np.ndarray
    end_id: int | None

    @property
    def target_ids(self) -> tuple[int, ...]:
        """The text's tokens, and the end where it is scored."""
        return self.text.ids if self.end_id is None else (*self.text.ids, self.end_id)

    @property
    def summary(self) -> Summary:
        return lesson.summary(self.scores, self.counts)


def rows_section(page: Page, text: Text) -> Scored | None:
    """All rows with their mask and what counts; None, with a notice, for a text of one token."""
    if len(text.ids) < 2:
        _write_address(page.session)
        st.info(page.label("needs_two"))
        return None
    specials = st.toggle(page.label("specials"), key=SPECIALS, persist_state="session")
    _write_address(page.session)
    found = _scored(page, text, bool(specials))
    _summary_lines(page, found)
    codec = page.model.codec
    target_rows(
        found.scores,
        found.counts,
        text.tokens,
        text.texts,
        text.kinds,
        {int(token): name_of(codec, int(token)) for token in np.unique(found.scores.favourites)},
        end=None if found.end_id is None else name_of(codec, found.end_id),
        position=chosen_row(page, found),
        text_id=text.fingerprint(page.model.name),
        labels=labels(),
        on_choose=lambda payload: _choose(page, text, payload),
    )
    return found


def _scored(page: Page, text: Text, specials: bool) -> Scored:
    scores = _with_progress(page, text)
    counts, end_id = lesson.counted(text.kinds, specials), None
    ends = page.model.codec.eos_ids
    if specials and ends and ends[0] < page.model.shape.vocab_size:
        end_id = int(ends[0])
        scores = lesson.joined([scores, lesson.ending(text.trace, end_id)])
        counts = np.append(counts, True)
    return Scored(text, scores, counts, end_id)


def _with_progress(page: Page, text: Text) -> Scores:
    if len(text.ids) <= SLOW_ROWS:
        return lesson.score(page.model, text.trace)
    place = st.empty()

    def say(done: int, total: int) -> None:
        place.progress(done / total, page.label("scoring", done=done, total=total))

    scores = lesson.score(page.model, text.trace, say)
    place.empty()
    return scores


def _summary_lines(page: Page, found: Scored) -> None:
    total = found.summary
    if total.count:
        hits = int((found.scores.ranks[found.counts] == 1).sum())
        values = {name: number(getattr(total, name)) for name in ("mean", "bits", "perplexity")}
        st.markdown(page.label("summary", count=f"{total.count:,}", hits=f"{hits:,}", **values))
    else:
        st.markdown(page.label("summary_none"))
    text = found.text
    first = literal(visible(text.tokens[0]))
    lines = [
        page.label("counted", count=int(found.counts.sum()), total=found.counts.size),
        page.label("never", token=first),
    ]
    for kind in ("control", "template"):
        left = sum(k == kind and not c for k, c in zip(text.kinds[1:], found.counts, strict=False))
        if left:
            lines.append(page.label(f"left_{kind}", count=left))
    if found.end_id is None:
        lines.append(page.label("end_out"))
    else:
        lines.append(page.label("end_in", token=literal(name_of(page.model.codec, found.end_id))))
    st.caption(" ".join(lines))


def chosen_row(page: Page, found: Scored) -> int:
    """The lit row: the shared position, or one chosen in the typed text; else one that is in sight."""
    text, last = found.text, len(found.text.ids) - 1
    usual = min(USUAL_ROW, len(found.scores) - 1)
    if not text.own:
        return usual if page.session.link.position is None else page.selection.position
    of, row = st.session_state.get(_ROW, ("", usual))
    return min(row, last) if of == text.fingerprint(page.model.name) else usual


def _choose(page: Page, text: Text, payload: Any) -> None:
    position = read_whole(payload, "position")
    if position is None or position >= len(text.ids):
        return
    if text.own:
        st.session_state[_ROW] = (text.fingerprint(page.model.name), position)
    else:
        page.select(position=position)


# -- the numbers -------------------------------------------------------------------------------------


def numbers_section(page: Page, found: Scored) -> None:
    """The chart, the formulas with this row's and this text's numbers, the tensor, and the check."""
    text, scores, total = found.text, found.scores, found.summary
    targets = [*text.tokens[1:], *([] if found.end_id is None else [name_of(page.model.codec, found.end_id)])]
    st.markdown(page.label("chart"))
    figure = charts.losses(scores.losses, found.counts, targets, total.mean, labels(), page.theme)
    page.figure(figure, "losses", page.label("chart_alt"), csv=_table(page, found, targets), height=280)
    page.section("loss")
    row = chosen_row(page, found)
    if row < len(scores):
        loss = float(scores.losses[row])
        page.formula("loss", p=float(scores.probabilities[row]), loss=loss, bits=loss / np.log(2))
    if total.count:
        page.formula(
            "mean", count=total.count, total=total.total, mean=total.mean, perplexity=total.perplexity
        )
    page.tensor(
        page.label("tensor_logits"), (len(text.ids), page.model.shape.vocab_size), page.model.shape.dtype
    )
    checked = lesson.library_error(page.model, text.trace, found.target_ids, scores, found.counts)
    if checked is not None:
        page.check("check_loss", checked[0], TOLERANCE)
        if checked[1] < len(found.target_ids):
            st.caption(page.label("check_part", count=checked[1]))


def _table(page: Page, found: Scored, targets: list[str]) -> tuple[list[str], list[list[Any]]]:
    names = ["row", "token", "target", "p_target", "rank", "loss_nats", "scored", "favourite", "p_favourite"]
    scores, codec = found.scores, page.model.codec
    rows = [
        [
            at,
            found.text.tokens[at],
            target,
            float(scores.probabilities[at]),
            int(scores.ranks[at]),
            float(scores.losses[at]),
            bool(found.counts[at]),
            name_of(codec, int(scores.favourites[at])),
            float(scores.favourite_p[at]),
        ]
        for at, target in enumerate(targets)
    ]
    return names, rows
