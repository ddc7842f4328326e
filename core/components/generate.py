"""The Generate component: a run's state packed for ``assets/js/generate.js``, and the events it sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from core.components.base import Message, mount
from core.components.lines import Line
from core.components.small_grid import shades
from core.decoding.params import SamplingParams
from core.errors import UserError
from core.lessons.generate import Choice, RibbonToken, StepFacts

KINDS = ("next", "back", "jump", "reset", "take", "params", "place")
_SPECIAL, _SPLIT = 1, 2


@dataclass(frozen=True)
class GenerateEvent:
    """What the learner did. ``number`` counts the browser's events, so that it sees which one was answered.

    ``value``: the step to jump to, the token id to take, or the position to look at; 0 for the other kinds.
    ``params``: the settings on the learner's screen at that moment. ``run``: the key of the run that stood
    there; "" means whichever there is.
    """

    kind: str
    number: int
    value: int
    params: SamplingParams
    run: str = ""


def read_event(payload: Any) -> GenerateEvent | None:
    """What the browser sent, checked like any other input; None when it is no event of ours."""
    if not isinstance(payload, Mapping):
        return None
    kind, number, value = payload.get("kind"), payload.get("number"), payload.get("value", 0)
    settings = payload.get("params")
    whole = all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n < 2**53 for n in (number, value))
    if kind not in KINDS or not whole or not isinstance(settings, Mapping):
        return None
    try:
        params = SamplingParams.from_json({name: _plain(name, v) for name, v in settings.items()})
    except (TypeError, ValueError, UserError):
        return None
    return GenerateEvent(str(kind), int(number or 0), int(value), params, str(payload.get("run", "")))


def _plain(name: str, value: Any) -> float | int:
    return int(value) if name in ("seed", "top_k") else float(value)


def header(
    run_key: str,
    tokens: Sequence[RibbonToken],
    prompt_length: int,
    chosen: Sequence[Choice],
    state: StepFacts,
    params: SamplingParams,
    names: tuple[Sequence[int], Sequence[str]],
    layers: int,
    labels: Mapping[str, str],
    answered: int,
    position: int,
    notice: str = "",
    session: str = "",
) -> dict[str, Any]:
    """The message's header: short lists instead of objects, because there is one for each token.

    A token is ``[id, text]``, or ``[id, text, flags, part, parts, bytes as hex]`` when it is special (flag 1)
    or a piece of a split character (flag 2); a choice is ``[probability, rank, forced]``.
    ``session``: another one after a restart of the server, which then answers nothing of before.
    """
    return {
        "run": run_key,
        "tokens": [_token(token) for token in tokens],
        "prompt": prompt_length,
        "chosen": [[round(c.probability, 7), c.rank, int(c.forced)] for c in chosen],
        "state": asdict(state),
        "params": params.to_json(),
        "names": {"ids": list(names[0]), "texts": list(names[1])},
        "layers": layers,
        "labels": dict(labels),
        "answered": answered,
        "position": position,
        "notice": notice,
        "session": session,
    }


def _token(token: RibbonToken) -> list[Any]:
    flags = (_SPECIAL if token.special else 0) | (_SPLIT if token.parts > 1 else 0)
    if not flags:
        return [token.token_id, token.text]
    return [token.token_id, token.text, flags, token.part, token.parts, token.data.hex(" ").upper()]


def generate(message: Message, on: Mapping[str, Callable[[Any], None]], line: Line) -> Any:
    """Show the page's component. ``message``: the header, and what ``arrays`` made."""
    return mount("generate", key="nt_generate", header=message[0], arrays=message[1], on=on, line=line)


def arrays(logits: np.ndarray, norms: np.ndarray) -> dict[str, np.ndarray]:
    """``logits`` (V,): the model's own, of the position on screen; ``norms`` (n_layers, T): for the small
    grid."""
    return {"logits": logits, "shades": shades(norms)}
