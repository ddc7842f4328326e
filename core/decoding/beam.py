"""Beam search on a tree of continuations, step by step, with the results of transformers' own beam search.

Rules (those of ``generate(num_beams=n, early_stopping=False)``): the first step expands one beam, the
prompt. Each step takes the (1 + number of end-of-text tokens, at least 2) * n best continuations of all
beams by summed log-probability. Of the first n, those that end are frozen as finished, under their score;
the best n that do not end are kept; the rest is pruned. The search ends when no kept beam can beat the worst
of n finished ones, or at the token limit, where the first n are finished too.

Scores: "sum" is the summed log-probability, "mean" divides it by the number of generated tokens,
"length_penalty" by that number to the power of ``length_penalty`` (above 0 helps long texts, below 0 short
ones).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.decoding.sampling import log_softmax, top_ids
from core.decoding.tree import Node, Step, Tree

ScoreRule = Literal["sum", "mean", "length_penalty"]


@dataclass(frozen=True)
class BeamSettings:
    """``width`` beams, at most ``max_tokens`` tokens each; ``length_penalty`` counts for that rule only."""

    width: int = 3
    max_tokens: int = 20
    rule: ScoreRule = "mean"
    length_penalty: float = 1.0
    end_ids: frozenset[int] = frozenset()

    @property
    def exponent(self) -> float:
        return {"sum": 0.0, "mean": 1.0, "length_penalty": self.length_penalty}[self.rule]

    def score(self, log_probability: float, count: int) -> float:
        """The score of ``count`` generated tokens with this summed log-probability."""
        return float(log_probability / count**self.exponent)


@dataclass(frozen=True)
class Beam:
    """One continuation: the node it hangs on, its last token, and its sums. Only kept beams get a node of
    their own.

    ``end``: "end-of-text" or "token-limit" for a finished beam, None for one that goes on.
    """

    parent: Node
    token_id: int
    log_probability: float
    score: float
    end: str | None = None
    node: Node | None = None

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The generated tokens."""
        return (*self.parent.token_ids(), self.token_id)


@dataclass(frozen=True)
class BeamStep:
    """After step ``index`` (from 0): ``kept`` beams go on, best first; ``pruned`` were looked at and dropped.

    ``newly_finished`` froze in this step; ``finished`` are the best finished ones so far, best first.
    ``last``: the search is over; ``kept`` beams of the last step are not results.
    """

    index: int
    kept: tuple[Beam, ...]
    pruned: tuple[Beam, ...]
    newly_finished: tuple[Beam, ...]
    finished: tuple[Beam, ...]
    last: bool


def beam_search(tree: Tree, settings: BeamSettings, step: Step | None = None) -> Iterator[BeamStep]:
    """Search from the prompt, yielding after every step; close the generator to stop.

    The results are ``finished`` of the step that says ``last``. Costs at most ``width`` decode steps per
    step, each computed by ``step`` (the tree's own when None).
    """
    running: list[tuple[Node, float]] = [(tree.root, 0.0)]
    finished: tuple[Beam, ...] = ()
    for index in range(settings.max_tokens):
        candidates = _continuations(running, settings, index + 1)
        front, rest = candidates[: settings.width], candidates[settings.width :]
        newly = tuple(beam for beam in front if beam.end)
        finished = tuple(sorted((*finished, *newly), key=lambda beam: -beam.score)[: settings.width])
        open_beams = [beam for beam in candidates if not beam.end]
        going_on, dropped = open_beams[: settings.width], open_beams[settings.width :]
        pruned = (*dropped, *(beam for beam in rest if beam.end))
        last = not going_on or not _can_improve(going_on, finished, settings, index + 1)
        kept = tuple(going_on) if last else tuple(_with_node(tree, beam, step) for beam in going_on)
        yield BeamStep(index, kept, pruned, newly, finished, last)
        if last:
            return
        running = [(beam.node, beam.log_probability) for beam in kept if beam.node is not None]


def _continuations(running: list[tuple[Node, float]], settings: BeamSettings, count: int) -> list[Beam]:
    """The best continuations of all beams by summed log-probability; ties by beam, then by id."""
    looked_at = max(2, 1 + len(settings.end_ids)) * settings.width
    found: list[tuple[float, int, int]] = []
    for number, (node, before) in enumerate(running):
        log_probabilities = log_softmax(node.engine_pass.logits)
        for token_id in top_ids(log_probabilities, looked_at):
            if np.isfinite(log_probabilities[token_id]):
                found.append((-(before + float(log_probabilities[token_id])), number, int(token_id)))
    found.sort()
    return [
        _beam(running[number][0], token_id, -minus, settings, count) for minus, number, token_id in found
    ][:looked_at]


def _beam(node: Node, token_id: int, log_probability: float, settings: BeamSettings, count: int) -> Beam:
    end = None
    if token_id in settings.end_ids:
        end = "end-of-text"
    elif count >= settings.max_tokens:
        end = "token-limit"
    return Beam(node, token_id, log_probability, settings.score(log_probability, count), end)


def _can_improve(
    going_on: list[Beam], finished: tuple[Beam, ...], settings: BeamSettings, count: int
) -> bool:
    """Whether the best kept beam, scored at its present length, beats the worst of a full set of finished
    ones."""
    if len(finished) < settings.width:
        return True
    return settings.score(going_on[0].log_probability, count) > finished[-1].score


def _with_node(tree: Tree, beam: Beam, step: Step | None) -> Beam:
    node = tree.extend(beam.parent, beam.token_id, step)
    return Beam(beam.parent, beam.token_id, beam.log_probability, beam.score, None, node)
