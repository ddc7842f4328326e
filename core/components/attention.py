"""The Attention page's two components, both drawn by ``assets/js/attention.js``: one head at work, and all
heads at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.components.base import EventHandler, mount
from core.lessons.attention import Contributions, HeadFacts, group_of
from core.lessons.attention_overview import MEASURES, Overview


def read_place(payload: Any) -> dict[str, int]:
    """``layer``, ``head`` and ``position`` out of what the browser sent; anything else is left out."""
    if not isinstance(payload, Mapping):
        return {}
    asked = {name: payload.get(name) for name in ("layer", "head", "position")}
    return {
        name: value
        for name, value in asked.items()
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0
    }


def one_head(
    facts: HeadFacts,
    shares: Contributions,
    *,
    tokens: Sequence[str],
    names: Sequence[str],
    position: int,
    n_layers: int,
    n_heads: int,
    n_kv_heads: int,
    labels: Mapping[str, str],
    on_place: EventHandler,
) -> Any:
    """One head, worked out in the browser from its own q, k and v.

    ``tokens``: T texts; ``names``: K texts of the tokens whose logits are asked about. ``on_place`` gets a
    mapping with any of layer, head and position.
    """
    header = {
        "view": "head",
        "tokens": list(tokens),
        "layer": facts.layer,
        "head": facts.head,
        "position": position,
        "layers": n_layers,
        "groups": group_of(n_heads, n_kv_heads),
        "scale": facts.scale,
        "softcap": facts.softcap,
        "sink": facts.sink,
        "residual": shares.residual,
        "names": list(names),
        "probabilities": [float(p) for p in shares.probabilities],
        "labels": dict(labels),
    }
    arrays = {"q": facts.q, "k": facts.k, "v": facts.v, "first": facts.first_key, "sizes": shares.sizes}
    if shares.effects is not None:
        arrays["effects"] = shares.effects
    return mount("attention", key="nt_attention", header=header, arrays=arrays, on={"place": on_place})


def all_heads(
    overview: Overview,
    *,
    n_positions: int,
    n_kv_heads: int,
    labels: Mapping[str, str],
    on_place: EventHandler,
    on_more: EventHandler,
) -> Any:
    """Every head as a small picture. ``on_more`` is called while layers are still missing.

    The message does not hold the chosen place, so that it stays the same (and is not sent again) while the
    learner moves; the browser side gets the place from the other component.
    """
    _, heads, size, _ = overview.cells.shape
    header = {
        "view": "overview",
        "layers": overview.n_layers,
        "done": overview.done,
        "heads": heads,
        "groups": group_of(heads, n_kv_heads),
        "size": size,
        "block": overview.block,
        "stride": overview.stride,
        "positions": n_positions,
        "measures": list(MEASURES),
        "rows": [int(count) for count in overview.rows],
        "labels": dict(labels),
    }
    arrays = {"cells": overview.triangle(), "measures": overview.measures}
    events = {"place": on_place, "more": on_more}
    return mount("attention", key="nt_attention_all", header=header, arrays=arrays, on=events)
