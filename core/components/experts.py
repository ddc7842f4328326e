"""The Experts page in the browser (``assets/js/experts.js``): the routing of a text, the chosen cell,
the tokens that one expert took, one word in two contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.components.base import EventHandler, mount
from core.lessons.experts import Choices
from core.lessons.experts_added import Addition

Words = Mapping[str, str]


def read_numbers(payload: Any, *names: str) -> dict[str, int]:
    """The whole numbers from 0 under ``names`` in what the browser sent; anything else is left out."""
    if not isinstance(payload, Mapping):
        return {}
    asked = {name: payload.get(name) for name in names}
    return {
        name: value
        for name, value in asked.items()
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0
    }


def routing_grid(
    found: Choices,
    tokens: Sequence[str],
    *,
    prompt_length: int,
    n_layers: int,
    labels: Words,
    on_choose: EventHandler,
    on_expert: EventHandler,
) -> Any:
    """The grid, the chosen cell's distribution and its token's way through the layers.

    The message does not hold the chosen place (``cell_added`` tells it), so it is not sent again when the
    learner moves. ``on_choose`` gets layer and position, ``on_expert`` the expert that is looked for.
    """
    routing = found.routing
    header = {
        "view": "routing",
        "tokens": list(tokens),
        "routers": list(found.layers),
        "n_layers": n_layers,
        "prompt_length": prompt_length,
        "labels": dict(labels),
    }
    small = np.uint8 if found.n_experts <= 256 else np.uint16
    arrays = {
        "probabilities": found.probabilities,
        "indices": routing.indices.astype(small),
        "weights": routing.weights,
    }
    if routing.shared_gate is not None:
        arrays["gate"] = routing.shared_gate
    events = {"choose": on_choose, "expert": on_expert}
    return mount("experts", key="nt_experts", header=header, arrays=arrays, on=events)


def cell_added(
    added: Addition | None,
    *,
    layer: int,
    position: int,
    token: str,
    next_token: str,
    gated: bool,
    labels: Words,
) -> Any:
    """Where the page looks, and what the experts of that cell added; empty at a dense layer.

    ``gated``: what a shared expert counts is its gate, not a weight of the router.
    """
    parts = () if added is None else added.parts
    header = {
        "view": "place",
        "layer": layer,
        "position": position,
        "token": token,
        "next": next_token,
        "stream": 0.0 if added is None else added.stream,
        "total": 0.0 if added is None else added.total,
        "effects": bool(parts) and all(part.effect is not None for part in parts),
        "gated": gated,
        "parts": [vars(part) for part in parts],
        "labels": dict(labels),
    }
    return mount("experts", key="nt_experts_place", header=header)


def taken_tokens(
    texts: Sequence[tuple[str, Sequence[str], np.ndarray]], *, expert: int, labels: Words
) -> Any:
    """Texts, (title, tokens, (T,) weights), with the tokens lit that one expert took."""
    header = {
        "view": "taken",
        "expert": expert,
        "texts": [
            {"title": title, "tokens": list(tokens), "weights": [round(float(w), 4) for w in weights]}
            for title, tokens, weights in texts
        ],
        "labels": dict(labels),
    }
    return mount("experts", key="nt_experts_taken", header=header)


def two_contexts(rows: Sequence[tuple[str, Choices, int]], *, n_layers: int, labels: Words) -> Any:
    """Two tokens, (title, routing of its text, position), each with its way through the layers."""
    header = {
        "view": "pair",
        "routers": list(rows[0][1].layers),
        "n_layers": n_layers,
        "rows": [
            {
                "title": title,
                "indices": found.routing.indices[:, at].tolist(),
                "weights": found.routing.weights[:, at].round(5).tolist(),
            }
            for title, found, at in rows
        ],
        "labels": dict(labels),
    }
    return mount("experts", key="nt_experts_pair", header=header)
