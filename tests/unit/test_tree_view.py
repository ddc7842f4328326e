"""What the Tree page shows, against sums computed another way; five branches at once on the real engine."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch

from core.components.tree import MAX_DEPTH, header, read_event
from core.decoding.beam import BeamSettings, beam_search
from core.decoding.run import Run
from core.decoding.sampling import SamplingParams, softmax
from core.decoding.tree import READY_CACHES, grow
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.lessons import tree_view
from tests.unit import tiny


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    codec = TextCodec(tiny.tokenizer().backend_tokenizer)
    return LoadedModel("tiny", None, tiny.build("llama"), codec)


def a_run(model: LoadedModel, tokens: int = 0, seed: int = 3) -> Run:
    run = Run.start(model, tiny.prompt_ids(5), SamplingParams(temperature=1.0, seed=seed))
    for _ in range(tokens):
        run.next()
    return run


def plain_log_probabilities(model: LoadedModel, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return torch.log_softmax(model.hf_model(torch.tensor([ids])).logits[0].double(), dim=-1)


@pytest.mark.parametrize("family", ["llama", "gemma3_text", "mixtral"])
def test_interleaved_steps_of_five_branches_equal_five_separate_runs(family: str) -> None:
    """One tree, five branches, one step each in turn, against five models that know of no other branch."""
    hf = tiny.build(family)
    codec = TextCodec(tiny.tokenizer().backend_tokenizer)
    shared = LoadedModel("tiny", None, hf, codec)
    prompt, first = tiny.prompt_ids(5), (3, 17, 40, 66, 101)
    trunk = Run.start(shared, prompt)
    branches = []
    for token in first:
        branch = trunk.branch()
        branch.next(force=token)
        branches.append(branch)
    for step in range(6):
        for number, branch in enumerate(branches):
            branch.next(SamplingParams(temperature=1.0, seed=number))
            if (step + number) % 3 == 0:
                branch.back()
                branch.next(SamplingParams(temperature=1.0, seed=number))
    for number, (token, branch) in enumerate(zip(first, branches, strict=True)):
        alone = Run.start(LoadedModel("tiny", None, hf, codec), prompt)
        alone.next(force=token)
        for _ in range(6):
            alone.next(SamplingParams(temperature=1.0, seed=number))
        assert branch.token_ids == alone.token_ids
        np.testing.assert_array_equal(branch.tip.logits, alone.tip.logits)
    assert trunk.cursor == 0 and trunk.token_ids == tuple(prompt)


def test_rows_hold_every_node_with_the_models_own_probability(model: LoadedModel) -> None:
    run = a_run(model, tokens=2)
    list(grow(run.tree, run.tree.root, top_k=3, depth=2))
    rows = tree_view.rows(run.tree, model.codec, end_ids=(run.steps[0].token_id,))
    assert [row.number for row in rows] == list(range(1, len(run.tree.nodes())))
    for row in rows:
        node = run.tree.numbered(row.number)
        assert node is not None and node.parent is not None and node.parent.number == row.parent < row.number
        path = list(node.token_ids())
        logs = plain_log_probabilities(model, [*run.prompt_ids, *path])
        start = len(run.prompt_ids) - 1
        parts = [float(logs[start + i, token]) for i, token in enumerate(path)]
        assert row.probability == pytest.approx(math.exp(parts[-1]), abs=1e-5)
        assert row.log_probability == pytest.approx(sum(parts), abs=1e-4)
        assert row.ends == (row.token_id == run.steps[0].token_id)
    assert tree_view.path_numbers(run)[0] == 0 and len(tree_view.path_numbers(run)) == 3


def test_the_path_of_a_run_holds_what_is_ahead_of_its_cursor(model: LoadedModel) -> None:
    run = a_run(model, tokens=4)
    run.jump(1)
    numbers = tree_view.path_numbers(run)
    assert len(numbers) == 5 and numbers[1] == run.node.number


def test_candidates_and_the_rest_make_one(model: LoadedModel) -> None:
    run = a_run(model, tokens=1)
    taken = run.tree.extend(run.node, int(np.argmax(run.node.engine_pass.logits)))
    found, rest = tree_view.candidates(run.node, model.codec, count=5)
    probabilities = softmax(run.node.engine_pass.logits)
    assert [c.probability for c in found] == sorted(probabilities.tolist(), reverse=True)[:5]
    assert sum(c.probability for c in found) + rest == pytest.approx(1.0)
    assert [c.number for c in found] == [taken.number, None, None, None, None]


def test_path_sums_agree_and_a_wrong_sum_is_seen(model: LoadedModel) -> None:
    run = a_run(model, tokens=5)
    sums = tree_view.path_sums(run.node)
    assert sums.error < 1e-9 and sums.stored == pytest.approx(math.log(math.prod(sums.probabilities)))
    run.node.cumulative_log_probability += 0.01
    assert tree_view.path_sums(run.node).error == pytest.approx(0.01)


def test_growth_is_bounded() -> None:
    assert tree_view.growth_size(3, 3) == 39
    assert tree_view.deepest(5, 12) == 3 and tree_view.deepest(1, 9) == 9 and tree_view.deepest(2, 0) == 0
    assert all(
        tree_view.growth_size(k, tree_view.deepest(k, MAX_DEPTH)) <= tree_view.MAX_GROWTH for k in range(1, 6)
    )


def test_beams_are_told_with_their_scores(model: LoadedModel) -> None:
    run = a_run(model)
    settings = BeamSettings(3, 4, "mean", end_ids=frozenset({7, 9}))
    steps = list(beam_search(run.tree, settings))
    assert tree_view.beam_error(steps, settings) < 1e-9
    view = tree_view.beam_view(steps[-1], model.codec)
    best = view.finished[0]
    assert best.score == pytest.approx(best.log_probability / best.count) and view.last
    node = run.tree.numbered(best.parent)
    assert node is not None and len(node.token_ids()) == best.count - 1
    wrong = BeamSettings(3, 4, "sum", end_ids=settings.end_ids)
    assert tree_view.beam_error(steps, wrong) > 0.1


def test_only_the_newest_nodes_keep_a_cache_and_old_ones_go_on_as_before(model: LoadedModel) -> None:
    run = a_run(model)
    list(grow(run.tree, run.tree.root, top_k=5, depth=2))
    ready = [n for n in run.tree.in_order() if n.parent and n.engine_pass.live_cache is not None]
    assert 0 < len(ready) <= READY_CACHES
    old = run.tree.in_order()[6]
    child = run.tree.extend(old, 11)
    logs = plain_log_probabilities(model, [*run.prompt_ids, *child.token_ids()])
    np.testing.assert_allclose(
        np.asarray(child.engine_pass.logits, np.float64) - np.logaddexp.reduce(child.engine_pass.logits),
        logs[-1].numpy(),
        atol=1e-4,
    )


def test_the_message_is_small_and_plain(model: LoadedModel) -> None:
    run = a_run(model, tokens=1)
    list(grow(run.tree, run.tree.root, top_k=5, depth=3))
    rows = tree_view.rows(run.tree, model.codec, ())
    made = header(
        tree_key="1", prompt="<b>", nodes=rows, path=tree_view.path_numbers(run), cursor=1,
        log_probability=-1.0, near=tree_view.candidates(run.node, model.codec), deepest={1: 3}, job=None,
        beams=None, stop=None, notice="", labels={},
    )  # fmt: skip
    text = json.dumps(made, allow_nan=False)
    assert len(made["nodes"]) >= 155 and len(text) < 120 * len(rows) + 4000


@pytest.mark.parametrize(
    "payload",
    [
        None, "go", {"kind": "fly"}, {"kind": "go", "node": -1}, {"kind": "go", "node": "1"},
        {"kind": "grow", "top_k": 6}, {"kind": "grow", "depth": 0}, {"kind": "go", "node": True},
        {"kind": "beam", "width": 9, "tokens": 4, "rule": "sum"}, {"kind": "beam", "rule": "best"},
        {"kind": "beam", "rule": "sum", "penalty": float("nan")},
        {"kind": "beam", "rule": "sum", "tokens": 500},
    ],
)  # fmt: skip
def test_what_is_no_event_is_dropped(payload: Any) -> None:
    assert read_event(payload) is None


def test_events_are_read() -> None:
    event = read_event({"kind": "beam", "width": 2, "tokens": 8, "rule": "length_penalty", "penalty": 2})
    assert event is not None and event.beams == BeamSettings(2, 8, "length_penalty", 2.0)
    grown = read_event({"kind": "grow", "node": 4, "top_k": 3, "depth": 2})
    assert grown is not None and (grown.node, grown.top_k, grown.depth) == (4, 3, 2)
