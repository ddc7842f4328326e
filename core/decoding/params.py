"""The settings of one draw, checked once where they come in."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from core.decoding.randomness import MAX_SEED
from core.errors import UserError

GREEDY_BELOW = 1e-6


@dataclass(frozen=True)
class SamplingParams:
    """How a next token is drawn. Zero or one, as noted, switches a stage off.

    ``temperature`` 0 means greedy: always the likeliest token. ``top_k`` 0 is off. ``top_p`` 1 is off, 0
    keeps one token. ``min_p`` 0 is off. ``repetition_penalty`` 1 is off. ``seed`` fixes every random number
    of a run. Raises UserError for a value outside its range.
    """

    temperature: float = 0.8
    top_k: int = 0
    top_p: float = 0.95
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _check("temperature", self.temperature, 0.0, math.inf, "Use 0 (greedy) or a positive number.")
        _check("top_k", self.top_k, 0, math.inf, "Use 0 (off) or a positive whole number.", whole=True)
        _check("top_p", self.top_p, 0.0, 1.0, "Use a number from 0 to 1; 1 is off.")
        _check("min_p", self.min_p, 0.0, 1.0, "Use a number from 0 to 1; 0 is off.")
        _check(
            "repetition_penalty", self.repetition_penalty, 0.0, math.inf, "Use a number above 0; 1 is off."
        )
        if self.repetition_penalty == 0:
            raise UserError("The repetition_penalty 0 cannot be used.", "Use a number above 0; 1 is off.")
        _check("seed", self.seed, 0, MAX_SEED, "Use a whole number from 0 to 2^53 - 1.", whole=True)

    @property
    def greedy(self) -> bool:
        """True when the temperature is 0, or so near to it that dividing by it would overflow."""
        return self.temperature < GREEDY_BELOW

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> "SamplingParams":
        """Read what ``to_json`` wrote. Raises UserError for unknown names or values outside their range."""
        if not isinstance(data, dict) or not set(data) <= {field.name for field in fields(cls)}:
            raise UserError("The sampling settings in this file cannot be read.", "Save the run again.")
        return cls(**data)


def _check(name: str, value: Any, low: float, high: float, todo: str, whole: bool = False) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not low <= value <= high or (whole and value != int(value)):
        raise UserError(f"The {name} {value!r} cannot be used.", todo)
