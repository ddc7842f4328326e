"""The recap's quiz: questions about the learner's own run over the five concepts to keep. Pure.

A round asks two questions of each concept. The round's number alone says which ones, and which token, layer,
head and setting they are about: the same run and round give the same questions, the next round others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from core.decoding.sampling import SamplingParams, pipeline, softmax, top_ids
from core.lessons import tour_choosing, tour_inside
from core.lessons.questions import Question, among_numbers, among_texts
from core.lessons.tour_scene import Scene, percent

Maker = Callable[[Scene, int], Question | None]

PER_CONCEPT = 2
AHEAD = (3, 10, 25)
TOP_P = (0.5, 0.8, 0.95, 0.3)
RANKS = (3, 6, 2, 10)
SHOWN = 60
"""So many characters of a text are quoted, its end."""


@dataclass(frozen=True)
class Asked:
    """A question, the concept it belongs to, and the name of the page where its answer is seen."""

    concept: str
    question: Question
    page: str


def passes_ahead(scene: Scene, turn: int) -> Question | None:
    """How many forward passes the run has made after some more tokens."""
    more, made = AHEAD[turn % len(AHEAD)], len(scene.trace.passes)
    total = scene.trace.n_positions
    values = {"more": f"{more:,}", "made": f"{made:,}"}
    return among_numbers("passes_ahead", values, made + more, (1, more, total, total + more))


def next_at(scene: Scene, _turn: int) -> Question | None:
    """Which token the model finds likeliest after the text up to the chosen position."""
    pieces = scene.model.codec.pieces(scene.trace.token_ids)
    whole = (at for at in range(scene.position, len(pieces)) if pieces[at].part == pieces[at].parts)
    at = next(whole, scene.position)  # a text is not quoted up to the middle of a character
    logits = np.asarray(scene.trace.logits_at(at))
    best, *others = (int(token) for token in top_ids(logits, 4))
    text = scene.model.codec.decode(scene.trace.token_ids[: at + 1])
    cut = text if len(text) <= SHOWN else f"…{text[-SHOWN:]}"
    values = {"text": cut, "chance": percent(float(softmax(logits)[best]))}
    return among_texts("next_at", values, scene.name(best), map(scene.name, others), best)


def piece(scene: Scene, turn: int) -> Question | None:
    """Which piece of the prompt is one token; the others are two neighbouring tokens together."""
    names = [scene.name(token) for token in scene.run.prompt_ids]
    if len(names) < 2:
        return None
    at = turn % len(names)
    joined = [first + second for first, second in pairwise(names)]
    start = turn % len(joined)
    wrong = [text for text in joined[start:] + joined[:start] if text not in names]
    return among_texts("piece", {"count": f"{len(names):,}"}, names[at], wrong[:3], turn + 1)


def row_length(scene: Scene, _turn: int) -> Question | None:
    """How many numbers a token's row of the embedding matrix has."""
    shape, count = scene.model.shape, len(scene.run.prompt_ids)
    values = {"vocabulary": f"{shape.vocab_size:,}", "token": scene.at(scene.position)}
    return among_numbers("row_length", values, shape.d_model, (1, count, shape.n_layers, shape.vocab_size))


def looks_most(scene: Scene, turn: int) -> Question | None:
    """At which token the newest one looks most, in one head."""
    row = np.asarray(scene.trace.layer(scene.layer).weights(scene.head)[-1])
    ranked = np.argsort(-row, kind="stable")
    if len(ranked) < 3:
        return None
    best = int(ranked[0])
    others = [int(at) for at in ranked[1:] if scene.at(int(at)) != scene.at(best)]
    values = {
        "layer": str(scene.layer),
        "head": str(scene.head),
        "token": scene.at(len(row) - 1),
        "share": percent(float(row[best])),
    }
    return among_texts("looks_most", values, scene.at(best), map(scene.at, others[:3]), turn)


def columns(scene: Scene, turn: int) -> Question | None:
    """How many columns of K and V the chosen layer keeps after some more tokens."""
    more, now = AHEAD[turn % len(AHEAD)], scene.trace.n_positions
    window = scene.trace.kv_cache(scene.layer).window
    after = now + more
    right = after if window is None else min(window, after)
    values = {"more": f"{more:,}", "layer": str(scene.layer), "now": f"{min(now, right):,}"}
    others = (more, len(scene.run.prompt_ids), len(scene.run.prompt_ids) * more, after)
    return among_numbers("columns", values, right, others)


def prompt_passes(scene: Scene, _turn: int) -> Question | None:
    """In how many passes the prompt was read."""
    count = len(scene.run.prompt_ids)
    right = sum(step.start < count for step in scene.trace.passes)
    return among_numbers(
        "prompt_passes", {"count": f"{count:,}"}, right, (count, scene.model.shape.n_layers, count + 1)
    )


def top_p_left(scene: Scene, turn: int) -> Question | None:
    """How many tokens are left by top-p alone, for one of several values of p."""
    left = [pipeline(scene.logits, SamplingParams(temperature=1.0, top_p=p), ()).final.kept for p in TOP_P]
    at = turn % len(TOP_P)
    values = {"p": f"{100 * TOP_P[at]:g}"}
    return among_numbers("top_p_left", values, left[at], (*left, scene.logits.size))


def removed(scene: Scene, turn: int) -> Question | None:
    """Whether the learner's own filters remove a candidate."""
    return tour_choosing.removed(scene, RANKS[turn % len(RANKS)])


def _of_tour(maker: Callable[[Scene], Question | None]) -> Maker:
    return lambda scene, _turn: maker(scene)


CONCEPTS: dict[str, tuple[tuple[Maker, str], ...]] = {
    "loop": (
        (_of_tour(tour_inside.loop), "generate"),
        (next_at, "output"),
        (passes_ahead, "timeline"),
        (_of_tour(tour_choosing.swap), "what_if"),
    ),
    "tokens": (
        (row_length, "embeddings"),
        (piece, "tokens"),
        (_of_tour(tour_inside.rows), "embeddings"),
    ),
    "attention": (
        (_of_tour(tour_inside.mask), "attention"),
        (looks_most, "attention"),
        (_of_tour(tour_inside.heads), "attention"),
    ),
    "cache": (
        (prompt_passes, "timeline"),
        (_of_tour(tour_choosing.cached), "kv_cache"),
        (columns, "kv_cache"),
        (_of_tour(tour_choosing.cache_bytes), "kv_cache"),
    ),
    "sampling": (
        (top_p_left, "sampling"),
        (removed, "sampling"),
        (_of_tour(tour_choosing.temperature), "sampling"),
    ),
}
"""The five concepts to keep: their question makers in the order they come up, and the page that shows it."""


def questions(scene: Scene, turn: int) -> tuple[Asked, ...]:
    """The questions of round ``turn`` (from 0), two of each concept where the run has as many."""
    found: list[Asked] = []
    for concept, makers in CONCEPTS.items():
        taken: list[Asked] = []
        for index in range(len(makers)):
            maker, page = makers[(turn * PER_CONCEPT + index) % len(makers)]
            question = maker(_moved(scene, turn + index), turn)
            if question is not None and len(taken) < PER_CONCEPT:
                taken.append(Asked(concept, question, page))
            if len(taken) == PER_CONCEPT:
                break
        found += taken
    return tuple(found)


def _moved(scene: Scene, turn: int) -> Scene:
    """The same run looked at in another place. Steps without a common divisor with usual sizes visit all."""
    shape = scene.model.shape
    return replace(
        scene,
        layer=(scene.layer + 7 * turn) % shape.n_layers,
        head=(scene.head + 2 * turn) % shape.n_heads,
        position=(scene.position + 3 * turn) % scene.trace.n_positions,
    )
