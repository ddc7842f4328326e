"""Not a database: one fact in several wordings, and the answer's chance while parts are switched off.

Everything is measured on the first token of the answer, at the last position of each wording, under the
model's own distribution (temperature 1, no filter). Each measurement is one pass of its own; the learner's
run is never touched.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from core.decoding.randomness import uniforms
from core.decoding.sampling import rank_of, softmax, top_ids
from core.engine.experiment import Experiment
from core.engine.scheduler import BACKGROUND
from core.errors import UserError

FACTS_FILE = Path(__file__).resolve().parents[2] / "assets" / "facts.toml"
MAX_WORDINGS = 8
MAX_TOKENS = 64
SHARES = (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.13, 0.16, 0.2, 0.3)
COARSE_SHARES = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
FINE_SHARES = (0.0, 0.00003, 0.00006, 0.0001, 0.0002, 0.0003, 0.0005, 0.0007, 0.001, 0.0015, 0.002)
"""How much is switched off: neurons in a random order; heads and experts, of which there are few; and neurons
in the order of what they contribute, where a handful is enough."""
NOTHING_OFF = -1.0
"""Where the point "nothing switched off" stands in a sweep over layers or heads."""

Part = Literal["layer", "head", "neurons", "heads", "experts"]
Order = Literal["random", "contribution"]
Place = tuple[int, int]


@dataclass(frozen=True)
class Fact:
    """A ready-made question: the answer and the wordings that ask for it."""

    label: str
    answer: str
    wordings: tuple[str, ...]


@cache
def facts() -> tuple[Fact, ...]:
    """The facts of ``assets/facts.toml``."""
    rows = tomllib.loads(FACTS_FILE.read_text(encoding="utf-8"))["fact"]
    return tuple(Fact(row["label"], row["answer"], tuple(row["wordings"])) for row in rows)


@dataclass(frozen=True)
class Question:
    """Wordings as token ids, and the token that answers them.

    ``answer_ids`` are all tokens of the answer; only the first one is measured.
    """

    texts: tuple[str, ...]
    token_ids: tuple[tuple[int, ...], ...]
    answer_ids: tuple[int, ...]

    @property
    def answer_id(self) -> int:
        return self.answer_ids[0]


def spaced(answer: str) -> str:
    """The answer as it continues a text: a word gets the space that belongs to its token."""
    return f" {answer}" if answer[:1].isascii() and answer[:1].isalnum() else answer


def question(codec: Any, wordings: Sequence[str], answer: str) -> Question:
    """Cut wordings and answer into tokens. Raises UserError when something is empty or too long."""
    texts = tuple(text for text in wordings if text.strip())
    if not texts or not answer.strip():
        raise UserError("There is nothing to ask yet.", "Type an answer, and one wording on each line.")
    if len(texts) > MAX_WORDINGS:
        raise UserError(f"There are {len(texts)} wordings.", f"Keep at most {MAX_WORDINGS}.")
    token_ids = tuple(tuple(codec.encode(text)) for text in texts)
    longest = max(len(ids) for ids in token_ids)
    if longest > MAX_TOKENS:
        raise UserError(f"One wording has {longest} tokens.", f"Keep each within {MAX_TOKENS}.")
    return Question(texts, token_ids, tuple(codec.encode(spaced(answer), specials_as_text=True)))


@dataclass(frozen=True)
class Reading:
    """The answer in one distribution: its probability, its rank (1 = likeliest), and what is likeliest."""

    probability: float
    rank: int
    favourite_id: int
    favourite_probability: float


def read(logits: np.ndarray, answer_id: int) -> Reading:
    """Read the answer's place from (V,) logits."""
    probabilities = softmax(logits)
    favourite = int(top_ids(logits, 1)[0])
    return Reading(
        float(probabilities[answer_id]),
        int(rank_of(logits, answer_id)),
        favourite,
        float(probabilities[favourite]),
    )


def ask(model: Any, token_ids: Sequence[int], answer_id: int, changed: Experiment | None = None) -> Reading:
    """One pass over one wording, as background work: nobody who steps a run waits for more than one."""
    made = model.prefill(token_ids, changed, priority=BACKGROUND)
    return read(made.logits, answer_id)


@dataclass(frozen=True)
class Level:
    """One point of a curve: where it stands on the axis, and what is switched off there."""

    at: float
    experiment: Experiment


def layer_levels(n_layers: int) -> list[Level]:
    """Nothing off, then each layer alone."""
    alone = [Level(float(layer), Experiment(layers_off=frozenset({layer}))) for layer in range(n_layers)]
    return [Level(NOTHING_OFF, Experiment()), *alone]


def head_levels(layer: int, n_heads: int) -> list[Level]:
    """Nothing off, then each query head of one layer alone."""
    alone = [Level(float(head), Experiment(heads_off=frozenset({(layer, head)}))) for head in range(n_heads)]
    return [Level(NOTHING_OFF, Experiment()), *alone]


def shares(part: Part, order: Order) -> tuple[float, ...]:
    """The shares that a sweep over this part visits."""
    if part != "neurons":
        return COARSE_SHARES
    return FINE_SHARES if order == "contribution" else SHARES


def share_levels(part: Part, order: Sequence[Place], at: Sequence[float]) -> list[Level]:
    """Growing shares ``at`` of (layer, index) places in the given order; each level holds the one before."""
    return [Level(share, _without(part, frozenset(order[: math.ceil(share * len(order))]))) for share in at]


def _without(part: Part, off: frozenset[Place]) -> Experiment:
    if part == "heads":
        return Experiment(heads_off=off)
    return Experiment(experts_off=off) if part == "experts" else Experiment(neurons_off=off)


def places(shape: Any, part: Part) -> list[Place]:
    """All neurons of dense feed-forward parts, all query heads, or all routed experts of a model."""
    layers = range(shape.n_layers)
    if part == "heads":
        return [(layer, head) for layer in layers for head in range(shape.n_heads)]
    if part == "experts":
        return [(i, expert) for i in layers if shape.moe_layers[i] for expert in range(shape.n_experts)]
    return [(i, neuron) for i in layers if not shape.moe_layers[i] for neuron in range(shape.d_ff)]


def random_order(all_places: Sequence[Place], seed: int) -> list[Place]:
    """A shuffled order that the seed fixes: the places sorted by their own random numbers."""
    numbers = uniforms(seed, 0, len(all_places))
    return [all_places[i] for i in np.argsort(numbers, kind="stable")]


def contribution_order(model: Any, asked: Question) -> list[Place]:
    """Neurons by what they add to the answer's logit, most first, on the average of all wordings."""
    total = sum(neuron_contributions(model, ids, asked.answer_id) for ids in asked.token_ids)
    all_places = places(model.shape, "neurons")
    order = np.argsort(-np.asarray(total), kind="stable")
    return [all_places[i] for i in order]


def neuron_contributions(model: Any, token_ids: Sequence[int], answer_id: int) -> np.ndarray:
    """What each neuron adds to the answer's logit at the last position, directly, (n_dense · F,) float32.

    activation × (its column of W_down · the direction in which the final norm and the LM head read the
    answer). The norm is taken as it stands; what later layers make of a neuron's output is not counted.
    """
    trace = model.trace(model.prefill(token_ids, priority=BACKGROUND))
    direction = _reading_direction(model, trace, answer_id)  # (d,)
    parts = []
    for layer in range(model.shape.n_layers):
        down = model.down_weight(layer)  # (d, F)
        if down is not None:
            parts.append(trace.layer(layer).act[-1] * (direction @ down))  # (F,)
    return np.concatenate(parts)


def _reading_direction(model: Any, trace: Any, answer_id: int) -> np.ndarray:
    """(d,) the gradient of the answer's logit on the last vector with the norm's divisor held fixed."""
    row = model.lm_head_rows([answer_id])[0]  # (d,)
    last = trace.residual(model.shape.n_layers)[-1]  # (d,)
    if model.shape.norm == "rms":
        normed = trace.final_norm()[-1]
        safe = np.where(np.abs(last) > 1e-12, last, 1.0)
        return np.asarray(row * np.where(np.abs(last) > 1e-12, normed / safe, 0.0))
    scaled = row * model.final_norm_gain() / np.sqrt(last.var() + model.shape.norm_eps)
    return np.asarray(scaled - scaled.mean())  # LayerNorm takes the mean away first


@dataclass(frozen=True)
class Measured:
    """One point: which wording, which level, and the answer's place there."""

    wording: int
    level: int
    reading: Reading


def sweep(model: Any, asked: Question, levels: Sequence[Level]) -> Iterator[Measured]:
    """Measure every wording at every level, level by level, one pass a time."""
    for index, level in enumerate(levels):
        changed = None if level.experiment.is_empty() else level.experiment
        for wording, ids in enumerate(asked.token_ids):
            yield Measured(wording, index, ask(model, ids, asked.answer_id, changed))


@dataclass(frozen=True)
class Summary:
    """What a sweep says in one line, from the mean over the wordings.

    ``before``: with nothing off. ``lowest_at``, ``lowest``: the level that hurts most. ``half_at``: the
    first level at which less than half of ``before`` is left, or ``None``.
    """

    before: float
    lowest_at: float
    lowest: float
    half_at: float | None


def summary(levels: Sequence[Level], probabilities: np.ndarray) -> Summary | None:
    """From (wordings, levels) probabilities, NaN where nothing was measured; ``None`` before two whole
    levels."""
    whole = ~np.isnan(probabilities).any(axis=0)
    means = {int(i): float(probabilities[:, i].mean()) for i in np.flatnonzero(whole)}
    if len(means) < 2:
        return None
    before = means[0]
    lowest = min((i for i in means if i > 0), key=means.__getitem__)
    half = next((levels[i].at for i in means if i > 0 and means[i] < before / 2), None)
    return Summary(before, levels[lowest].at, means[lowest], half)
