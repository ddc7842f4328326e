"""The Targets page's components, drawn by ``assets/js/targets.js``: shifted targets, and the two worlds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.components.base import EventHandler, mount
from core.lessons.targets import Kind, Scores
from core.lessons.teacher_forcing import Top, Worlds

ROWS_KEY = "nt_targets_rows"
Words = Mapping[str, str]


def target_rows(
    scores: Scores,
    scored: np.ndarray,
    tokens: Sequence[str],
    texts: Sequence[str],
    kinds: Sequence[Kind],
    names: Mapping[int, str],
    *,
    end: str | None,
    position: int,
    text_id: str,
    labels: Words,
    on_choose: EventHandler,
) -> Any:
    """One row for each of T ``tokens``. ``scores`` has T − 1 rows, or T when the last is scored on ``end``.

    ``texts`` join to the text: "" for the later parts of a split character, which ``tokens`` names
    ``🦜⟨2/4⟩``. ``scored`` (rows,): which count in the mean. ``names``: texts of the favourites.
    ``text_id`` tells texts apart. ``on_choose`` gets ``{"position": int}``.
    """
    header = {
        "view": "rows",
        "tokens": list(tokens),
        "texts": list(texts),
        "kinds": list(kinds),
        "end": end,
        "names": {str(token_id): name for token_id, name in names.items()},
        "chosen": position,
        "text": text_id,
        "labels": dict(labels),
    }
    arrays = {
        "log_p": scores.log_p,
        "ranks": scores.ranks,
        "favourites": scores.favourites,
        "favourite_p": scores.favourite_p,
        "scored": scored,
    }
    return mount("targets", key=ROWS_KEY, header=header, arrays=arrays, on={"choose": on_choose})


def two_worlds(
    shown: Worlds,
    given: Sequence[str],
    tokens: Mapping[int, str],
    names: Mapping[int, str],
    seeds: Sequence[tuple[int, int | None, bool]],
    *,
    text_id: str,
    labels: Words,
    on_seed: EventHandler,
) -> Any:
    """One seed's places. ``tokens``: the reference's texts by position; ``names``: texts by token id.

    ``seeds``: each seed, where its text parts from the reference, and whether it is complete. ``on_seed``
    gets ``{"seed": int}``.
    """

    def top(of: Top) -> list[list[Any]]:
        return [[names[token_id], p] for token_id, p in of]

    header = {
        "view": "worlds",
        "given": list(given),
        "places": [
            {
                "position": place.position,
                "reference": tokens[place.position],
                "true_loss": place.true_loss,
                "own": None if place.own_id is None else names[place.own_id],
                "same": place.own_id == place.reference_id,
                "own_loss": place.own_loss,
                "kl": place.kl,
                "true_top": top(place.true_top),
                "own_top": top(place.own_top),
            }
            for place in shown.places
        ],
        "parted": shown.parted,
        "seed": shown.seed,
        "seeds": [list(seed) for seed in seeds],
        "text": text_id,
        "labels": dict(labels),
    }
    return mount("targets", key="nt_targets_worlds", header=header, on={"seed": on_seed})


def read_whole(payload: Any, name: str) -> int | None:
    """A whole number that the browser sent, checked like any other input."""
    value = payload.get(name) if isinstance(payload, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
