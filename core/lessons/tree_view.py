"""What the Tree page shows: the tree as rows, the chosen path with its sums, and a beam search as it goes.

Pure: from a tree, a run and beam steps to plain numbers and texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.decoding.beam import Beam, BeamSettings, BeamStep
from core.decoding.run import Run
from core.decoding.sampling import log_softmax, softmax, top_ids
from core.decoding.tree import Node, Tree
from core.lessons.generate import name_of

CANDIDATES = 10
MAX_GROWTH = 400
"""Most nodes that one growth may ask for: each is one step of the model and keeps its columns in memory."""

LN2 = math.log(2)


@dataclass(frozen=True)
class Row:
    """One node. ``probability``: the model's own after its parent; ``log_probability``: of its whole path,
    nats. ``ends``: its token ends the text."""

    number: int
    parent: int
    token_id: int
    text: str
    probability: float
    log_probability: float
    rank: int
    ends: bool


@dataclass(frozen=True)
class Candidate:
    """One of the likeliest next tokens; ``number`` of its node, or None when it has none yet."""

    token_id: int
    text: str
    probability: float
    number: int | None


@dataclass(frozen=True)
class PathSums:
    """The path to a node: each token's probability, and three ways to get the path's log-probability, nats.

    ``stored`` was added up while the tree grew; ``product`` is the logarithm of the product of the
    probabilities; ``error`` is the largest difference between ``stored`` and both the product and the log
    softmaxes recomputed from the logits.
    """

    probabilities: tuple[float, ...]
    stored: float
    product: float
    error: float


def rows(tree: Tree, codec: Any, end_ids: Iterable[int]) -> list[Row]:
    """Every node but the root, in the order of computation (parents first)."""
    ends = frozenset(end_ids)
    return [
        Row(
            node.number,
            node.parent.number,
            node.token_id,
            name_of(codec, node.token_id),
            node.probability,
            node.cumulative_log_probability,
            node.rank,
            node.token_id in ends,
        )
        for node in tree.in_order()
        if node.parent is not None and node.token_id is not None
    ]


def path_numbers(run: Run) -> list[int]:
    """Numbers of the run's nodes, the root first, those ahead of the cursor included."""
    numbers, node = [run.tree.root.number], run.tree.root
    for record in run.steps:
        node = node.children[record.token_id]
        numbers.append(node.number)
    return numbers


def candidates(node: Node, codec: Any, count: int = CANDIDATES) -> tuple[list[Candidate], float]:
    """The likeliest tokens after ``node`` (T = 1, whole vocabulary), and the mass of all others."""
    probabilities = softmax(node.engine_pass.logits)
    ids = [int(token_id) for token_id in top_ids(probabilities, count)]
    found = [
        Candidate(
            token_id,
            name_of(codec, token_id),
            float(probabilities[token_id]),
            node.children[token_id].number if token_id in node.children else None,
        )
        for token_id in ids
    ]
    return found, max(0.0, 1.0 - math.fsum(item.probability for item in found))


def path_sums(node: Node) -> PathSums:
    """The log-probability of a path, recomputed from every logit vector on it."""
    nodes = node.path()
    probabilities = tuple(step.probability for step in nodes[1:])
    product = float(np.sum(np.log(probabilities))) if probabilities else 0.0
    again = math.fsum(_again(step) for step in nodes[1:])
    stored = node.cumulative_log_probability
    return PathSums(probabilities, stored, product, max(abs(stored - product), abs(stored - again)))


def _again(node: Node) -> float:
    """log p of a node's token, recomputed once from its parent's logits."""
    found = _AGAIN.get(node)
    if found is None and node.parent is not None and node.token_id is not None:
        found = _AGAIN[node] = float(log_softmax(node.parent.engine_pass.logits)[node.token_id])
    return found or 0.0


_AGAIN: WeakKeyDictionary[Node, float] = WeakKeyDictionary()


def growth_size(top_k: int, depth: int) -> int:
    """Nodes that growing adds at most."""
    return sum(top_k**level for level in range(1, depth + 1))


def deepest(top_k: int, room: int) -> int:
    """The largest depth, at most ``room``, at which ``top_k`` stays within MAX_GROWTH nodes."""
    depth = 0
    while depth < room and growth_size(top_k, depth + 1) <= MAX_GROWTH:
        depth += 1
    return depth


@dataclass(frozen=True)
class BeamRow:
    """One beam of a step: its tokens after the prompt as text, its sums, where it hangs (``parent``), and
    its node if it has one."""

    text: str
    token: str
    token_id: int
    count: int
    log_probability: float
    score: float
    end: str | None
    parent: int
    number: int | None


@dataclass(frozen=True)
class BeamView:
    """One step of a search: beams kept, pruned and finished in it, and the finished ones so far."""

    index: int
    kept: list[BeamRow]
    pruned: list[BeamRow]
    newly: list[BeamRow]
    finished: list[BeamRow]
    last: bool


def beam_view(step: BeamStep, codec: Any) -> BeamView:
    """A step of a beam search in texts and numbers."""

    def listed(beams: Sequence[Beam]) -> list[BeamRow]:
        return [_beam_row(beam, codec) for beam in beams]

    return BeamView(
        step.index,
        listed(step.kept),
        listed(step.pruned),
        listed(step.newly_finished),
        listed(step.finished),
        step.last,
    )


def _beam_row(beam: Beam, codec: Any) -> BeamRow:
    ids = beam.token_ids
    return BeamRow(
        codec.decode(list(ids)),
        name_of(codec, beam.token_id),
        beam.token_id,
        len(ids),
        beam.log_probability,
        beam.score,
        beam.end,
        beam.parent.number,
        beam.node.number if beam.node else None,
    )


def beam_error(steps: Sequence[BeamStep], settings: BeamSettings) -> float:
    """Largest difference between the scores on the screen and those recomputed from the paths' logits."""
    error = 0.0
    for beam in (b for step in steps[-1:] for b in (*step.kept, *step.finished)):
        before = math.fsum(_again(node) for node in beam.parent.path()[1:])
        total = before + _last(beam)
        error = max(error, abs(settings.score(total, len(beam.token_ids)) - beam.score))
    return error


def _last(beam: Beam) -> float:
    """log p of a beam's last token, which may have no node; kept, because the screen is drawn often."""
    known = _LAST.setdefault(beam.parent, {})
    if beam.token_id not in known:
        known[beam.token_id] = float(log_softmax(beam.parent.engine_pass.logits)[beam.token_id])
    return known[beam.token_id]


_LAST: WeakKeyDictionary[Node, dict[int, float]] = WeakKeyDictionary()
