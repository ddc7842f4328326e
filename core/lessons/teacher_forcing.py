"""Teacher forcing and free running: one reference text read with the true prefix and with the model's own.

In training every position sees the text's own tokens before it, right or wrong as its predictions may be
(teacher forcing: Williams and Zipser, 1989). When the model writes by itself it sees its own tokens, a prefix
that training never showed it (exposure bias: Bengio et al., 2015; Ranzato et al., 2016).

World P: P(· | x_<j), the reference x before position j. World Q: Q(· | y_<j), the model's own y. Both share
the first ``given`` tokens. Losses in nats, KL in bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.decoding.params import SamplingParams
from core.decoding.randomness import MAX_SEED
from core.decoding.run import Run, StopRules
from core.decoding.sampling import log_softmax, top_ids
from core.engine.scheduler import BACKGROUND
from core.lessons.job import Plan, Report
from core.lessons.what_if import kl_of

PLACES = 32
"""Positions that are compared at most: their rows of logits are held while the seeds run."""
SEEDS = (1, 4, 8, 16)
TOP = 6
_ROWS_A_TURN = 8

Top = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Place:
    """One position in both worlds. What begins with ``own`` is None once the model has ended its own text.

    ``true_loss`` = −ln P(x_j); ``own_loss`` = −ln Q(x_j), the reference's token after the model's own prefix;
    ``own_words`` = −ln Q(y_j), the token that the model took there; ``kl`` = KL(P ‖ Q).
    """

    position: int
    reference_id: int
    true_loss: float
    true_top: Top
    own_id: int | None = None
    own_loss: float | None = None
    own_words: float | None = None
    own_top: Top = ()
    kl: float | None = None


@dataclass(frozen=True)
class Worlds:
    """Both worlds under one seed, as far as the model has written. ``n`` places are wanted."""

    seed: int
    places: tuple[Place, ...] = ()

    @property
    def parted(self) -> int | None:
        """The first position at which the model took another token than the reference; None: never yet."""
        return next((p.position for p in self.places if p.own_id != p.reference_id), None)

    @property
    def ended(self) -> bool:
        """The model ended its own text before the reference ended."""
        return any(p.own_id is None for p in self.places)


@dataclass(frozen=True)
class Result:
    """``worlds``: one per seed, the last one may be under way. ``wanted``: seeds in all."""

    given: int
    params: SamplingParams
    wanted: int
    places: int
    worlds: tuple[Worlds, ...] = ()

    @property
    def complete(self) -> tuple[Worlds, ...]:
        """The seeds that have been run to the end."""
        return tuple(one for one in self.worlds if len(one.places) == self.places)


@dataclass(frozen=True, eq=False)
class Average:
    """Means over ``seeds`` at each of n places, all arrays (n,); NaN where every text has ended.

    ``together``: share of seeds whose prefix is still the reference's own. ``running``: seeds whose text has
    not ended before this place.
    """

    seeds: int
    positions: np.ndarray
    true_loss: np.ndarray
    own_loss: np.ndarray
    own_words: np.ndarray
    kl: np.ndarray
    together: np.ndarray
    running: np.ndarray


def usual_given(first_text: int, count: int) -> int:
    """How many tokens both worlds begin with unless the learner says otherwise: a few words of the text."""
    return max(1, min(count - 1, first_text + max(1, min(4, (count - first_text) // 2))))


def places_of(count: int, given: int) -> range:
    """The positions that are compared in a text of ``count`` tokens."""
    return range(given, min(count, given + PLACES))


def plan(model: Any, trace: Any, given: int, params: SamplingParams, seeds: int) -> Plan:
    """Run the model freely from the first ``given`` tokens, once per seed, and hold it against the reference.

    Every step is a turn of its own at background priority: another learner waits for one step at most. The
    tokens are those that the Generate page would draw after this prompt with this seed and these settings.
    """
    seeds = 1 if params.greedy else seeds
    positions = places_of(trace.n_positions, given)

    def run(_stop: Callable[[], bool]) -> Generator[Report]:
        result = Result(given, params, seeds, len(positions))
        total = seeds * len(positions)
        yield Report(0, total, result)
        truth = _true_logits(model, trace, positions)
        for number in range(seeds):
            seed = (params.seed + number) % (MAX_SEED + 1)
            written = _free_run(model, trace.token_ids, truth, positions, replace(params, seed=seed))
            finished = result.worlds
            worlds = Worlds(seed)
            for place in written:
                worlds = replace(worlds, places=(*worlds.places, place))
                result = replace(result, worlds=(*finished, worlds))
                yield Report(number * len(positions) + len(worlds.places), total, result)

    return run


class _Quiet:
    """The model's passes at background priority, behind the names that a run uses."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def prefill(self, token_ids: Sequence[int], /) -> Any:
        return self._model.prefill(token_ids, priority=BACKGROUND)

    def step(self, parent: Any, token_id: int, /) -> Any:
        return self._model.step(parent, token_id, priority=BACKGROUND)


def _true_logits(model: Any, trace: Any, positions: range) -> np.ndarray:
    """(n, V) what the true prefix predicts for ``positions``: from the one pass over the reference."""
    parts = []
    for start in range(positions.start, positions.stop, _ROWS_A_TURN):
        rows = range(start - 1, min(start + _ROWS_A_TURN, positions.stop) - 1)
        with model.scheduler.turn(BACKGROUND):
            parts.append(trace.lens(model.shape.n_layers, rows))
    return np.concatenate(parts)


def _free_run(
    model: Any, reference: Sequence[int], truth: np.ndarray, positions: range, params: SamplingParams
) -> Iterator[Place]:
    rules = StopRules.of(model)
    run = Run.start(_Quiet(model), reference[: positions.start], params, rules)
    for row, position in enumerate(positions):
        target = int(reference[position])
        log_p = log_softmax(truth[row])
        place = Place(position, target, -float(log_p[target]), _top(log_p))
        if run.stop_reason is not None:
            yield place
            continue
        logits = run.tip.logits
        taken = run.next(params).token_id
        log_q = log_softmax(logits)
        yield replace(
            place,
            own_id=taken,
            own_loss=-float(log_q[target]),
            own_words=-float(log_q[taken]),
            own_top=_top(log_q),
            kl=kl_of(truth[row], logits),
        )


def _top(log_p: np.ndarray) -> Top:
    return tuple((int(token), float(np.exp(log_p[token]))) for token in top_ids(log_p, TOP))


def average(result: Result) -> Average | None:
    """Means over the seeds that are complete; None before the first one is."""
    worlds = result.complete
    if not worlds:
        return None

    def table(name: str) -> np.ndarray:
        """(seeds, n) of one number, NaN where there is none."""
        rows = [[getattr(place, name) for place in one.places] for one in worlds]
        return np.array([[math.nan if value is None else value for value in row] for row in rows])

    own = table("own_loss")
    positions = np.array([place.position for place in worlds[0].places])
    parted = np.array([math.inf if one.parted is None else one.parted for one in worlds])
    return Average(
        seeds=len(worlds),
        positions=positions,
        true_loss=table("true_loss")[0],
        own_loss=_mean(own),
        own_words=_mean(table("own_words")),
        kl=_mean(table("kl")),
        together=(positions[None] <= parted[:, None]).mean(axis=0),
        running=np.isfinite(own).sum(axis=0),
    )


def _mean(table: np.ndarray) -> np.ndarray:
    """(n,) means of the columns over what is there; NaN for a column with nothing."""
    known = np.isfinite(table)
    sums = np.where(known, table, 0.0).sum(axis=0)
    count = known.sum(axis=0)
    return np.where(count > 0, sums / np.maximum(count, 1), math.nan)


def shared_error(result: Result) -> float:
    """Largest KL at places whose prefix is the same in both worlds: it must be that of rounding, 0."""
    shared = [
        place.kl
        for one in result.worlds
        for place in one.places
        if place.kl is not None and (one.parted is None or place.position <= one.parted)
    ]
    return max(shared, default=0.0)
