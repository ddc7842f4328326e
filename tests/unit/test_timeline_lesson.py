"""The timeline's numbers against the run's own records and against the plain library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.decoding.params import SamplingParams
from core.decoding.run import Run, StopRules
from core.engine import reference
from core.engine.measure import Machine
from core.engine.model import LoadedModel
from core.engine.scheduler import SerialScheduler
from core.lessons import timeline as lesson
from core.lessons.calculators import from_shape
from core.lessons.costs_compute import decode_flops, prefill_flops
from core.lessons.measure import LengthsResult, LengthTimes
from tests.unit import tiny


def started(
    steps: int = 0, length: int = 6, max_positions: int = tiny.MAX_POSITIONS
) -> tuple[LoadedModel, Run]:
    model = LoadedModel(
        "tiny", None, tiny.build("llama", max_position_embeddings=max_positions), None, SerialScheduler()
    )
    run = Run.start(model, tiny.prompt_ids(length), SamplingParams(temperature=0), StopRules())
    for _ in range(steps):
        run.next()
    return model, run


def line_of(model: LoadedModel, run: Run, tokenise_s: float = 0.5) -> lesson.Timeline:
    return lesson.timeline(run, model.trace(run.tip).passes, tokenise_s)


def test_time_to_first_token_is_cutting_prefill_and_the_first_choice() -> None:
    model, run = started(3)
    line = line_of(model, run)
    prefill = run.tip.path()[0]
    assert line.ttft_s == pytest.approx(0.5 + prefill.timing.total_s + run.steps[0].sampling_s)
    assert [(p.start, p.end) for p in line.passes] == [(0, 6), (6, 7), (7, 8), (8, 9)]


def test_a_gap_is_the_step_that_reads_a_token_and_the_choice_of_the_next() -> None:
    model, run = started(3)
    line = line_of(model, run)
    wanted = [run.steps[i].timing.total_s + run.steps[i + 1].sampling_s for i in range(2)]
    assert line.gaps == pytest.approx(wanted)
    assert line.gap_s == pytest.approx(sum(wanted) / 2)
    parts = [0.5, *(p.timing.total_s for p in run.tip.path()), *(s.sampling_s for s in run.steps)]
    assert line.total_s == pytest.approx(sum(parts))


def test_without_a_choice_there_is_no_time_to_first_token() -> None:
    model, run = started()
    line = line_of(model, run)
    assert line.ttft_s is None and line.gap_s is None and line.gaps == ()


def test_choices_that_were_stepped_back_over_are_not_on_the_line() -> None:
    model, run = started(3)
    run.jump(1)
    line = line_of(model, run)
    assert len(line.passes) == 2 and line.passes[1].choose_s is None


def test_the_stages_add_up_to_the_pass_and_a_lost_one_is_noticed() -> None:
    model, run = started(2)
    line = line_of(model, run)
    assert line.stage_error < 1e-9
    assert line.table().shape == (3, 3 + model.shape.n_layers)
    assert line.table()[1, 1:].sum() == pytest.approx(line.passes[1].total_s)
    broken = replace(line.passes[0], stages=line.passes[0].stages[1:])
    assert replace(line, passes=(broken,)).stage_error == pytest.approx(line.passes[0].stages[0])


def test_tokenising_is_the_run_s_own_or_measured_once() -> None:
    _, run = started()
    calls: list[int] = []
    seconds, own = lesson.tokenise_seconds(run, lambda: calls.append(1))
    assert not own and seconds > 0 and len(calls) == 4
    assert lesson.tokenise_seconds(run, lambda: calls.append(1)) == (seconds, False)
    assert len(calls) == 4
    run.tokenise_s = 0.25
    assert lesson.tokenise_seconds(run, lambda: calls.append(1)) == (0.25, True)


@pytest.mark.parametrize("length", [1, 6, 70])
def test_the_unused_predictions_are_the_plain_model_s_own(length: int) -> None:
    model, run = started(1, length, max_positions=128)
    trace = model.trace(run.tip)
    logits = reference.bare_logits(model, run.prompt_ids)
    chances = np.exp(logits - logits.max(axis=-1, keepdims=True))
    chances /= chances.sum(axis=-1, keepdims=True)
    for position in (0, length - 1):
        guesses = lesson.prompt_guesses(trace, model.shape.n_layers, position)
        assert guesses[-1].position == length - 1 and guesses[-1].used
        assert any(guess.position == position for guess in guesses)
        for guess in guesses:
            assert guess.token_id == int(logits[guess.position].argmax())
            assert guess.probability == pytest.approx(float(chances[guess.position].max()), rel=1e-4)
            if not guess.used:
                assert guess.given_id == run.prompt_ids[guess.position + 1]
        assert lesson.guess_error(trace, guesses) < 1e-5


def test_a_wrong_probability_is_noticed() -> None:
    model, run = started()
    trace = model.trace(run.tip)
    guesses = lesson.prompt_guesses(trace, model.shape.n_layers, 0)
    guesses[-1] = replace(guesses[-1], probability=guesses[-1].probability + 0.25)
    assert lesson.guess_error(trace, guesses) == pytest.approx(0.25, abs=1e-5)


def test_the_roofline_puts_measured_speed_over_counted_intensity() -> None:
    model, _ = started()
    cost = from_shape(model.shape, "tiny")
    assert cost is not None
    row = LengthTimes(16, 0.0, 2.0, 0.0, 0.5, (2.0,), (0.5,) * 5)
    result = LengthsResult((row,), Machine(bandwidth=1000.0, peak=4000.0, threads=1, dtype="float32"))
    found = lesson.roofline(result, cost, 4)
    assert found is not None and found.ridge == 4.0
    prefill, decode = found.dots
    weights = sum(p.numel() for p in model.hf_model.parameters())
    weights -= model.hf_model.get_input_embeddings().weight.numel()  # looked up, not multiplied
    per_column = 4 * 3 * 2 * 2 * 8
    assert prefill.reached == pytest.approx(prefill_flops(cost, 16).total / 2.0)
    moved = 4 * weights + 16 * per_column
    assert prefill.flops_per_byte == pytest.approx(prefill_flops(cost, 16).total / moved)
    assert decode.reached == pytest.approx(decode_flops(cost, 20).total / 0.5)
    assert decode.flops_per_byte < prefill.flops_per_byte
    assert decode.memory_bound and decode.roof == pytest.approx(1000 * decode.flops_per_byte)
    assert not prefill.memory_bound and prefill.roof == 4000


def test_without_the_machine_s_limits_or_a_countable_shape_there_is_no_roofline() -> None:
    model, _ = started()
    cost = from_shape(model.shape, "tiny")
    assert lesson.roofline(LengthsResult(), cost, 4) is None
    machine = Machine(1.0, 1.0, 1, "float32")
    assert lesson.roofline(LengthsResult(machine=machine), None, 4) is None
