"""The question of each stop of the tour, by the stop's id, which is the question's kind too. Pure."""

from __future__ import annotations

from collections.abc import Callable

from core.lessons import tour_choosing as choosing
from core.lessons import tour_inside as inside
from core.lessons.questions import Question
from core.lessons.tour_scene import Scene

QUESTIONS: dict[str, Callable[[Scene], Question | None]] = {
    "loop": inside.loop, "tokens": inside.tokens, "rows": inside.rows, "order": inside.order,
    "given": inside.given, "mask": inside.mask, "heads": inside.heads, "adds": inside.adds,
    "parts": inside.parts, "lens": inside.lens, "scores": inside.scores, "targets": inside.targets,
    "gradient": inside.gradient, "zero": inside.zero,
    "next": choosing.next_token, "filter": choosing.removed, "temperature": choosing.temperature,
    "branches": choosing.branches, "swap": choosing.swap, "database": choosing.database,
    "speed": choosing.speed, "cached": choosing.cached, "bytes": choosing.cache_bytes,
    "memory": choosing.memory, "router": choosing.router, "active": choosing.active, "recap": choosing.recap,
}  # fmt: skip


def question(stop_id: str, scene: Scene) -> Question | None:
    """The stop's question about what is on the screen; None where the model or text has none."""
    return QUESTIONS[stop_id](scene)
