"""Real gradient steps on a learner's copy: what is measured before, at each step, and after.

The plan waits for its slot, copies what it trains, looks at the gradient of the whole model once, checks it,
and then steps. After each step everything is measured again, so a run that is stopped shows all it did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from core.engine.training.learner_copy import LearnerCopy, Reading, bytes_needed
from core.engine.training.optimiser import BETA1, BETA2, EPSILON, WEIGHT_DECAY, Kind
from core.engine.training.slots import SLOTS, Slots
from core.engine.training.weights import Place, Scope, places, trained_names
from core.errors import UserError
from core.lessons.attention_experiment import Comparison, comparison
from core.lessons.job import Plan, Report

TEXT_TOKENS = 64
"""The longest text to train on; also of the untouched sentence."""
MAX_STEPS = 20
RATES: Mapping[Kind, tuple[float, ...]] = {
    "sgd": (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    "adamw": (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01),
}
USUAL_RATE: Mapping[Kind, float] = {"sgd": 0.003, "adamw": 0.0003}
LIVE_PROMPT = 128
"""A longer prompt is read again after the last step only, not after each."""
CHECK_DROP, CHECK_SHARE, CHECK_LEAST = 0.01, 0.02, 1e-3
"""The checking step should lower the loss by at most so many nats and such a share of it: small against
curvature, large against rounding. A loss below the last number is not checked."""
_LOOK_AGAIN_S = 0.5

Stage = Literal["waiting", "copying", "looking", "checking", "stepping", "done"]


@dataclass(frozen=True)
class Setting:
    """What to do. ``text`` and ``other`` hold two tokens at least (``other`` may be empty), ids all three."""

    text: tuple[int, ...]
    other: tuple[int, ...]
    prompt: tuple[int, ...]
    scope: Scope
    kind: Kind
    lr: float
    steps: int


@dataclass(frozen=True)
class OneWeight:
    """The weight of a tensor with the largest gradient at the first step: its place there, and its step."""

    at: tuple[int, ...]
    before: float
    gradient: float
    after: float


@dataclass(frozen=True)
class Slope:
    """The gradient against measured losses: one small SGD step down the gradient and one up.

    ``lr``: of that step. ``norm``: ‖g‖ of the trained weights. ``down``, ``up``: change of the loss.
    """

    lr: float
    norm: float
    down: float
    up: float

    @property
    def predicted(self) -> float:
        """−lr · ‖g‖²: the first order of what the step down does."""
        return -self.lr * self.norm**2

    @property
    def error(self) -> float:
        """Finite difference along the gradient, (up − down) / (2 · lr · ‖g‖), against ‖g‖; relative."""
        return abs((self.up - self.down) / (2 * self.lr * self.norm**2) - 1)


@dataclass(frozen=True)
class Result:
    """What is known so far; small numbers only.

    ``losses``, ``other``: nats, before the first step and after each. ``gradient``: ‖g‖ per tensor of the
    whole model at first. ``moved``: per trained tensor ‖w − w₀‖ and ‖w₀‖. ``diverged``: numbers overflowed.
    """

    setting: Setting
    places: tuple[Place, ...]
    trained: frozenset[str]
    bytes_needed: int
    stage: Stage = "waiting"
    ahead: int = 0
    losses: tuple[float, ...] = ()
    other: tuple[float, ...] = ()
    gradient: Mapping[str, float] = field(default_factory=dict)
    moved: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    weights: Mapping[str, OneWeight] = field(default_factory=dict)
    slope: Slope | None = None
    compared: Comparison | None = None
    diverged: bool = False

    @property
    def steps_done(self) -> int:
        return max(0, len(self.losses) - 1)


def gradient_plan(model: Any, setting: Setting, slots: Slots = SLOTS) -> Plan:
    """Steps on a copy. The model in use is never written to; the copy is gone when the plan ends.

    Raises (in the plan):
        UserError: a text of fewer than two tokens, or a copy that does not fit into memory.
    """

    def plan(stop: Callable[[], bool]) -> Generator[Report]:
        total = setting.steps + 3
        result = _begin(model, setting)
        yield Report(0, total, result)
        with slots.ticket(result.bytes_needed) as ticket:
            while not ticket.wait(_LOOK_AGAIN_S):
                yield Report(0, total, replace(result, ahead=ticket.ahead))
            result = replace(result, stage="copying")
            yield Report(0, total, result)
            with LearnerCopy(model, setting.scope, stop) as copy, closing(_work(copy, result)) as work:
                for done, known in enumerate(work, start=1):
                    yield Report(min(done, total), total, known)
        yield Report(total, total, replace(known, stage="done"))

    return plan


def _begin(model: Any, setting: Setting) -> Result:
    if len(setting.text) < 2:
        raise UserError(
            "A text of fewer than two tokens has nothing to predict.", "Type a text of at least two tokens."
        )
    longest = max(len(setting.text), len(setting.other))
    if longest > TEXT_TOKENS:
        raise UserError(
            f"A text has {longest} tokens; here at most {TEXT_TOKENS} can be trained on.", "Shorten it."
        )
    return Result(
        setting,
        tuple(places(model)),
        frozenset(trained_names(model, setting.scope)),
        bytes_needed(model, setting.scope, setting.kind, longest),
    )


def _work(copy: LearnerCopy, result: Result) -> Generator[Result]:
    """Look, check, step; yields after each."""
    setting = result.setting
    result = replace(result, stage="looking")
    yield result
    text, prompt = copy.read(setting.text), copy.read(setting.prompt)
    other = copy.read(setting.other) if len(setting.other) > 1 else None
    looked = copy.look(text)
    start, live = copy.logits(prompt), len(setting.prompt) <= LIVE_PROMPT
    result = replace(
        result,
        stage="checking",
        gradient={name: math.sqrt(squared) for name, squared in looked.squared.items()},
        losses=(copy.loss(text),),
        other=(copy.loss(other),) if other else (),
        compared=comparison(start, start) if live else None,
    )
    yield result
    result = replace(result, stage="stepping", slope=_slope(copy, text, result.losses[0]))
    yield result
    optimiser = copy.optimiser(setting.kind, setting.lr)
    for index in range(setting.steps):
        copy.gradient(text)
        steepest = copy.steepest() if index == 0 else {}
        copy.step(optimiser)
        loss, last = copy.loss(text), index == setting.steps - 1
        now = copy.logits(prompt) if live or last else None
        if not (math.isfinite(loss) and (now is None or np.isfinite(now).all())):
            yield replace(result, diverged=True)
            return
        result = replace(
            result,
            losses=(*result.losses, loss),
            other=(*result.other, copy.loss(other)) if other else (),
            moved=copy.moved(),
            compared=None if now is None else comparison(start, now),
            weights=result.weights or _weights(copy, steepest),
        )
        yield result


def _slope(copy: LearnerCopy, text: Reading, loss: float) -> Slope | None:
    """One small step down and one up along the gradient; None where there is no slope to speak of."""
    squared = sum(copy.gradient(text).squared.values())
    if not (math.isfinite(squared) and squared > 1e-12 and loss > CHECK_LEAST):
        return None
    lr, losses = min(CHECK_DROP, CHECK_SHARE * loss) / squared, []
    for amount in (-lr, lr):
        copy.nudge(amount)
        losses.append(copy.loss(text))
        copy.restore()
    return Slope(lr, math.sqrt(squared), losses[0] - loss, losses[1] - loss)


def _weights(
    copy: LearnerCopy, steepest: Mapping[str, tuple[tuple[int, ...], float, float]]
) -> dict[str, OneWeight]:
    return {
        name: OneWeight(at, before, gradient, copy.value(name, at))
        for name, (at, before, gradient) in steepest.items()
    }


# -- from numbers to what a page shows -------------------------------------------------------------------


@dataclass(frozen=True)
class Adam:
    """The numbers of AdamW's first step for one weight, t = 1."""

    m: float
    v: float
    m_hat: float
    v_hat: float


def adam(gradient: float) -> Adam:
    """Moments after the first step from zero: the corrected ones are g and g² themselves."""
    m, v = (1 - BETA1) * gradient, (1 - BETA2) * gradient**2
    return Adam(m, v, m / (1 - BETA1), v / (1 - BETA2))


def predicted_weight(kind: Kind, lr: float, weight: OneWeight) -> float:
    """The weight after the first step by the formula, from its value and gradient before."""
    if kind == "sgd":
        return weight.before - lr * weight.gradient
    moments = adam(weight.gradient)
    decayed = weight.before * (1 - lr * WEIGHT_DECAY)
    return decayed - lr * moments.m_hat / (math.sqrt(moments.v_hat) + EPSILON)


@dataclass(frozen=True)
class Picture:
    """Layers × parts, bottom row first. ``values`` (rows, columns): NaN where a layer has no such part.

    ``rows``: a layer's number or the name of what lies outside the blocks. ``trained`` marks what steps move.
    """

    rows: tuple[int | str, ...]
    columns: tuple[str, ...]
    values: np.ndarray
    trained: np.ndarray


def gradient_picture(result: Result) -> Picture:
    """‖g‖ of each part at first; tensors of one part (weight and bias) together."""
    return _picture(result, {name: (value, 1.0) for name, value in result.gradient.items()})


def moved_picture(result: Result) -> Picture:
    """‖w − w₀‖ / ‖w₀‖ of each part that was trained; rows without any are left out."""
    whole = _picture(result, result.moved, relative=True)
    kept = np.flatnonzero(whole.trained.any(axis=1))
    rows = tuple(whole.rows[int(at)] for at in kept)
    return Picture(rows, whole.columns, whole.values[kept], whole.trained[kept])


def _picture(result: Result, lengths: Mapping[str, tuple[float, float]], relative: bool = False) -> Picture:
    layers = {place.layer for place in result.places} - {None}
    columns = list(dict.fromkeys(place.part for place in result.places if place.layer is not None))
    rows: list[int | str] = []
    for place in result.places:
        row: int | str = place.part if place.layer is None else place.layer
        if row not in rows:
            rows.append(row)
    shape = (len(rows), len(columns) + 1)  # the last column: outside the blocks
    above, below = np.full(shape, np.nan), np.zeros(shape)
    trained = np.zeros(shape, dtype=bool)
    for place in result.places:
        inside = place.layer in layers
        at = (
            rows.index(place.layer if place.layer is not None else place.part),
            columns.index(place.part) if inside else len(columns),
        )
        trained[at] |= place.name in result.trained
        if place.name in lengths:
            length, base = lengths[place.name]
            above[at] = np.nansum([above[at], length**2])
            below[at] += base**2
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.sqrt(above / below) if relative else np.sqrt(above)
    return Picture(tuple(rows), tuple(columns), values, trained)


def largest(picture: Picture, columns: Sequence[str]) -> tuple[int | str, str, float]:
    """Row, column (of ``columns``, one more than the picture's) and value of the largest cell."""
    flat = np.where(np.isfinite(picture.values), picture.values, -np.inf)
    row, column = np.unravel_index(int(flat.argmax()), flat.shape)
    return picture.rows[int(row)], columns[int(column)], float(picture.values[row, column])
