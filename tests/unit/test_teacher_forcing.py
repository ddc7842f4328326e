"""Teacher forcing and free running: the two worlds share what they must share and part where they say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.decoding.params import SamplingParams
from core.decoding.run import Run, StopRules
from core.decoding.sampling import softmax
from core.engine.measure import never
from core.engine.model import LoadedModel
from core.engine.scheduler import BACKGROUND, SerialScheduler
from core.engine.text import TextCodec
from core.lessons import targets
from core.lessons import teacher_forcing as lesson
from core.lessons.teacher_forcing import Average, Place, Result, Worlds
from tests.unit import tiny

CODEC = TextCodec(tiny.tokenizer().backend_tokenizer)
REFERENCE = tiny.prompt_ids(12)
GREEDY, HOT = SamplingParams(temperature=0), SamplingParams(temperature=1.5, top_p=1.0, seed=5)


@pytest.fixture(scope="module", params=["llama", "gemma3_text", "qwen2_moe"])
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return LoadedModel(request.param, None, tiny.build(request.param), CODEC)


@pytest.fixture(scope="module")
def llama() -> LoadedModel:
    return LoadedModel("llama", None, tiny.build("llama"), CODEC)


def ran(model: Any, ids: list[int], given: int, params: SamplingParams, seeds: int = 1) -> Result:
    """The last report of a comparison that nobody stops."""
    trace = model.trace(model.prefill(ids))
    reports = list(lesson.plan(model, trace, given, params, seeds)(never))
    assert reports[-1].done == reports[-1].total
    result: Result = reports[-1].result
    return result


def mean(found: Average | None) -> Average:
    assert found is not None
    return found


def test_with_the_true_prefix_the_losses_are_those_of_the_targets(model: LoadedModel) -> None:
    result = ran(model, REFERENCE, 3, HOT)
    losses = targets.score(model, model.trace(model.prefill(REFERENCE))).losses[2:]
    np.testing.assert_allclose([p.true_loss for p in result.worlds[0].places], losses, atol=1e-5)


def test_the_free_world_is_the_run_that_generate_would_make(model: LoadedModel) -> None:
    result = ran(model, REFERENCE, 4, HOT, seeds=3)
    for number, world in enumerate(result.worlds):
        run = Run.start(model, REFERENCE[:4], replace(HOT, seed=HOT.seed + number), StopRules())
        for place in world.places:
            probabilities = softmax(run.tip.logits)
            taken = run.next().token_id
            assert place.own_id == taken
            assert place.own_loss == pytest.approx(-math.log(probabilities[place.reference_id]), abs=1e-4)
            assert place.own_words == pytest.approx(-math.log(probabilities[taken]), abs=1e-4)


def test_a_text_that_the_model_would_write_itself_never_parts(model: LoadedModel) -> None:
    run = Run.start(model, REFERENCE[:4], GREEDY, StopRules())
    own = [*REFERENCE[:4], *(run.next().token_id for _ in range(8))]
    result = ran(model, own, 4, GREEDY)
    assert result.worlds[0].parted is None
    assert lesson.shared_error(result) < 1e-6
    found = mean(lesson.average(result))
    assert found.together.tolist() == [1.0] * 8
    np.testing.assert_allclose(found.own_loss, found.true_loss, atol=1e-5)


def test_before_they_part_both_worlds_are_one_and_after_it_they_differ(model: LoadedModel) -> None:
    result = ran(model, REFERENCE, 3, HOT, seeds=4)
    assert lesson.shared_error(result) < 1e-6
    later = [
        place.kl
        for world in result.worlds
        for place in world.places
        if world.parted is not None and place.position > world.parted and place.kl is not None
    ]
    assert later and min(later) > 1e-3


def test_greedy_has_one_text_only(llama: LoadedModel) -> None:
    assert len(ran(llama, REFERENCE, 3, GREEDY, seeds=8).worlds) == 1


def test_a_text_that_ends_early_leaves_gaps_and_not_numbers(llama: LoadedModel) -> None:
    ends = TextCodec(tiny.tokenizer().backend_tokenizer, eos_ids=range(0, tiny.VOCAB_SIZE, 2))
    result = ran(LoadedModel("llama", None, llama.hf_model, ends), REFERENCE, 3, HOT, seeds=6)
    assert any(world.ended for world in result.worlds)
    found = mean(lesson.average(result))
    assert found.running[0] == 6 and (np.diff(found.running) <= 0).all()
    for world in result.worlds:
        taken = [place.own_id for place in world.places]
        if None in taken:
            first = taken.index(None)
            assert taken[first - 1] in ends.eos_ids
            assert all(token is None for token in taken[first:])


def test_stop_ends_it_between_two_steps_and_others_go_first() -> None:
    asked: list[int] = []

    class Watched(SerialScheduler):
        def turn(self, priority: int = 0) -> Any:
            asked.append(priority)
            return super().turn(priority)

    model = LoadedModel("llama", None, tiny.build("llama"), CODEC, Watched())
    trace = model.trace(model.prefill(REFERENCE))
    reports: Iterator[Any] = lesson.plan(model, trace, 3, HOT, 2)(never)
    next(reports)
    asked.clear()
    for _ in range(3):
        report = next(reports)
    assert len(report.result.worlds[0].places) == 3
    assert asked.count(BACKGROUND) >= 4  # the reference's rows, the prefill, the steps


@pytest.mark.parametrize(
    ("first", "count", "given"), [(0, 2, 1), (0, 5, 2), (0, 40, 4), (25, 30, 27), (30, 31, 30), (1, 2, 1)]
)
def test_what_both_worlds_begin_with(first: int, count: int, given: int) -> None:
    assert lesson.usual_given(first, count) == given


@given(count=st.integers(2, 600), first=st.integers(0, 600))
def test_there_is_always_something_to_compare(count: int, first: int) -> None:
    given = lesson.usual_given(min(first, count - 1), count)
    places = lesson.places_of(count, given)
    assert 1 <= given < count and 1 <= len(places) <= lesson.PLACES
    assert places.start == given and places.stop <= count


LOSS = st.floats(0, 20)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.booleans(), LOSS, LOSS), min_size=5, max_size=5), min_size=1, max_size=4)
)
def test_averages_of_any_seeds(rows: list[list[tuple[bool, float, float]]]) -> None:
    worlds = tuple(
        Worlds(seed, tuple(
            Place(at, 1, 0.5, (), 1 if same else 2, loss, loss, (), kl)
            for at, (same, loss, kl) in enumerate(row, start=3)
        ))
        for seed, row in enumerate(rows)
    )  # fmt: skip
    found = mean(lesson.average(Result(3, HOT, len(rows), 5, worlds)))
    assert found.together[0] == 1.0 and (np.diff(found.together) <= 0).all()
    losses = np.array([[loss for _, loss, _ in row] for row in rows])
    np.testing.assert_allclose(found.own_loss, losses.mean(axis=0), rtol=1e-9)
    assert (found.running == len(rows)).all()


def test_nothing_is_averaged_before_a_seed_is_complete() -> None:
    assert lesson.average(Result(3, HOT, 2, 5, (Worlds(0, (Place(3, 1, 0.5, ()),)),))) is None
