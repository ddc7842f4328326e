"""The Tree page in the browser: nodes as short rows, beams, and the events that the learner sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, get_args

from core.components.base import EventHandler, mount
from core.decoding.beam import BeamSettings, ScoreRule
from core.lessons.tree_view import BeamView, Candidate, Row

KINDS = ("go", "take", "next", "grow", "beam", "clear", "more", "stop")
MAX_WIDTH, MAX_BEAM_TOKENS, MAX_TOP_K, MAX_DEPTH = 5, 20, 5, 12
_RULES = get_args(ScoreRule)


@dataclass(frozen=True)
class TreeEvent:
    """What the learner did. ``node``: a node's number; ``value``: a token id; ``beams``: of a new search.

    ``go`` to a node, ``take`` a token after a node, draw the ``next`` one, ``grow`` from a node by
    ``top_k`` to ``depth``, start a ``beam`` search or ``clear`` it, work on (``more``) or ``stop``.
    """

    kind: str
    node: int = 0
    value: int = 0
    top_k: int = 1
    depth: int = 1
    beams: BeamSettings | None = None


def read_event(payload: Any) -> TreeEvent | None:
    """What the browser sent, checked like any other input; None when it is no event of ours."""
    if not isinstance(payload, Mapping) or payload.get("kind") not in KINDS:
        return None
    node, value = _whole(payload, "node", 0), _whole(payload, "value", 0)
    top_k, depth = _whole(payload, "top_k", 1, MAX_TOP_K), _whole(payload, "depth", 1, MAX_DEPTH)
    beams = _beams(payload) if payload["kind"] == "beam" else None
    if None in (node, value, top_k, depth) or (payload["kind"] == "beam" and beams is None):
        return None
    return TreeEvent(str(payload["kind"]), node or 0, value or 0, top_k or 1, depth or 1, beams)


def _beams(payload: Mapping[str, Any]) -> BeamSettings | None:
    width, tokens = _whole(payload, "width", 1, MAX_WIDTH), _whole(payload, "tokens", 1, MAX_BEAM_TOKENS)
    rule: Any = payload.get("rule")
    penalty = payload.get("penalty", 1.0)
    number = isinstance(penalty, int | float) and not isinstance(penalty, bool) and -5 <= penalty <= 5
    if width is None or tokens is None or rule not in _RULES or not number:
        return None
    return BeamSettings(width, tokens, rule, float(penalty))


def _whole(payload: Mapping[str, Any], name: str, low: int, high: int = 2**31) -> int | None:
    """A whole number within bounds; ``low`` when it is left out, None when it is something else."""
    value = payload.get(name, low)
    fits = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    return value if fits else None


def header(
    *,
    tree_key: str,
    prompt: str,
    nodes: Sequence[Row],
    path: Sequence[int],
    cursor: int,
    log_probability: float,
    near: tuple[Sequence[Candidate], float],
    deepest: Mapping[int, int],
    job: Mapping[str, Any] | None,
    beams: tuple[Sequence[BeamView], BeamSettings] | None,
    stop: str | None,
    notice: str,
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """The component's message. A node is ``[number, parent, id, text, p, path's log p, rank, ends]``.

    ``path``: numbers of the run's nodes, those ahead of ``cursor`` included; ``near``: candidates after the
    cursor and the mass of the rest; ``deepest``: for each top-k how deep one may grow.
    """
    return {
        "tree": tree_key,
        "prompt": prompt,
        "nodes": [
            [n.number, n.parent, n.token_id, n.text, n.probability, n.log_probability, n.rank, int(n.ends)]
            for n in nodes
        ],
        "path": list(path),
        "cursor": cursor,
        "log_probability": log_probability,
        "candidates": [asdict(item) for item in near[0]],
        "rest": near[1],
        "deepest": {str(top_k): depth for top_k, depth in deepest.items()},
        "job": dict(job) if job else None,
        "beams": None
        if beams is None
        else {"steps": [asdict(step) for step in beams[0]], "settings": _settings(beams[1])},
        "stop": stop,
        "notice": notice,
        "labels": dict(labels),
    }


def _settings(settings: BeamSettings) -> dict[str, Any]:
    return {
        "width": settings.width,
        "tokens": settings.max_tokens,
        "rule": settings.rule,
        "exponent": settings.exponent,
    }


def tree(message: Mapping[str, Any], on_act: EventHandler) -> Any:
    """Show the tree, its candidates, its growth and its beams."""
    return mount("tree", key="nt_tree", header=message, on={"act": on_act})
