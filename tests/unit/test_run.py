"""Promises of a run: stepping, going back, branching, stopping."""

import numpy as np
import pytest

from core.decoding.run import Run, StopRules
from core.decoding.sampling import SamplingParams
from core.errors import UserError
from tests.unit.decoding_fakes import FakeStepper

PROMPT = (3, 1, 4)
WARM = SamplingParams(temperature=1.3, top_p=0.97, repetition_penalty=1.1, seed=5)
GREEDY = SamplingParams(temperature=0)


def generate(seed: int, count: int) -> tuple[int, ...]:
    run = Run.start(FakeStepper(), PROMPT, SamplingParams(temperature=1.3, seed=seed))
    for _ in range(count):
        run.next()
    return run.generated_ids


def test_stepping_back_then_forward_repeats_the_same_run_without_computing_again() -> None:
    stepper = FakeStepper()
    run = Run.start(stepper, PROMPT, WARM)
    first = [run.next().token_id for _ in range(6)]
    nodes = run.node.path()
    for _ in range(4):
        assert run.back()
    assert run.cursor == 2 and len(run.steps) == 6
    again = [run.next().token_id for _ in range(4)]
    assert again == first[2:]
    assert all(a is b for a, b in zip(run.node.path(), nodes, strict=True))
    assert len(stepper.seen) == 6 and stepper.prefills == 1


def test_the_same_seed_repeats_and_another_seed_differs() -> None:
    assert generate(1, 12) == generate(1, 12)
    assert generate(1, 12) != generate(2, 12)


def test_greedy_takes_the_largest_logit_at_every_step() -> None:
    run = Run.start(FakeStepper(), PROMPT, GREEDY)
    for _ in range(5):
        expected = int(np.argmax(run.tip.logits))
        record = run.next()
        assert (record.token_id, record.how, record.rank, record.u) == (expected, "greedy", 1, None)


def test_the_record_holds_the_models_own_and_the_settings_probability() -> None:
    run = Run.start(FakeStepper(), PROMPT, SamplingParams(temperature=0.5, top_k=3, top_p=1.0))
    logits = run.tip.logits.astype(np.float64)
    record = run.next()
    own = np.exp(logits) / np.exp(logits).sum()
    top = np.sort(logits)[-3:] / 0.5
    assert record.model_probability == pytest.approx(own[record.token_id])
    assert record.probability == pytest.approx(np.exp(logits[record.token_id] / 0.5) / np.exp(top).sum())
    assert record.candidates == 3
    assert record.model_entropy == pytest.approx(-(own * np.log(own)).sum())
    assert run.node.cumulative_log_probability == pytest.approx(np.log(own[record.token_id]))


def test_a_forced_token_that_a_filter_removed_has_probability_zero_and_is_marked() -> None:
    run = Run.start(FakeStepper(), PROMPT, SamplingParams(top_k=1))
    worst = int(np.argmin(run.tip.logits))
    record = run.next(force=worst)
    assert (record.token_id, record.forced, record.probability, record.rank) == (worst, True, 0.0, 40)
    assert record.model_probability > 0


def test_another_choice_branches_and_leaves_the_old_continuation_in_the_tree() -> None:
    run = Run.start(FakeStepper(), PROMPT, WARM)
    old = [run.next().token_id for _ in range(5)]
    run.jump(2)
    run.next(force=(old[2] + 1) % 40)
    assert len(run.steps) == 3
    assert run.tree.find(old) is not None
    assert len(run.tree.nodes()) == 1 + 6


def test_interleaved_stepping_of_five_branches_equals_five_separate_runs() -> None:
    stem = Run.start(FakeStepper(), PROMPT, WARM)
    for _ in range(3):
        stem.next()
    branches = [stem.branch() for _ in range(5)]
    settings = [SamplingParams(temperature=1.5, top_p=1.0, seed=number) for number in range(5)]
    for _ in range(6):
        for branch, params in zip(branches, settings, strict=True):
            branch.next(params)
    for branch, params in zip(branches, settings, strict=True):
        alone = Run.start(FakeStepper(), PROMPT, WARM)
        for index in range(9):
            alone.next(WARM if index < 3 else params)
        assert branch.token_ids == alone.token_ids
        np.testing.assert_array_equal(branch.tip.logits, alone.tip.logits)
        assert [r.probability for r in branch.steps] == [r.probability for r in alone.steps]
    assert stem.cursor == 3 and len({branch.token_ids for branch in branches}) > 1


def test_the_end_of_text_token_stops_the_run_and_only_a_forced_token_goes_past_it() -> None:
    run = Run.start(FakeStepper(), PROMPT, GREEDY, StopRules(end_ids=frozenset({7})))
    assert run.next(force=7).stop_reason == "end-of-text" == run.stop_reason
    with pytest.raises(UserError, match="end-of-text"):
        run.next()
    assert run.next(force=8).stop_reason is None


def test_the_token_limit_stops_and_a_higher_limit_lets_the_run_go_on() -> None:
    run = Run.start(FakeStepper(), PROMPT, WARM, StopRules(max_tokens=2))
    assert [run.next().stop_reason for _ in range(2)] == [None, "token-limit"]
    with pytest.raises(UserError, match="token limit"):
        run.next(force=1)
    run.limit(3)
    assert run.steps[1].stop_reason is None
    assert run.next().stop_reason == "token-limit"


def test_the_context_limit_counts_the_prompt() -> None:
    run = Run.start(FakeStepper(), PROMPT, WARM, StopRules(max_positions=5))
    assert [run.next().stop_reason for _ in range(2)] == [None, "context-limit"]


def test_jump_and_reset_stay_inside_the_path() -> None:
    run = Run.start(FakeStepper(), PROMPT, WARM)
    run.next()
    run.jump(99)
    assert run.cursor == 1
    run.jump(-3)
    assert run.cursor == 0 and not run.back()
    run.reset()
    assert run.steps == () and run.tree.steps_computed == 1


def test_following_a_path_keeps_what_it_shares_with_the_run() -> None:
    run = Run.start(FakeStepper(), PROMPT, WARM)
    ids = [run.next().token_id for _ in range(4)]
    run.follow([*ids[:2], (ids[2] + 1) % 40])
    assert [record.forced for record in run.steps] == [False, False, True]


def test_an_empty_prompt_says_what_to_do() -> None:
    with pytest.raises(UserError, match="Type a prompt"):
        Run.start(FakeStepper(), [])


def test_a_token_outside_the_vocabulary_is_refused() -> None:
    run = Run.start(FakeStepper(), PROMPT)
    with pytest.raises(UserError, match="no token 40"):
        run.next(force=40)
