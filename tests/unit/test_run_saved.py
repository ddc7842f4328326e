"""A saved run or tree opens on another machine with the same model, and with no other."""

import copy
import json
from typing import Any

import numpy as np
import pytest

from core.decoding.run import Run
from core.decoding.sampling import SamplingParams
from core.decoding.saved import run_from_json, run_to_json, tree_from_json, tree_to_json
from core.decoding.tree import Tree, grow
from core.errors import UserError
from tests.unit.decoding_fakes import FakeStepper

WARM = SamplingParams(temperature=1.2, seed=4)


def a_run() -> Run:
    run = Run.start(FakeStepper(), (3, 1, 4), WARM)
    run.next()
    run.next(force=9)
    run.next(SamplingParams(temperature=0))
    run.next(WARM)
    run.limit(4)
    run.back()
    return run


def through_text(data: dict[str, Any]) -> Any:
    return json.loads(json.dumps(data))


def test_an_opened_run_is_the_same_run() -> None:
    run, seen = a_run(), []
    opened = run_from_json(
        through_text(run_to_json(run, FakeStepper())), FakeStepper(), lambda *done: seen.append(done)
    )
    assert opened.token_ids == run.token_ids and opened.cursor == 3 and opened.params == run.params
    for ours, theirs in zip(opened.steps, run.steps, strict=True):
        assert (ours.how, ours.u, ours.params, ours.probability, ours.rank, ours.stop_reason) == (
            theirs.how, theirs.u, theirs.params, theirs.probability, theirs.rank, theirs.stop_reason
        )  # fmt: skip
    assert [record.how for record in opened.steps] == ["sampled", "forced", "greedy", "sampled"]
    np.testing.assert_array_equal(opened.tip.logits, run.tip.logits)
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert opened.next().stop_reason == "token-limit"


def test_an_opened_tree_is_the_same_tree() -> None:
    tree = Tree(FakeStepper(), (1, 2))
    list(grow(tree, tree.root, top_k=3, depth=2))
    stepper = FakeStepper()
    opened = tree_from_json(through_text(tree_to_json(tree, FakeStepper())), stepper)
    assert [n.token_ids() for n in opened.nodes()] == [n.token_ids() for n in tree.nodes()]
    assert len(stepper.seen) == 12


def test_another_model_is_refused_with_both_names() -> None:
    other = FakeStepper()
    other.name, other.fingerprint = "other", "0" * 16  # type: ignore[misc]
    with pytest.raises(UserError, match="saved with the model fake; loaded is other"):
        run_from_json(run_to_json(a_run(), FakeStepper()), other)
    other.name = "fake"
    with pytest.raises(UserError, match="other weights"):
        run_from_json(run_to_json(a_run(), FakeStepper()), other)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "something"}, {"version": "1"}, {"version": 99}, {"model": None}, {"prompt_ids": []},
        {"prompt_ids": ["3"]}, {"steps": {}}, {"steps": [{"token_id": -1, "how": "forced"}]},
        {"steps": [{"token_id": 99, "how": "forced", "params": {}}]},
        {"steps": [{"token_id": 1, "how": "magic", "params": {}}]}, {"params": {"temperature": "hot"}},
        {"cursor": None}, {"max_tokens": True},
    ],
)  # fmt: skip
def test_a_damaged_file_says_so(change: dict[str, Any]) -> None:
    data = copy.deepcopy(run_to_json(a_run(), FakeStepper())) | change
    with pytest.raises(UserError):
        run_from_json(data, FakeStepper())


@pytest.mark.parametrize("nodes", [[[1, 5]], [[0]], [[0, 400]], "x"])
def test_a_damaged_tree_says_so(nodes: Any) -> None:
    data = tree_to_json(Tree(FakeStepper(), (1, 2)), FakeStepper()) | {"nodes": nodes}
    with pytest.raises(UserError):
        tree_from_json(data, FakeStepper())
