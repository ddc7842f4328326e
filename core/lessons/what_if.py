"""What the What-if page shows: two continuations of one text compared, and sentences scored token by token.

Pure: from two runs on one tree to numbers. Entropy, surprise and KL are in bits; probabilities are the
model's own (T = 1, whole vocabulary).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.decoding.params import SamplingParams
from core.decoding.run import Run
from core.decoding.sampling import log_softmax, rank_of
from core.decoding.tree import Node
from core.lessons.generate import name_of

LN2 = math.log(2)
SHORTEST_MEETING = 3
"""Tokens in a row that two texts must share to count as having met again."""
MAX_SENTENCE = 64


@dataclass(frozen=True)
class Swap:
    """After ``at`` tokens of the run one text goes on with the tokens ``a``, the other with ``b``."""

    at: int
    a: tuple[int, ...]
    b: tuple[int, ...]


@dataclass(frozen=True)
class LaneToken:
    """One token of a branch. ``given``: it was put there; else the model chose it. Entropy in bits."""

    token_id: int
    text: str
    probability: float
    entropy: float
    given: bool


@dataclass(frozen=True)
class Place:
    """The same place in both branches, counted from the end of what was put there.

    ``kl``: KL(A ‖ B) in bits of the distributions at this place; ``same``: both took the same token, None
    while one of them has none yet.
    """

    kl: float
    same: bool | None


@dataclass(frozen=True)
class Meeting:
    """Where the texts have the longest stretch of tokens in common: first place in each, and its length."""

    a: int
    b: int
    length: int


@dataclass(frozen=True)
class Comparison:
    """Two branches side by side. ``surprise_a``, ``surprise_b``: mean −log₂ p of the tokens chosen by the
    model, None while there are none."""

    lane_a: list[LaneToken]
    lane_b: list[LaneToken]
    places: list[Place]
    meeting: Meeting | None
    surprise_a: float | None
    surprise_b: float | None


def branches(run: Run, swap: Swap, params: SamplingParams) -> tuple[Run, Run]:
    """Two runs on the run's own tree, standing behind ``swap.a`` and ``swap.b``; the run is not moved."""
    made = []
    for opening in (swap.a, swap.b):
        branch = run.branch()
        branch.limit(None)
        branch.params = params
        branch.jump(0)
        branch.follow([record.token_id for record in run.steps[: swap.at]])
        for token_id in opening:
            branch.next(params, force=token_id)
        made.append(branch)
    return made[0], made[1]


def advance(a: Run, b: Run, swap: Swap, length: int) -> bool:
    """Choose one token in the branch that is behind; False when both have ``length`` or have ended."""
    wanting = [
        (made, number)
        for number, (branch, opening) in enumerate(((a, swap.a), (b, swap.b)))
        if (made := branch.cursor - swap.at - len(opening)) < length and branch.stop_reason is None
    ]
    if not wanting:
        return False
    (a, b)[min(wanting)[1]].next()
    return True


def compare(a: Run, b: Run, swap: Swap, codec: Any) -> Comparison:
    """Both branches from the swap on."""
    lane_a, lane_b = _lane(a, swap.at, len(swap.a), codec), _lane(b, swap.at, len(swap.b), codec)
    nodes_a, nodes_b = a.node.path()[swap.at :], b.node.path()[swap.at :]
    own_a, own_b = lane_a[len(swap.a) :], lane_b[len(swap.b) :]
    places = []
    for index in range(min(len(own_a), len(own_b)) + 1):
        here_a, here_b = nodes_a[len(swap.a) + index], nodes_b[len(swap.b) + index]
        both = index < len(own_a) and index < len(own_b)
        same = own_a[index].token_id == own_b[index].token_id if both else None
        places.append(Place(kl_bits(here_a, here_b), same))
    ids_a, ids_b = ([token.token_id for token in lane] for lane in (own_a, own_b))
    met = meeting_again(ids_a, ids_b)
    return Comparison(lane_a, lane_b, places, met, mean_surprise(own_a), mean_surprise(own_b))


def _lane(run: Run, at: int, given: int, codec: Any) -> list[LaneToken]:
    return [
        LaneToken(
            record.token_id,
            name_of(codec, record.token_id),
            record.model_probability,
            record.model_entropy / LN2,
            index < given,
        )
        for index, record in enumerate(run.steps[at : run.cursor])
    ]


def kl_bits(a: Node, b: Node) -> float:
    """KL(A ‖ B) in bits of what two nodes predict; computed once for a pair."""
    known = _KL.setdefault(a, WeakKeyDictionary())
    if b not in known:
        known[b] = kl_of(a.engine_pass.logits, b.engine_pass.logits)
    return known[b]


_KL: WeakKeyDictionary[Node, WeakKeyDictionary[Node, float]] = WeakKeyDictionary()


def kl_of(logits_a: np.ndarray, logits_b: np.ndarray) -> float:
    """Σ p_A · (log₂ p_A − log₂ p_B) over the whole vocabulary; tokens that A cannot take count nothing."""
    log_a, log_b = log_softmax(logits_a), log_softmax(logits_b)
    possible = np.isfinite(log_a)
    terms = np.exp(log_a[possible]) * (log_a[possible] - log_b[possible])
    return max(0.0, float(terms.sum()) / LN2)


def meeting_again(a: Sequence[int], b: Sequence[int]) -> Meeting | None:
    """The longest stretch in common after the place where the two first differ; None before they do."""
    parted = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    if parted is None:
        return None
    found = meeting(a[parted:], b[parted:])
    return found and Meeting(found.a + parted, found.b + parted, found.length)


def meeting(a: Sequence[int], b: Sequence[int]) -> Meeting | None:
    """The longest stretch of tokens that both have, at least SHORTEST_MEETING long; the first of equals."""
    best = Meeting(0, 0, 0)
    before = [0] * (len(b) + 1)
    for i, token in enumerate(a, start=1):
        now = [0] * (len(b) + 1)
        for j, other in enumerate(b, start=1):
            if token == other:
                now[j] = before[j - 1] + 1
                if now[j] > best.length:
                    best = Meeting(i - now[j], j - now[j], now[j])
        before = now
    return best if best.length >= SHORTEST_MEETING else None


def mean_surprise(tokens: Sequence[LaneToken]) -> float | None:
    """Mean −log₂ p; None for no tokens."""
    if not tokens:
        return None
    return math.fsum(-math.log2(max(token.probability, 5e-324)) for token in tokens) / len(tokens)


# -- sentences ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scored:
    """One token of a sentence. ``surprise`` = −log₂ p, bits; None for the first token: it follows nothing."""

    token_id: int
    text: str
    probability: float | None
    surprise: float | None
    rank: int


@dataclass(frozen=True)
class Sentence:
    """A sentence scored. ``mean_log_probability`` in nats per scored token; ``total_bits`` their surprise."""

    tokens: list[Scored]
    mean_log_probability: float
    total_bits: float

    @property
    def perplexity(self) -> float:
        """e to the power of −mean log-probability."""
        return math.exp(-self.mean_log_probability)


def score(model: Any, token_ids: Sequence[int]) -> Sentence:
    """The model's own probability of each token after those before it, from one pass. At least two tokens."""
    trace = model.trace(model.prefill(list(token_ids)))
    log_probabilities = log_softmax(trace.lens(model.shape.n_layers))  # (T, V)
    tokens = [Scored(token_ids[0], name_of(model.codec, token_ids[0]), None, None, 0)]
    logs = []
    for position, token_id in enumerate(token_ids[1:]):
        row = log_probabilities[position]
        logs.append(float(row[token_id]))
        tokens.append(
            Scored(
                token_id,
                name_of(model.codec, token_id),
                math.exp(logs[-1]),
                -logs[-1] / LN2,
                rank_of(row, token_id),
            )
        )
    total = math.fsum(logs)
    return Sentence(tokens, total / len(logs), -total / LN2)
