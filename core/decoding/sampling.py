"""From logits to a drawn token, every stage kept so that it can be shown.

Order: repetition penalty -> temperature -> top-k -> top-p -> min-p -> renormalise, always over the whole
vocabulary; the order and rules of transformers' logits processors (docs: "Utilities for Generation").

Rules:
- Candidates are ordered by probability, highest first; equal ones by id, lowest first. Greedy takes the
  first.
- top-k keeps the k likeliest and every token that ties with the k-th.
- top-p keeps the shortest front part of that order whose mass reaches p, so the token that crosses p is kept.
- min-p removes a token when its probability is below min_p times the highest one.
- A mass or ratio within 1e-9 of its limit counts as having reached it: the last bits of exp() differ between
  libraries and must not decide what is kept.

Everything is float64. V is the vocabulary size. Entropies are in nats.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.decoding.params import SamplingParams
from core.decoding.randomness import uniform, uniforms

__all__ = [
    "ORDER", "REMOVERS", "Candidate", "Draw", "Pipeline", "SamplingParams", "Stage",
    "choose", "draw_counts", "log_softmax", "pipeline", "rank_of", "softmax", "top_ids", "uniform",
    "uniforms",
]  # fmt: skip

ORDER = ("raw", "penalised", "tempered", "top_k", "top_p", "min_p")
"""The stages in the order in which they are applied; the last one, renormalised, is what is drawn from."""

REMOVERS = ("", "greedy", "top_k", "top_p", "min_p", "impossible")
"""What the codes in ``Pipeline.removed_by`` mean; 0 is a candidate that is still there."""

_GREEDY, _TOP_K, _TOP_P, _MIN_P, _IMPOSSIBLE = 1, 2, 3, 4, 5
_CLOSE = 1e-9
_FIRST_BLOCK = 512


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return exp(x) / sum exp(x) over the last axis, float64, safe for large values and for -inf."""
    values = np.asarray(logits, dtype=np.float64)
    exponentials = np.exp(values - values.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Return log(softmax(x)) over the last axis, float64."""
    values = np.asarray(logits, dtype=np.float64)
    shifted = values - values.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


@dataclass(frozen=True)
class Stage:
    """The distribution after one stage.

    ``logits`` (V,): -inf where a filter removed the token. ``probabilities`` (V,): softmax of them, so they
    sum to 1. ``mass``: share of the tempered distribution that is left (1.0 before the filters).
    ``probabilities * mass`` are the bars before renormalising.
    """

    name: str
    logits: np.ndarray
    probabilities: np.ndarray
    mass: float = 1.0

    @cached_property
    def kept(self) -> int:
        """Number of tokens that are still candidates."""
        return int(np.count_nonzero(self.logits > -np.inf))

    @cached_property
    def entropy(self) -> float:
        """-sum p log p in nats: how undecided the distribution is."""
        present = self.probabilities[self.probabilities > 0]
        return float(max(0.0, -(present * np.log(present)).sum()))

    @property
    def perplexity(self) -> float:
        """exp(entropy): as undecided as a fair choice among this many tokens."""
        return float(np.exp(self.entropy))

    @cached_property
    def effective_choices(self) -> float:
        """1 / sum p^2: how many tokens really compete; the tail counts less than in the perplexity."""
        return float(1.0 / np.square(self.probabilities).sum())


@dataclass(frozen=True)
class Candidate:
    """One token of the distribution: its rank (1 = likeliest), numbers before and after, and what removed
    it."""

    token_id: int
    rank: int
    logit: float
    model_probability: float
    probability: float
    removed_by: str


@dataclass(frozen=True)
class Pipeline:
    """All stages of one draw. ``removed_by`` (V,) uint8: an index into REMOVERS."""

    params: SamplingParams
    previous_ids: tuple[int, ...]
    stages: tuple[Stage, ...]
    removed_by: np.ndarray

    def stage(self, name: str) -> Stage:
        return self.stages[ORDER.index(name)]

    @property
    def raw(self) -> Stage:
        """The model's own distribution (T = 1, nothing removed)."""
        return self.stages[0]

    @property
    def final(self) -> Stage:
        """What is drawn from."""
        return self.stages[-1]

    @property
    def probabilities(self) -> np.ndarray:
        """(V,) the final probabilities; removed tokens have 0."""
        return self.final.probabilities

    @property
    def mass_kept(self) -> float:
        """Share of the tempered distribution that the filters left."""
        return self.final.mass

    @cached_property
    def order(self) -> np.ndarray:
        """(n,) ids of the candidates that are left, likeliest first, ties by id."""
        return _descending(self.probabilities, np.flatnonzero(self.final.logits > -np.inf))

    @cached_property
    def cumulative(self) -> np.ndarray:
        """(n,) running sum of the final probabilities along ``order``: the line that the draw falls on."""
        return np.cumsum(self.probabilities[self.order])

    def top(self, count: int) -> list[Candidate]:
        """The ``count`` likeliest tokens of the model's own distribution, removed ones included and
        marked."""
        ids = top_ids(self.raw.logits, count)
        return [
            Candidate(
                token_id=int(token_id),
                rank=rank,
                logit=float(self.raw.logits[token_id]),
                model_probability=float(self.raw.probabilities[token_id]),
                probability=float(self.probabilities[token_id]),
                removed_by=REMOVERS[self.removed_by[token_id]],
            )
            for rank, token_id in enumerate(ids, start=1)
        ]


@dataclass(frozen=True)
class Draw:
    """A drawn token: the number ``u`` fell into [lower, upper) of the cumulative line, at ``position`` from
    0."""

    token_id: int
    u: float
    position: int
    lower: float
    upper: float


def pipeline(logits: np.ndarray, params: SamplingParams, previous_ids: Iterable[int] = ()) -> Pipeline:
    """Run every stage on (V,) logits; ``previous_ids`` (prompt and generated) are what the penalty looks at.

    Raises ValueError when the logits hold NaN or +inf, or leave no token possible.
    """
    raw = np.asarray(logits, dtype=np.float64)
    if raw.ndim != 1 or raw.size == 0 or np.isnan(raw).any() or raw.max() in (np.inf, -np.inf):
        raise ValueError(
            "logits must be one row of numbers with at least one finite value and no NaN or +inf"
        )
    seen = tuple(dict.fromkeys(int(token_id) for token_id in previous_ids))
    removed_by = np.where(raw == -np.inf, _IMPOSSIBLE, 0).astype(np.uint8)

    first = Stage("raw", raw, softmax(raw))
    penalised = _penalise(first, seen, params.repetition_penalty)
    tempered = _temper(penalised, params, removed_by)
    after_top_k = _filter(tempered, "top_k", _beyond_top_k(tempered, params.top_k), removed_by, _TOP_K)
    after_top_p = _filter(after_top_k, "top_p", _beyond_top_p(after_top_k, params.top_p), removed_by, _TOP_P)
    after_min_p = _filter(after_top_p, "min_p", _below_min_p(after_top_p, params.min_p), removed_by, _MIN_P)
    stages = (first, penalised, tempered, after_top_k, after_top_p, after_min_p)
    return Pipeline(params, seen, stages, removed_by)


def choose(result: Pipeline, u: float) -> Draw:
    """Return the candidate on whose stretch of the cumulative line ``u`` in [0, 1) falls (inverse CDF)."""
    if not 0 <= u < 1:
        raise ValueError(f"u must be in [0, 1), not {u}")
    candidates = np.flatnonzero(result.probabilities > 0)
    ids, cumulative = _front(result.probabilities, candidates, u, strictly=True)
    position = min(int(np.searchsorted(cumulative, u, side="right")), ids.size - 1)
    lower = float(cumulative[position - 1]) if position else 0.0
    return Draw(int(ids[position]), u, position, lower, float(cumulative[position]))


def draw_counts(result: Pipeline, count: int, seed: int, step: int) -> np.ndarray:
    """Draw ``count`` independent tokens from the final distribution; return how often each came, (V,)
    int64."""
    positions = np.searchsorted(result.cumulative, uniforms(seed, step, count), side="right")
    ids = result.order[np.minimum(positions, result.order.size - 1)]
    return np.bincount(ids, minlength=result.probabilities.size)


def top_ids(values: np.ndarray, count: int) -> np.ndarray:
    """Return the ids of the ``count`` largest values, largest first, ties by id; without sorting the rest."""
    count = min(count, values.size)
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    threshold = np.partition(values, values.size - count)[values.size - count]
    return _descending(values, np.flatnonzero(values >= threshold))[:count]


def rank_of(values: np.ndarray, token_id: int) -> int:
    """Return the 1-based rank of a token among ``values``, ties by id."""
    value = values[token_id]
    return 1 + int(np.count_nonzero(values > value)) + int(np.count_nonzero(values[:token_id] == value))


def _descending(values: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Sort ascending ``ids`` by value, highest first; the stable sort leaves ties in id order."""
    return ids[np.argsort(-values[ids], kind="stable")]


def _front(
    probabilities: np.ndarray, ids: np.ndarray, mass: float, strictly: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the front of the descending order that reaches ``mass`` and its running sum, sorting little.

    A peaked distribution needs a few hundred tokens, so a growing block is sorted; the block always ends
    between two different values, so it is exactly the front of the whole sorted order.
    """
    size = _FIRST_BLOCK
    while True:
        block = ids
        if size < ids.size:
            values = probabilities[ids]
            block = ids[values >= np.partition(values, ids.size - size)[ids.size - size]]
        ordered = _descending(probabilities, block)
        cumulative = np.cumsum(probabilities[ordered])
        enough = cumulative[-1] > mass if strictly else cumulative[-1] >= mass
        if enough or block.size == ids.size:
            return ordered, cumulative
        size *= 8


def _penalise(stage: Stage, seen: Sequence[int], penalty: float) -> Stage:
    """Divide positive and multiply negative logits of seen tokens, once each (Keskar et al. 2019, as in
    HF)."""
    ids = np.array([token_id for token_id in seen if 0 <= token_id < stage.logits.size], dtype=np.int64)
    if penalty == 1 or ids.size == 0:
        return Stage("penalised", stage.logits, stage.probabilities)
    logits = stage.logits.copy()
    logits[ids] = np.where(logits[ids] < 0, logits[ids] * penalty, logits[ids] / penalty)
    return Stage("penalised", logits, softmax(logits))


def _temper(stage: Stage, params: SamplingParams, removed_by: np.ndarray) -> Stage:
    """Divide the logits by the temperature; greedy, the limit at 0, leaves the first of the likeliest."""
    if params.temperature == 1:
        return Stage("tempered", stage.logits, stage.probabilities)
    if not params.greedy:
        logits = stage.logits / params.temperature
        return Stage("tempered", logits, softmax(logits))
    best = int(np.argmax(stage.logits))
    logits = np.full(stage.logits.size, -np.inf)
    logits[best] = stage.logits[best]
    removed_by[(removed_by == 0) & (logits == -np.inf)] = _GREEDY
    return Stage("tempered", logits, softmax(logits))


def _filter(stage: Stage, name: str, remove: np.ndarray | None, removed_by: np.ndarray, code: int) -> Stage:
    """Set removed logits to -inf and share the removed mass among the rest in proportion."""
    if remove is None:
        return Stage(name, stage.logits, stage.probabilities, stage.mass)
    remove &= stage.logits > -np.inf
    removed_by[remove] = code
    logits = np.where(remove, -np.inf, stage.logits)
    probabilities = np.where(remove, 0.0, stage.probabilities)
    kept = float(probabilities.sum())
    return Stage(name, logits, probabilities / kept, stage.mass * kept)


def _beyond_top_k(stage: Stage, top_k: int) -> np.ndarray | None:
    if top_k == 0 or top_k >= stage.logits.size:
        return None
    threshold = np.partition(stage.logits, stage.logits.size - top_k)[stage.logits.size - top_k]
    return np.asarray(stage.logits < threshold)


def _beyond_top_p(stage: Stage, top_p: float) -> np.ndarray | None:
    if top_p >= 1:
        return None
    ids = np.flatnonzero(stage.logits > -np.inf)
    ordered, cumulative = _front(stage.probabilities, ids, top_p)
    keep = 1 + int(np.searchsorted(cumulative, top_p - _CLOSE, side="left"))  # the one that crosses included
    remove = np.ones(stage.logits.size, dtype=bool)
    remove[ordered[:keep]] = False
    return remove


def _below_min_p(stage: Stage, min_p: float) -> np.ndarray | None:
    if min_p == 0:
        return None
    return np.asarray(stage.probabilities < min_p * stage.probabilities.max() * (1 - _CLOSE))
