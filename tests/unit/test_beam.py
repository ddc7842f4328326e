"""Beam search gives what transformers' own beam search gives, and shows kept, pruned and finished beams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from core.decoding.beam import BeamSettings, BeamStep, ScoreRule, beam_search
from core.decoding.tree import Tree
from tests.unit.decoding_fakes import FakeStepper
from tests.unit.tiny import build, prompt_ids


@dataclass(frozen=True)
class PlainPass:
    ids: tuple[int, ...]
    logits: np.ndarray


class PlainStepper:
    """The model run from scratch for every node: slow, and independent of the engine."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def prefill(self, token_ids: Sequence[int]) -> PlainPass:
        with torch.no_grad():
            logits = self.model(torch.tensor([list(token_ids)])).logits[0, -1]
        return PlainPass(tuple(token_ids), logits.numpy())

    def step(self, parent: PlainPass, token_id: int) -> PlainPass:
        return self.prefill((*parent.ids, token_id))


@pytest.fixture(scope="module")
def llama() -> Any:
    return build("llama")


def search(stepper: Any, prompt: Sequence[int], settings: BeamSettings) -> list[BeamStep]:
    return list(beam_search(Tree(stepper, prompt), settings))


@pytest.mark.parametrize(("rule", "penalty"), [("sum", 0.0), ("mean", 1.0), ("length_penalty", 2.0)])
@pytest.mark.parametrize("end_ids", [(), (1,), (1, 17, 44, 90)])
@pytest.mark.parametrize("width", [3, 5])
def test_results_equal_those_of_transformers(
    llama: Any, rule: ScoreRule, penalty: float, end_ids: tuple[int, ...], width: int
) -> None:
    prompt = prompt_ids(5, seed=width)
    settings = BeamSettings(width, 7, rule, penalty, frozenset(end_ids))
    steps = search(PlainStepper(llama), prompt, settings)
    config = {"eos_token_id": list(end_ids) or None, "pad_token_id": 0, "use_cache": True}
    result = llama.generate(
        torch.tensor([prompt]),
        max_new_tokens=7,
        num_beams=width,
        num_return_sequences=width,
        length_penalty=penalty,
        do_sample=False,
        return_dict_in_generate=True,
        output_scores=True,
        **config,
    )
    finished = steps[-1].finished
    assert len(finished) == width
    np.testing.assert_allclose([b.score for b in finished], result.sequences_scores.numpy(), atol=1e-4)
    for beam, row in zip(finished, result.sequences[:, len(prompt) :].tolist(), strict=True):
        assert list(beam.token_ids) == row[: len(beam.token_ids)]
        assert set(row[len(beam.token_ids) :]) <= {0}


def test_one_beam_without_an_end_is_greedy(llama: Any) -> None:
    prompt = prompt_ids(5)
    theirs = llama.generate(torch.tensor([prompt]), max_new_tokens=7, do_sample=False, eos_token_id=None)
    steps = search(PlainStepper(llama), prompt, BeamSettings(1, 7))
    assert list(steps[-1].finished[0].token_ids) == theirs[0, 5:].tolist()


def test_the_first_step_expands_one_beam_and_each_step_keeps_the_best() -> None:
    stepper = FakeStepper()
    tree = Tree(stepper, (1, 2))
    steps = list(beam_search(tree, BeamSettings(width=3, max_tokens=4)))
    assert {beam.parent for beam in (*steps[0].kept, *steps[0].pruned)} == {tree.root}
    for step in steps[:-1]:
        assert len(step.kept) == 3
        assert min(b.log_probability for b in step.kept) >= max(b.log_probability for b in step.pruned)
        assert all(b.node is not None and b.node.token_ids() == b.token_ids for b in step.kept)
    assert len(stepper.seen) == 3 * 3  # the last step needs no further pass
    assert steps[-1].last and all(b.end == "token-limit" for b in steps[-1].finished)


def test_a_finished_beam_is_frozen() -> None:
    tree = Tree(FakeStepper(), (1, 2))
    best = int(np.argmax(tree.root.engine_pass.logits))
    steps = list(beam_search(tree, BeamSettings(3, 6, "sum", end_ids=frozenset({best}))))
    ended = steps[0].newly_finished
    assert [b.token_ids for b in ended] == [(best,)] and ended[0].end == "end-of-text"
    assert best not in tree.root.children  # nothing was computed after it
    assert all(best not in b.token_ids for step in steps for b in step.kept)
    assert ended[0] in steps[-1].finished


def test_a_search_can_be_stopped_after_any_step() -> None:
    stepper = FakeStepper()
    searching = beam_search(Tree(stepper, (1, 2)), BeamSettings(width=2, max_tokens=50))
    next(searching)
    searching.close()
    assert len(stepper.seen) == 2
