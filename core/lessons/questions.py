"""Questions whose answer is computed from the run: predict first, then see. Pure.

A question holds no sentence. Its ``kind`` names the words: a page that asks it has the labels
``ask_<kind>`` (the question, with ``prompt_values`` for its places), ``why_<kind>`` (at most three
sentences, shown with the answer) and ``choice_<key>`` for each ``Word`` among the choices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

MOST_CHOICES = 9
"""One key of the keyboard each."""


@dataclass(frozen=True)
class Word:
    """A choice that is a word of ours: its label is ``choice_<key>``. Other choices are shown as they are, so
    token text comes with its spaces made visible."""

    key: str


Choice = Word | str


@dataclass(frozen=True)
class Question:
    """What is asked, and what is right.

    Attributes:
        kind: names the words.
        prompt_values: what fills the places of the words, as text; may hold token text.
        choices: two to nine different choices, or none when a whole number is asked for.
        answer: the index of the right choice, or the number.
    """

    kind: str
    prompt_values: Mapping[str, str]
    choices: tuple[Choice, ...]
    answer: int

    def __post_init__(self) -> None:
        """Raises ValueError for a question that cannot be answered."""
        if not self.choices:
            return
        if not 2 <= len(self.choices) <= MOST_CHOICES or len(set(self.choices)) < len(self.choices):
            raise ValueError(f"{self.kind}: two to nine different choices are needed, not {self.choices}")
        if not 0 <= self.answer < len(self.choices):
            raise ValueError(f"{self.kind}: there is no choice {self.answer}")

    @property
    def wants_number(self) -> bool:
        """True when the learner types a whole number instead of taking a choice."""
        return not self.choices

    @property
    def id(self) -> str:
        """Tells this question from another one of its kind, for example after the prompt has changed."""
        values = "|".join(f"{name}={value}" for name, value in sorted(self.prompt_values.items()))
        return f"{self.kind}|{values}|{self.choices}|{self.answer}"

    def is_right(self, given: int) -> bool:
        """Whether this is the right choice or the right number."""
        return given == self.answer


def yes_or_no(kind: str, values: Mapping[str, str], is_so: bool) -> Question:
    """A question with the choices ``choice_yes`` and ``choice_no``."""
    return Question(kind, values, (Word("yes"), Word("no")), 0 if is_so else 1)


def one_of(kind: str, values: Mapping[str, str], keys: Sequence[str], right: str) -> Question:
    """A question whose choices are words of ours, in this order. Raises ValueError when ``right`` is none."""
    return Question(kind, values, tuple(Word(key) for key in keys), list(keys).index(right))


def among_numbers(kind: str, values: Mapping[str, str], right: int, others: Iterable[int]) -> Question:
    """A question with numbers to choose from, in ascending order; what equals the answer or is below zero is
    left out."""
    numbers = sorted({right, *(other for other in others if other >= 0)})
    if len(numbers) < 2:
        numbers = [right, right + 1]
    return Question(kind, values, tuple(f"{number:,}" for number in numbers), numbers.index(right))


def among_texts(
    kind: str, values: Mapping[str, str], right: str, others: Iterable[str], turn: int = 0
) -> Question | None:
    """A question with texts to choose from; what is written like the answer is left out.

    ``turn`` says where the right one stands (counted round), so that it is not always the first. None when
    nothing else is left to choose.
    """
    wrong = [text for text in dict.fromkeys(others) if text != right]
    if not wrong:
        return None
    at = turn % (len(wrong) + 1)
    return Question(kind, values, (*wrong[:at], right, *wrong[at:]), at)
