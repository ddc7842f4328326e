"""The question that a page asks before it shows its numbers, where a learner wants to guess first. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from core.lessons import quiz, tour_inside
from core.lessons.questions import Question, one_of
from core.lessons.tour_scene import Scene


def computed_or_cached(scene: Scene, turn: int) -> Question | None:
    """Whether the newest pass computed the keys and values of a token or read them from the cache.

    Even turns are about the newest token, odd ones about another.
    """
    newest, total = scene.trace.passes[-1], scene.trace.n_positions
    at = total - 1 if turn % 2 == 0 or total == 1 else (turn // 2) % (total - 1)
    values = {"token": scene.at(at), "place": f"{at + 1:,}", "first": f"{newest.start + 1:,}"}
    right = "computed" if at >= newest.start else "cached"
    return one_of("computed_or_cached", values, ("computed", "cached"), right)


def heads(scene: Scene, turn: int) -> Question | None:
    """Which head of a layer looks most at the token before; the layer moves on with each turn."""
    layer = (scene.layer + 7 * turn) % scene.model.shape.n_layers
    return tour_inside.heads(replace(scene, layer=layer))


QUESTIONS: dict[str, Callable[[Scene, int], Question | None]] = {
    "tokens": lambda scene, _turn: tour_inside.tokens(scene),
    "attention": heads,
    "sampling": quiz.removed,
    "kv_cache": computed_or_cached,
}
"""By page. Each is asked of the run on the screen; ``turn`` counts how often the learner began to guess."""
