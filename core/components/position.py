"""The Position page in the browser: a query and a key to move, two orders of words, learned positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.charts.labels import percent
from core.components.base import EventHandler, mount
from core.lessons.position import ByDistance, Orders, Rotation

Words = Mapping[str, str]


def rotor(
    of: Rotation,
    query: int,
    key: int,
    keys: Sequence[int],
    tokens: Sequence[str],
    *,
    name: str,
    max_positions: int,
    labels: Words,
) -> Any:
    """Dials, score and curve for the query at ``query``; the key is chosen in the browser among ``keys``.

    ``name`` differs for what must start at its own places again (another run, token, layer or head).
    """
    reaches = [reach for reach in (64, 512, 4096) if reach <= max_positions] or [max_positions]
    header = {
        "view": "rotor",
        "of": name,
        "query": query,
        "key": key,
        "query_text": tokens[query],
        "keys": [{"position": at, "text": tokens[at]} for at in keys],
        "factor": of.factor,
        "scale": of.scale,
        "top": min(max_positions - 1, max(63, 2 * len(tokens))),
        "reaches": reaches,
        "labels": dict(labels),
    }
    arrays = {
        "q": of.q_pre[query],
        "keys": of.k_pre[list(keys)],
        "pairs": of.pairing.before.astype(np.int32),
        "freq": of.inv_freq,
    }
    return mount("position", key="nt_position_rotor", header=header, arrays=arrays)


def order_rows(
    found: Orders,
    titles: Sequence[str],
    texts: Sequence[Sequence[str]],
    names: Mapping[int, str],
    labels: Words,
) -> Any:
    """Two texts as tokens with their places, and what each would go on with."""
    twins = (dict(found.pairs), {b: a for a, b in found.pairs})
    sides = []
    for side, title in enumerate(titles):
        tokens = []
        for at, text in enumerate(texts[side]):
            twin = twins[side].get(at)
            state = "alone" if twin is None else "same" if twin == at else "moved"
            place = labels[f"place_{state}"].format(at=at, twin=twin)
            tokens.append({"text": text, "state": state, "place": place})
        following = [
            {"id": token, "text": names[token], "percent": percent(chance), "share": chance}
            for token, chance in found.top[side]
        ]
        sides.append({"title": title, "tokens": tokens, "next": following})
    return mount(
        "position",
        key="nt_position_orders",
        header={"view": "orders", "orders": sides, "labels": dict(labels)},
    )


def learned_rows(
    rows: np.ndarray,
    positions: Sequence[int],
    tokens: Sequence[str],
    *,
    position: int,
    labels: Words,
    on_choose: EventHandler,
) -> Any:
    """A learned position vector for each shown position. ``on_choose`` gets ``{"position": int}``."""
    header = {
        "view": "learned",
        "tokens": [{"position": at, "text": tokens[at], "note": str(at)} for at in positions],
        "position": position,
        "labels": dict(labels),
    }
    return mount(
        "position", key="nt_position_learned", header=header, arrays={"rows": rows}, on={"choose": on_choose}
    )


def distance_curves(found: ByDistance, labels: Mapping[str, str]) -> Any:
    """Scores of a head against distance. ``labels``: own, mean, typical, x, y, alt."""
    arrays = {"own": found.own, "mean": found.mean, "typical": found.typical}
    return mount("distance", key="nt_position_distance", header={"labels": dict(labels)}, arrays=arrays)
