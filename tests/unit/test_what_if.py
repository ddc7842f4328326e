"""Two branches compared and sentences scored, against independent computations on a tiny model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.components.what_if import header, read_event
from core.decoding.run import Run
from core.decoding.sampling import SamplingParams
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.lessons import what_if
from core.lessons.what_if import Meeting, Swap
from core.ui.what_if import format_swap, parse_swap
from tests.unit import tiny

WARM = SamplingParams(temperature=1.0, top_p=1.0, seed=5)


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return LoadedModel("tiny", None, tiny.build("llama"), TextCodec(tiny.tokenizer().backend_tokenizer))


def grown(model: LoadedModel, swap: Swap, length: int) -> tuple[Run, Run, Run]:
    run = Run.start(model, tiny.prompt_ids(5), WARM)
    for _ in range(4):
        run.next()
    a, b = what_if.branches(run, swap, WARM)
    while what_if.advance(a, b, swap, length):
        pass
    return run, a, b


def log_probabilities(model: LoadedModel, ids: tuple[int, ...]) -> np.ndarray:
    with torch.no_grad():
        return torch.log_softmax(model.hf_model(torch.tensor([list(ids)])).logits[0].double(), dim=-1).numpy()


def test_both_branches_go_on_as_runs_of_their_own_would_under_the_same_seed(model: LoadedModel) -> None:
    run = Run.start(model, tiny.prompt_ids(5), WARM)
    for _ in range(4):
        run.next()
    first = run.steps[1].token_id
    swap = Swap(1, (first,), ((first + 1) % 127,))
    run, a, b = grown(model, swap, 8)
    assert run.cursor == 4, "the learner's run has not moved"
    assert a.generated_ids[:4] == run.generated_ids, "A is the run's own text"
    for branch, token in ((a, first), (b, (first + 1) % 127)):
        alone = Run.start(model, run.prompt_ids, WARM)
        alone.next()
        alone.next(force=token)
        for _ in range(8):
            alone.next()
        assert branch.generated_ids == alone.generated_ids and branch.cursor == 10


def test_numbers_of_a_comparison_equal_plain_ones(model: LoadedModel) -> None:
    swap = Swap(2, (30,), (31, 32, 33))
    run, a, b = grown(model, swap, 5)
    found = what_if.compare(a, b, swap, model.codec)
    assert [len(found.lane_a), len(found.lane_b), len(found.places)] == [6, 8, 6]
    assert [t.given for t in found.lane_b] == [True] * 3 + [False] * 5
    logs_a, logs_b = log_probabilities(model, a.token_ids), log_probabilities(model, b.token_ids)
    start = len(run.prompt_ids) + 2
    for lane, logs, opening in ((found.lane_a, logs_a, 1), (found.lane_b, logs_b, 3)):
        for index, token in enumerate(lane):
            row = logs[start + index - 1]
            assert token.probability == pytest.approx(math.exp(row[token.token_id]), rel=1e-4)
            assert token.entropy == pytest.approx(-(np.exp(row) * row).sum() / math.log(2), rel=1e-4)
        own = [-logs[start + i - 1][t.token_id] / math.log(2) for i, t in enumerate(lane) if i >= opening]
        surprise = found.surprise_a if lane is found.lane_a else found.surprise_b
        assert surprise == pytest.approx(np.mean(own), rel=1e-4)
    for index, place in enumerate(found.places):
        p, q = logs_a[start + 1 + index - 1], logs_b[start + 3 + index - 1]
        kl = torch.nn.functional.kl_div(torch.tensor(q), torch.tensor(p), log_target=True, reduction="sum")
        assert place.kl == pytest.approx(float(kl) / math.log(2), rel=1e-3, abs=1e-6)


def test_the_same_token_on_both_sides_changes_nothing(model: LoadedModel) -> None:
    swap = Swap(1, (9,), (9,))
    _, a, b = grown(model, swap, 4)
    found = what_if.compare(a, b, swap, model.codec)
    assert all(place.kl == 0 and place.same is not False for place in found.places)
    assert found.meeting is None, "what never parted cannot meet again"


def test_texts_meet_again_only_after_they_have_parted() -> None:
    assert what_if.meeting_again([1, 2, 3, 4, 9, 9], [1, 2, 3, 4, 8, 8]) is None
    assert what_if.meeting_again([1, 5, 7, 8, 9], [1, 6, 6, 7, 8, 9]) == Meeting(2, 3, 3)
    assert what_if.meeting_again([1, 2, 3], [1, 2, 3, 4]) is None


def test_kl_is_zero_for_equal_infinite_for_impossible_and_never_negative() -> None:
    a = np.array([0.0, 1.0, -np.inf])
    assert what_if.kl_of(a, a + 3) == pytest.approx(0.0, abs=1e-12)
    assert what_if.kl_of(a, np.array([0.0, 1.0, 2.0])) > 0
    assert what_if.kl_of(np.array([0.0, 1.0, 2.0]), a) == math.inf


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_the_meeting_is_the_longest_shared_stretch(a: list[int], b: list[int]) -> None:
    found = what_if.meeting(a, b)
    stretches = [
        (length, i, j)
        for i in range(len(a))
        for j in range(len(b))
        for length in range(3, len(a) + 1)
        if i + length <= len(a) and a[i : i + length] == b[j : j + length]
    ]
    longest = max((length for length, _, _ in stretches), default=0)
    assert (found.length if found else 0) == longest
    if found:
        assert a[found.a : found.a + longest] == b[found.b : found.b + longest]


def test_a_sentence_scores_what_the_loss_says(model: LoadedModel) -> None:
    ids = tiny.prompt_ids(9)
    scored = what_if.score(model, ids)
    with torch.no_grad():
        loss = model.hf_model(torch.tensor([ids]), labels=torch.tensor([ids])).loss
    assert scored.mean_log_probability == pytest.approx(-float(loss), rel=1e-4)
    assert scored.total_bits == pytest.approx(float(loss) * 8 / math.log(2), rel=1e-4)
    assert scored.perplexity == pytest.approx(math.exp(float(loss)), rel=1e-4)
    assert scored.tokens[0].probability is None and len(scored.tokens) == 9
    logs = log_probabilities(model, tuple(ids))
    for position, token in enumerate(scored.tokens[1:]):
        assert token.surprise == pytest.approx(-logs[position][token.token_id] / math.log(2), rel=1e-4)
        assert token.rank == 1 + int((logs[position] > logs[position][token.token_id]).sum())


@pytest.mark.parametrize("text", ["3:7042:512", "0:1-2-3:9"])
def test_a_swap_in_the_address_comes_back(text: str) -> None:
    swap = parse_swap(text)
    assert swap is not None and format_swap(swap) == text


@pytest.mark.parametrize("text", ["", "3", "3:1", "3:1:", "-1:2:3", "a:1:2", "1:2:3:4", "1:2--3:4", "٣:1:2"])
def test_a_malformed_swap_is_refused(text: str) -> None:
    assert parse_swap(text) is None


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {"kind": "x"},
        {"kind": "at", "value": -1},
        {"kind": "at", "value": True},
        {"kind": "type", "text": 5},
    ],
)
def test_what_is_no_event_is_dropped(payload: Any) -> None:
    assert read_event(payload) is None


def test_the_message_has_no_number_that_json_cannot_hold(model: LoadedModel) -> None:
    swap = Swap(1, (9,), (10,))
    _, a, b = grown(model, swap, 3)
    found = what_if.compare(a, b, swap, model.codec)
    made = header(
        prompt="", made=found.lane_a, at=1, candidates=[(1, "<b>", 0.5)], found=found, stops=(None, None),
        job=(1, 2), notice="", labels={},
    )  # fmt: skip
    assert made["found"]["a"][0][4] == 1 and len(made["found"]["places"]) == 4
