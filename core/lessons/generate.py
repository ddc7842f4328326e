"""What the Generate page shows of a run: the token ribbon, the candidates' names, and what the step cost.

Pure: from a run to plain numbers. Probabilities of the bars are not computed here: the browser gets the
logits and computes them over the whole vocabulary while a slider is dragged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.decoding.params import SamplingParams
from core.decoding.sampling import top_ids

NAMED = 200
"""Likeliest tokens whose text goes along with the logits; the browser shows at most 60 of them at a time."""


@dataclass(frozen=True)
class RibbonToken:
    """One token of the text: ``text`` as shown ("" for the later parts of a split character)."""

    token_id: int
    text: str
    special: bool
    part: int = 1
    parts: int = 1
    data: bytes = b""


@dataclass(frozen=True)
class Choice:
    """How a generated token was chosen. ``rank`` 1 = the model's favourite."""

    probability: float
    rank: int
    forced: bool


@dataclass(frozen=True)
class StepFacts:
    """The state on screen. ``step`` tokens are generated, ``ahead`` more wait after them.

    ``kv_bytes``: the whole cache at this step; ``kv_step_bytes``: what this pass added; ``pass_tokens``: how
    many tokens this pass processed; ``pass_s``: its seconds on the engine's own clock.
    """

    step: int
    ahead: int
    limit: int | None
    stop: str | None
    kv_bytes: int
    kv_step_bytes: int
    pass_tokens: int
    pass_s: float


def ribbon(codec: Any, token_ids: Sequence[int]) -> list[RibbonToken]:
    """The tokens of a text with the pieces of split characters numbered."""
    return [
        RibbonToken(p.token_id, p.text, p.special, p.part, p.parts, p.data) for p in codec.pieces(token_ids)
    ]


def texts_of(codec: Any, token_ids: Sequence[int]) -> list[str]:
    """The text of each token; a later part of a split character, which has none, is named ``🦜⟨2/4⟩``."""
    names, whole = [], ""
    for piece in codec.pieces(token_ids):
        whole = piece.text or whole
        names.append(piece.text or f"{whole}⟨{piece.part}/{piece.parts}⟩")
    return names


def choices(steps: Iterable[Any], params: SamplingParams) -> list[Choice]:
    """Per generated token, those ahead included, how it was chosen (from the run's own records).

    ``forced``: the settings on the screen do not explain the token; it was taken by hand or drawn under
    others. Its probability is then the model's own, else the one under the settings. A link keeps just this.
    """
    found: list[Choice] = []
    for step in steps:
        forced = step.forced or step.params != params
        found.append(Choice(step.model_probability if forced else step.probability, step.rank, forced))
    return found


def facts(run: Any) -> StepFacts:
    """What the current pass did and cost."""
    tip = run.tip
    return StepFacts(
        step=run.cursor,
        ahead=len(run.steps) - run.cursor,
        limit=run.rules.max_tokens,
        stop=run.stop_reason,
        kv_bytes=sum(p.kv_bytes for p in tip.path()),
        kv_step_bytes=tip.kv_bytes,
        pass_tokens=len(tip.token_ids),
        pass_s=tip.timing.total_s,
    )


def candidates(codec: Any, logits: np.ndarray, count: int = NAMED) -> tuple[list[int], list[str]]:
    """Ids and texts of the ``count`` likeliest tokens of (V,) logits, the likeliest first."""
    ids = [int(token_id) for token_id in top_ids(logits, min(count, logits.size))]
    return ids, [name_of(codec, token_id) for token_id in ids]


def name_of(codec: Any, token_id: int) -> str:
    """The text of one token by itself; bytes that are no character on their own stand as ``⟨E2 80⟩``."""
    known = _NAMES.setdefault(codec, {})
    name = known.get(token_id)
    if name is None:
        piece = codec.pieces([token_id])[0]
        name = piece.text if piece.valid and piece.text else hex_name(piece.data) if piece.data else piece.raw
        known[token_id] = name
    return name


def hex_name(data: bytes) -> str:
    """Bytes that are no text of their own, to be read: ``⟨F0 9F⟩``."""
    return f"⟨{data.hex(' ').upper()}⟩"


_NAMES: WeakKeyDictionary[Any, dict[int, str]] = WeakKeyDictionary()
