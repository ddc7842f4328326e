"""The sampling laboratory: one distribution for ``assets/js/sampling_lab.js``, and the events it sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from core.components.base import mount
from core.decoding.params import SamplingParams
from core.errors import UserError

_WHOLE = ("seed", "top_k")


def read_params(payload: Any) -> SamplingParams | None:
    """The settings that the browser sent, checked like any other input; None when they are not settings."""
    if not isinstance(payload, Mapping):
        return None
    try:
        values = {str(name): int(v) if name in _WHOLE else float(v) for name, v in payload.items()}
        return SamplingParams.from_json(values)
    except (TypeError, ValueError, OverflowError, UserError):
        return None


def read_place(payload: Any, count: int) -> int | None:
    """The position that was chosen, or None when this run does not have it."""
    position = payload.get("position") if isinstance(payload, Mapping) else None
    if not isinstance(position, int) or isinstance(position, bool):
        return None
    return position if 0 <= position < count else None


def sampling_lab(
    message: Mapping[str, Any],
    logits: np.ndarray,
    *,
    on_params: Callable[[Any], None],
    on_place: Callable[[Any], None],
) -> Any:
    """Show the laboratory. ``message`` is the header of the Generate component, with ``given``; ``logits``
    (V,)."""
    return mount(
        "sampling_lab",
        key="nt_sampling_lab",
        header=message,
        arrays={"logits": logits},
        on={"params": on_params, "place": on_place},
    )
