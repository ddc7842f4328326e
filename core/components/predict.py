"""A question in the browser (``assets/js/predict.js``): asked, answered, and then told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.components.base import mount

WORDS = ("answers", "show", "check", "number", "right", "wrong", "shown")
"""The short words around every question."""


@dataclass(frozen=True)
class Asked:
    """A question in words. ``given``: what was answered; ``revealed``: whether the answer is shown."""

    id: str
    ask: str
    choices: Sequence[str]
    answer: int
    why: str
    given: int | None
    revealed: bool

    def header(self, words: Mapping[str, str]) -> dict[str, Any]:
        """The part of a message that ``lib/question.js`` reads."""
        return {**vars(self), "choices": list(self.choices), "labels": {name: words[name] for name in WORDS}}


def predict(asked: Asked, *, key: str, words: Mapping[str, str], on_answer: Callable[[Any], None]) -> Any:
    """Show a question by itself. ``on_answer`` gets what ``read_answer`` reads."""
    return mount("predict", key=key, header=asked.header(words), on={"answer": on_answer})


def read_answer(payload: Any) -> tuple[str, int | None] | None:
    """The question's id and the answer, or None for anything else. The answer itself is None when the learner
    only wanted to see it."""
    if not isinstance(payload, Mapping):
        return None
    name, given = payload.get("id"), payload.get("given")
    number = isinstance(given, int) and not isinstance(given, bool) and 0 <= given < 2**53
    if not isinstance(name, str) or not (given is None or number):
        return None
    return name, given
