"""The Timeline page's components, both drawn by ``assets/js/timeline.js``: the run to scale, and the unused
predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.components.base import EventHandler, mount
from core.lessons.timeline import Guess, Timeline


def run_timeline(
    line: Timeline,
    tokens: Sequence[str],
    *,
    prompt_length: int,
    position: int,
    labels: Mapping[str, str],
    on_choose: EventHandler,
) -> Any:
    """The passes of a run to scale. ``on_choose`` gets ``{"position": int}``: a pass's last token."""
    passes, at = [], line.tokenise_s
    for one in line.passes:
        passes.append(
            {"start": one.start, "end": one.end, "from": at, "seconds": one.total_s, "choose": one.choose_s}
        )
        at += one.total_s + (one.choose_s or 0.0)
    header = {
        "view": "line",
        "passes": passes,
        "tokens": list(tokens),
        "prompt": prompt_length,
        "position": position,
        "total": line.total_s,
        "tokenise": line.tokenise_s,
        "ttft": line.ttft_s,
        "labels": dict(labels),
    }
    arrays = {"stages": line.table()}
    return mount("timeline", key="nt_timeline", header=header, arrays=arrays, on={"choose": on_choose})


def unused_predictions(
    guesses: Sequence[Guess],
    tokens: Sequence[str],
    names: Mapping[int, str],
    *,
    position: int,
    labels: Mapping[str, str],
    on_choose: EventHandler,
) -> Any:
    """What prefill predicted at prompt positions. ``tokens``: texts of all; ``names``: of the guesses."""
    header = {
        "view": "guesses",
        "guesses": [
            {
                "position": guess.position,
                "token": tokens[guess.position],
                "guess": names[guess.token_id],
                "probability": guess.probability,
                "right": guess.right,
                "used": guess.used,
            }
            for guess in guesses
        ],
        "position": position,
        "labels": dict(labels),
    }
    return mount("timeline", key="nt_timeline_guesses", header=header, on={"choose": on_choose})


def read_position(payload: Any) -> int | None:
    """The position that the browser sent, None for anything else."""
    value = payload.get("position") if isinstance(payload, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
