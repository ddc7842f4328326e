"""The What-if page in the browser: the swap, both branches, and sentences scored side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from core.components.base import EventHandler, mount
from core.lessons.what_if import Comparison, LaneToken, Sentence

KINDS = ("at", "swap", "type", "more", "stop", "longer", "generate", "keep", "clear")
KEY = "nt_what_if"
MAX_TYPED = 200


@dataclass(frozen=True)
class WhatIfEvent:
    """What the learner did.

    Look ``at`` a token of the run, ``swap`` it for the token id ``value`` or for a ``type``-d ``text``; work
    on (``more``), ``stop``, go on ``longer``; ``generate`` a first text; ``keep`` branch B as the run;
    ``clear`` the swap.
    """

    kind: str
    value: int = 0
    text: str = ""


def read_event(payload: Any) -> WhatIfEvent | None:
    """What the browser sent, checked like any other input; None when it is no event of ours."""
    if not isinstance(payload, Mapping) or payload.get("kind") not in KINDS:
        return None
    value, text = payload.get("value", 0), payload.get("text", "")
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
    if not whole or not isinstance(text, str) or len(text) > MAX_TYPED:
        return None
    return WhatIfEvent(str(payload["kind"]), value, text)


def header(
    *,
    prompt: str,
    made: Sequence[LaneToken],
    at: int | None,
    candidates: Sequence[tuple[int, str, float]],
    found: Comparison | None,
    stops: tuple[str | None, str | None],
    job: tuple[int, int] | None,
    notice: str,
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """The component's message. ``made``: the run's own tokens; ``candidates``: of the place ``at``."""
    return {
        "view": "branches",
        "prompt": prompt,
        "made": [_token(token) for token in made],
        "at": at,
        "candidates": [list(item) for item in candidates],
        "found": None if found is None else _comparison(found),
        "stops": list(stops),
        "job": list(job) if job else None,
        "notice": notice,
        "labels": dict(labels),
    }


def _comparison(found: Comparison) -> dict[str, Any]:
    return {
        "a": [_token(token) for token in found.lane_a],
        "b": [_token(token) for token in found.lane_b],
        # A token that only A can take makes the distance infinite; JSON has no word for that.
        "places": [[round(p.kl, 6) if math.isfinite(p.kl) else None, p.same] for p in found.places],
        "meeting": asdict(found.meeting) if found.meeting else None,
        "surprise": [found.surprise_a, found.surprise_b],
    }


def _token(token: LaneToken) -> list[Any]:
    """``[id, text, probability, entropy in bits, 1 when it was put there]``"""
    return [token.token_id, token.text, token.probability, round(token.entropy, 5), int(token.given)]


def what_if(message: Mapping[str, Any], on_act: EventHandler) -> Any:
    """Show the swap and both branches."""
    return mount("what_if", key=KEY, header=message, on={"act": on_act})


def sentences(scored: Sequence[tuple[str, Sentence]], labels: Mapping[str, str]) -> Any:
    """Sentences under their titles, each token with its surprise."""
    message = {
        "view": "sentences",
        "sentences": [
            {
                "title": title,
                "tokens": [[t.token_id, t.text, t.probability, t.surprise, t.rank] for t in sentence.tokens],
                "mean": sentence.mean_log_probability,
                "bits": sentence.total_bits,
                "perplexity": sentence.perplexity,
            }
            for title, sentence in scored
        ],
        "labels": dict(labels),
    }
    return mount("what_if", key="nt_what_if_sentences", header=message)
