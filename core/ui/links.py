"""The address as a public contract: what a link says, checked, and written back. Pure functions, no
Streamlit.

``/<page>?prompt=&model=&chat=0|1&tokens=N&seed=N&temperature=&top_k=&top_p=&step=N&layer=N&head=N&position=N``,
and where a screen needs them to be reproduced: ``min_p``, ``penalty``, ``literal=1`` (special-token text read
as plain text), ``taken=2:7042,5:30`` (after 2 tokens the id 7042 was taken instead of the drawn one, …) and
``ahead=N`` (N tokens beyond ``step`` are there already). ``tour=<stop>`` and ``plan=15|30|45|all`` stand at
a stop of the guided tour, ``present=1`` shows the page for a class. A value that equals its default is left
out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from core.decoding.params import SamplingParams
from core.decoding.randomness import MAX_SEED
from core.engine import catalogue
from core.lessons.tour import PLANS, WHOLE, find

DEFAULT_MODEL = catalogue.DEFAULT
DEFAULT_PROMPT = "The capital of France is"
DEFAULT_TOKEN_LIMIT = 40
MAX_TOKEN_LIMIT = 512
MAX_PROMPT_CHARACTERS = 20_000
MAX_INDEX = 100_000
MAX_TEMPERATURE = 100.0

_DRAW = SamplingParams()


@dataclass(frozen=True)
class Link:
    """What an address says. ``None`` for layer, head and position means "not chosen": the page's own
    default."""

    prompt: str = DEFAULT_PROMPT
    model: str = DEFAULT_MODEL
    chat: bool = False
    literal: bool = False
    tokens: int = DEFAULT_TOKEN_LIMIT
    seed: int = _DRAW.seed
    temperature: float = _DRAW.temperature
    top_k: int = _DRAW.top_k
    top_p: float = _DRAW.top_p
    min_p: float = _DRAW.min_p
    penalty: float = _DRAW.repetition_penalty
    step: int = 0
    ahead: int = 0
    taken: tuple[tuple[int, int], ...] = ()
    layer: int | None = None
    head: int | None = None
    position: int | None = None
    tour: str = ""
    plan: str = WHOLE
    present: bool = False

    def params(self) -> SamplingParams:
        """The sampling settings of the link."""
        return SamplingParams(
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            repetition_penalty=self.penalty,
            seed=self.seed,
        )

    def with_params(self, params: SamplingParams) -> Link:
        """The same link with other sampling settings."""
        return replace(
            self,
            temperature=float(params.temperature),
            top_k=int(params.top_k),
            top_p=float(params.top_p),
            min_p=float(params.min_p),
            penalty=float(params.repetition_penalty),
            seed=int(params.seed),
        )


def parse(query: Mapping[str, str]) -> tuple[Link, tuple[str, ...]]:
    """The link in an address, and the names of the values that could not be used (they keep their
    default)."""
    values: dict[str, Any] = {}
    refused: list[str] = []
    for name, reader in _READERS.items():
        if name not in query:
            continue
        try:
            values[name] = reader(query[name])
        except ValueError:
            refused.append(name)
    link = Link(**values)
    if link.step + link.ahead > link.tokens:
        link = replace(link, step=min(link.step, link.tokens), ahead=0)
        refused.append("step")
    return link, tuple(refused)


def format_link(link: Link) -> dict[str, str]:
    """The address' query for a link, without what equals the default. ``parse`` reads it back to an equal
    link."""
    default = Link()
    query: dict[str, str] = {}
    for field in fields(Link):
        value = getattr(link, field.name)
        if value != getattr(default, field.name):
            query[field.name] = _write(value)
    return query


def of_run(link: Link) -> Link:
    """What a run is made of, without where it is looked at and how: two links with the same can share it."""
    default = Link()
    place = ("step", "ahead", "layer", "head", "position", "tour", "plan", "present")
    return replace(link, **{name: getattr(default, name) for name in place})


def writable(text: str) -> str:
    """Typed text without the characters that no link can hold (see ``parse``); nobody sees them."""
    return "".join(c for c in text if not _unwritable(c))


def _unwritable(character: str) -> bool:
    # A lone surrogate cannot be encoded, and a NUL ends strings in the libraries below.
    return character == "\0" or 0xD800 <= ord(character) <= 0xDFFF


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, tuple):
        return ",".join(f"{step}:{token}" for step, token in value)
    if isinstance(value, float):
        return f"{value:.6g}" if float(f"{value:.6g}") == value else repr(value)
    return str(value)


def _text(limit: int) -> Callable[[str], str]:
    def read(raw: str) -> str:
        if len(raw) > limit or any(map(_unwritable, raw)):
            raise ValueError(raw)
        return raw

    return read


def _model(raw: str) -> str:
    if not re.fullmatch(r"[\w.:~/\\ -]{1,300}", raw):
        raise ValueError(raw)
    return raw


def _flag(raw: str) -> bool:
    if raw not in ("0", "1"):
        raise ValueError(raw)
    return raw == "1"


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(raw: str) -> int:
        if not re.fullmatch(r"[0-9]{1,16}", raw) or not low <= int(raw) <= high:
            raise ValueError(raw)
        return int(raw)

    return read


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(raw: str) -> float:
        if not re.fullmatch(r"[0-9]*\.?[0-9]+(e-?[0-9]{1,3})?|[0-9]+\.", raw):
            raise ValueError(raw)
        value = float(raw)
        if not math.isfinite(value) or not low <= value <= high:
            raise ValueError(raw)
        return value

    return read


def _stop(raw: str) -> str:
    if find(raw) is None:
        raise ValueError(raw)
    return raw


def _plan(raw: str) -> str:
    if raw not in PLANS:
        raise ValueError(raw)
    return raw


def _taken(raw: str) -> tuple[tuple[int, int], ...]:
    pairs: list[tuple[int, int]] = []
    for item in raw.split(","):
        if not re.fullmatch(r"[0-9]{1,6}:[0-9]{1,8}", item):
            raise ValueError(raw)
        step, token = item.split(":")
        pairs.append((int(step), int(token)))
    steps = [step for step, _ in pairs]
    if steps != sorted(set(steps)) or steps[-1] >= MAX_TOKEN_LIMIT:
        raise ValueError(raw)
    return tuple(pairs)


_READERS: dict[str, Callable[[str], Any]] = {
    "prompt": _text(MAX_PROMPT_CHARACTERS),
    "model": _model,
    "chat": _flag,
    "literal": _flag,
    "tokens": _whole(1, MAX_TOKEN_LIMIT),
    "seed": _whole(0, MAX_SEED),
    "temperature": _number(0.0, MAX_TEMPERATURE),
    "top_k": _whole(0, 10_000_000),
    "top_p": _number(0.0, 1.0),
    "min_p": _number(0.0, 1.0),
    "penalty": _number(1e-6, 100.0),
    "step": _whole(0, MAX_TOKEN_LIMIT),
    "ahead": _whole(0, MAX_TOKEN_LIMIT),
    "taken": _taken,
    "layer": _whole(0, MAX_INDEX),
    "head": _whole(0, MAX_INDEX),
    "position": _whole(0, MAX_INDEX),
    "tour": _stop,
    "plan": _plan,
    "present": _flag,
}

NAMES = frozenset(_READERS)
"""The names that a link may hold; other names in an address are left alone."""
