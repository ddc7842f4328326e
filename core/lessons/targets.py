"""What the Targets page shows: every position of a text scored on the token after it, all from one pass.

Position t has seen tokens 0…t; its target is token t + 1. Its loss is −ln p(target), in nats, over the
whole vocabulary (cross-entropy with one right answer). The last position has no target; the first token is
never one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from weakref import WeakKeyDictionary

import numpy as np

from core.decoding.sampling import rank_of
from core.engine import reference
from core.errors import UserError

Kind = Literal["text", "control", "template"]

IGNORED = -100
"""The label that torch's cross-entropy leaves out (``ignore_index``)."""
BLOCK_LOGITS = 1_500_000
"""Logits (rows times vocabulary) that are held at a time; of each row only a few numbers are kept."""
CHECK_TOKENS = 128
CHECK_LOGITS = 16_000_000
"""The library's own loss holds all its logits at once; a longer text is checked on its beginning."""

Progress = Callable[[int, int], object]


@dataclass(frozen=True, eq=False)
class Scores:
    """What is kept of n rows of logits. All arrays (n,).

    ``log_p``: ln p of the target. ``ranks``: 1 = the target was the favourite. ``favourite_p``: p(favourite).
    """

    targets: np.ndarray
    log_p: np.ndarray
    ranks: np.ndarray
    favourites: np.ndarray
    favourite_p: np.ndarray

    def __len__(self) -> int:
        return self.targets.size

    @property
    def losses(self) -> np.ndarray:
        """−ln p(target), nats."""
        return -self.log_p

    @property
    def probabilities(self) -> np.ndarray:
        """p(target)."""
        return np.exp(self.log_p)


@dataclass(frozen=True)
class Summary:
    """``mean`` loss in nats over ``count`` scored targets; NaN without any."""

    count: int
    total: float

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else math.nan

    @property
    def bits(self) -> float:
        """Mean loss in bits."""
        return self.mean / math.log(2)

    @property
    def perplexity(self) -> float:
        """e to the power of the mean loss: as unsure as a fair choice among this many tokens."""
        return math.exp(min(self.mean, 700.0)) if self.count else math.nan


def reduced(logits: np.ndarray, targets: Sequence[int]) -> Scores:
    """(n, V) logits and their n targets to a few numbers a row; the softmax is over all V, in float64."""
    ids = np.asarray(targets, dtype=np.int64)
    rows = np.arange(ids.size)
    favourites = logits.argmax(axis=1)
    largest = logits[rows, favourites].astype(np.float64)
    log_total = np.log(np.exp(logits - largest[:, None]).sum(axis=1))  # of e^(z − largest)
    return Scores(
        targets=ids,
        log_p=logits[rows, ids] - largest - log_total,
        ranks=np.array([rank_of(logits[row], int(ids[row])) for row in rows], dtype=np.int32),
        favourites=favourites,
        favourite_p=np.exp(-log_total),
    )


def joined(parts: Sequence[Scores]) -> Scores:
    """Rows of several parts one after the other."""
    names = ("targets", "log_p", "ranks", "favourites", "favourite_p")
    return Scores(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def score(model: Any, trace: Any, progress: Progress | None = None) -> Scores:
    """All T − 1 targets of a traced text. Raises UserError for a text of one token.

    The residual stream of the pass is there already; what is added is the LM head, a block of rows at a time.
    ``progress`` is called with rows done and rows in all. Kept with each pass, so a decode step adds one row.
    """
    total = trace.n_positions - 1
    if total < 1:
        raise UserError(
            "One token has no target: nothing comes after it.", "A text needs at least two tokens."
        )
    parts: list[Scores] = []
    for made in trace.passes:
        if made.parent is not None:
            parts.append(_entry(made))
        if len(made.token_ids) > 1:
            done = partial(_say, progress, total, sum(map(len, parts)))
            parts.append(_inner(model, trace, made, done))
    return joined(parts)


def ending(trace: Any, end_id: int) -> Scores:
    """The last position scored on the end-of-text token, as in a training text that ends there. One row."""
    return reduced(trace.tip.logits[None], [end_id])


def _entry(made: Any) -> Scores:
    """The row that predicts a pass's first token: the last one of the pass before it."""
    if made not in _ENTRIES:
        _ENTRIES[made] = reduced(made.parent.logits[None], made.token_ids[:1])
    return _ENTRIES[made]


def _inner(model: Any, trace: Any, made: Any, done: Callable[[int], None]) -> Scores:
    """The rows of one pass whose targets lie in the same pass."""
    if made not in _INNER:
        count = len(made.token_ids) - 1
        size = max(1, BLOCK_LOGITS // model.shape.vocab_size)
        parts = []
        for start in range(0, count, size):
            rows = range(start, min(count, start + size))
            logits = trace.lens(model.shape.n_layers, [made.start + row for row in rows])
            parts.append(reduced(logits, made.token_ids[rows.start + 1 : rows.stop + 1]))
            done(rows.stop)
        _INNER[made] = joined(parts)
    return _INNER[made]


def _say(progress: Progress | None, total: int, before: int, rows: int) -> None:
    if progress is not None:
        progress(before + rows, total)


# -- what counts -------------------------------------------------------------------------------------


def kinds(
    pieces: Sequence[Any], prompt_length: int | None = None, message: tuple[int, int] | None = None
) -> list[Kind]:
    """What each token of a text is: a control token, words of the chat template, or the text itself.

    ``message``: characters [start, end) of the learner's message inside the first ``prompt_length`` tokens;
    None without a chat template. What the model generated is text.
    """
    found: list[Kind] = []
    for index, piece in enumerate(pieces):
        inside = message is None or (piece.start < message[1] and piece.end > message[0])
        generated = prompt_length is not None and index >= prompt_length
        found.append("control" if piece.special else "text" if inside or generated else "template")
    return found


def counted(of: Sequence[Kind], specials: bool) -> np.ndarray:
    """(T − 1,) which targets are in the mean: all of them with ``specials``, else those that are text."""
    return np.array([specials or kind == "text" for kind in of[1:]], dtype=bool)


def labels_of(token_ids: Sequence[int], scored: np.ndarray) -> list[int]:
    """The labels that a training program hands over: the text itself, not shifted, −100 where nothing counts.

    The library shifts them once. Shifting here as well would score each position on the token after the next.
    """
    kept = [int(token) if counts else IGNORED for token, counts in zip(token_ids[1:], scored, strict=True)]
    return [IGNORED, *kept]


def summary(scores: Scores, scored: np.ndarray) -> Summary:
    """Mean loss over the targets that count."""
    return Summary(int(scored.sum()), math.fsum(scores.losses[scored]))


def library_error(
    model: Any, trace: Any, token_ids: Sequence[int], scores: Scores, scored: np.ndarray
) -> tuple[float, int] | None:
    """Our mean loss held against the library's own: the difference, and how many tokens were checked.

    ``token_ids``: the trace's, and the end-of-text token where that is scored. None where no target counts.
    """
    count = check_length(len(token_ids), model.shape.vocab_size)
    part = scored[: count - 1]
    if not part.any():
        return None
    known = _CHECKS.setdefault(trace.tip, {})
    key = (len(token_ids), part.tobytes())
    if key not in known:
        own = summary(scores, np.concatenate([part, np.zeros(scored.size - part.size, dtype=bool)])).mean
        labels = labels_of(token_ids[:count], part)
        known[key] = abs(own - reference.loss(model, token_ids[:count], labels))
    return known[key], count


def check_length(n_tokens: int, vocab_size: int) -> int:
    """How many tokens of a text the library's own loss is asked about."""
    return min(n_tokens, CHECK_TOKENS, max(2, CHECK_LOGITS // vocab_size))


_ENTRIES: WeakKeyDictionary[Any, Scores] = WeakKeyDictionary()
_INNER: WeakKeyDictionary[Any, Scores] = WeakKeyDictionary()
_CHECKS: WeakKeyDictionary[Any, dict[tuple[int, bytes], float]] = WeakKeyDictionary()
