"""A run or a tree as JSON: saved on one machine, opened on another that has the same model.

Only choices are saved, no tensors: opening computes every step again, so what is on screen is still the
model's own. A file names its model by name and by a fingerprint of the weights; another model is refused
with a clear message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from core.decoding.run import How, Run, StopRules
from core.decoding.sampling import SamplingParams
from core.decoding.tree import Node, Stepper, Tree
from core.errors import UserError

RUN_SCHEMA = "next-token-run"
TREE_SCHEMA = "next-token-tree"
VERSION = 1
MAX_STEPS = 2000
"""Most tokens that a file may hold: each is one decode step when the file is opened."""
Progress = Callable[[int, int], object]
_HOWS: tuple[How, ...] = ("greedy", "sampled", "forced")
_DAMAGED = ("This file is not a saved run or tree, or it is damaged.", "Choose a file that this app saved.")


class NamedStepper(Stepper, Protocol):
    """An engine that can say which model it is."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...


Asked = Mapping[str, Any]
"""How the prompt was asked for (``prompt``, ``chat``, ``literal``), so that the address can say it again."""


def run_to_json(run: Run, model: NamedStepper, asked: Asked | None = None) -> dict[str, Any]:
    """The run's prompt, path, settings and cursor as plain data."""
    return {
        **_header(RUN_SCHEMA, model, asked),
        "prompt_ids": list(run.prompt_ids),
        "params": run.params.to_json(),
        "max_tokens": run.rules.max_tokens,
        "steps": [
            {"token_id": r.token_id, "how": r.how, "u": r.u, "params": r.params.to_json()} for r in run.steps
        ],
        "cursor": run.cursor,
    }


def run_from_json(
    data: Any, model: NamedStepper, progress: Progress | None = None, tree: Tree | None = None
) -> Run:
    """Open a saved run: prefill its prompt and take its steps again. ``progress`` gets (done, total) steps.

    ``tree``: one of the same prompt that is open already; what it holds is not computed again.
    Raises UserError when the file is damaged, of a newer version, or of another model.
    """
    _check_header(data, RUN_SCHEMA, model)
    prompt_ids, steps = _ids(data.get("prompt_ids")), _list(data.get("steps"))
    choices = [_step(step) for step in steps]
    cursor, max_tokens = data.get("cursor"), data.get("max_tokens")
    if not prompt_ids or not _is_id(cursor) or not (max_tokens is None or _is_id(max_tokens)):
        raise UserError(*_DAMAGED)
    _check_size(choices)
    params = SamplingParams.from_json(data.get("params"))
    run = Run.start(model, prompt_ids, params, StopRules.of(model), tree=tree)
    for done, (token_id, how, u, params) in enumerate(choices, start=1):
        run.replay(token_id, params, how, u)
        if progress:
            progress(done, len(choices))
    run.params = params
    run.limit(max_tokens)
    run.jump(cursor)
    return run


def tree_to_json(
    tree: Tree, model: NamedStepper, asked: Asked | None = None, run: Run | None = None
) -> dict[str, Any]:
    """The tree as plain data: every node but the root as [number of its parent, token id], parents first.

    With ``run``, which must be on this tree, its settings, its path and its place in it come along.
    """
    rows = [[node.parent.number, node.token_id] for node in tree.in_order() if node.parent is not None]
    data = {**_header(TREE_SCHEMA, model, asked), "prompt_ids": list(tree.prompt_ids), "nodes": rows}
    return data if run is None else data | {"run": run_to_json(run, model)}


def tree_from_json(data: Any, model: NamedStepper, progress: Progress | None = None) -> Tree:
    """Open a saved tree, computing each node once. Raises UserError as ``run_from_json`` does."""
    _check_header(data, TREE_SCHEMA, model)
    prompt_ids, rows = _ids(data.get("prompt_ids")), [_ids(row) for row in _list(data.get("nodes"))]
    if not prompt_ids or any(len(row) != 2 or row[0] > index for index, row in enumerate(rows)):
        raise UserError(*_DAMAGED)
    _check_size(rows)
    tree = Tree(model, prompt_ids)
    nodes: list[Node] = [tree.root]
    for done, (parent, token_id) in enumerate(rows, start=1):
        if token_id >= tree.root.engine_pass.logits.size:
            raise UserError(*_DAMAGED)
        nodes.append(tree.extend(nodes[parent], token_id))
        if progress:
            progress(done, len(rows))
    return tree


def open_saved(data: Any, model: NamedStepper, progress: Progress | None = None) -> Run:
    """Open a saved run or a saved tree, whichever ``data`` is, as a run on a tree of its own.

    A tree without a run in it opens at its prompt. Raises UserError as ``run_from_json`` does.
    """
    if not isinstance(data, dict) or data.get("schema") != TREE_SCHEMA:
        return run_from_json(data, model, progress)
    tree = tree_from_json(data, model, progress)
    if "run" not in data:
        return Run(tree, SamplingParams(), StopRules.of(model))
    return run_from_json(data["run"], model, tree=tree)


def read_asked(data: Any) -> dict[str, Any] | None:
    """The checked ``Asked`` of a file, or None when it has none."""
    asked = data.get("asked") if isinstance(data, dict) else None
    if asked is None:
        return None
    kinds = {"prompt": str, "chat": bool, "literal": bool}
    if not isinstance(asked, dict) or set(asked) != set(kinds):
        raise UserError(*_DAMAGED)
    if not all(isinstance(asked[name], kind) for name, kind in kinds.items()):
        raise UserError(*_DAMAGED)
    return dict(asked)


def from_text(text: bytes) -> Any:
    """The bytes of a file as plain data. Raises UserError when they are no JSON."""
    try:
        return json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise UserError(*_DAMAGED) from None


def _header(schema: str, model: NamedStepper, asked: Asked | None) -> dict[str, Any]:
    extra = {} if asked is None else {"asked": dict(asked)}
    return extra | {
        "schema": schema,
        "version": VERSION,
        "model": {"name": model.name, "fingerprint": model.fingerprint},
    }


def _check_header(data: Any, schema: str, model: NamedStepper) -> None:
    if not isinstance(data, dict) or data.get("schema") != schema or not _is_id(data.get("version")):
        raise UserError(*_DAMAGED)
    if data["version"] > VERSION:
        raise UserError(
            "This file was saved by a newer version of the app.", "Update the app and open it again."
        )
    saved = data.get("model")
    if not isinstance(saved, dict) or not isinstance(saved.get("name"), str):
        raise UserError(*_DAMAGED)
    if saved.get("fingerprint") != model.fingerprint:
        same_name = saved["name"] == model.name
        loaded = "one with other weights" if same_name else model.name
        raise UserError(
            f"This file was saved with the model {saved['name']}; loaded is {loaded}.",
            "Use the same weights on both machines."
            if same_name
            else f"Choose {saved['name']} and open it again.",
        )


def _step(step: Any) -> tuple[int, How, float | None, SamplingParams]:
    if not isinstance(step, dict) or not _is_id(step.get("token_id")) or step.get("how") not in _HOWS:
        raise UserError(*_DAMAGED)
    u = step.get("u")
    if not (u is None or (isinstance(u, float | int) and 0 <= u < 1)):
        raise UserError(*_DAMAGED)
    return step["token_id"], step["how"], u, SamplingParams.from_json(step.get("params"))


def _check_size(steps: list[Any]) -> None:
    if len(steps) > MAX_STEPS:
        raise UserError(
            f"This file holds {len(steps):,} tokens; at most {MAX_STEPS:,} can be computed again.",
            "Save a smaller tree.",
        )


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise UserError(*_DAMAGED)
    return value


def _ids(value: Any) -> list[int]:
    ids = _list(value)
    if not all(_is_id(item) for item in ids):
        raise UserError(*_DAMAGED)
    return ids


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
