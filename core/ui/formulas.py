"""Formulas with numbers filled in. The LaTeX is our own; only numbers go into it, never a token or a
prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.charts.labels import number

_PLACE = re.compile(r"<<(\w+)>>")


def fill(template: str, values: Mapping[str, float | Sequence[float]]) -> str:
    """``\\frac{<<a>>}{<<b>>}`` with a=1.5, b=2 becomes ``\\frac{1.5}{2}``; a sequence is joined by commas.

    Raises TypeError for a value that is not a number, KeyError for a place without a value.
    """
    return _PLACE.sub(lambda match: _latex(values[match.group(1)]), template)


def _latex(value: Any) -> str:
    if isinstance(value, str) or value is None:
        raise TypeError("Only numbers go into a formula.")
    if isinstance(value, Sequence):
        return r",\ ".join(_latex(item) for item in value)
    if isinstance(value, int):
        return f"{value:,}".replace(",", "{,}")
    written = number(float(value), 4).replace("−", "-").replace(",", "{,}")
    return re.sub(r"e([+-]?)0*(\d+)$", r"\\cdot 10^{\1\2}", written).replace("^{+", "^{")
