"""The plan of the gradient step: what it measures, that it queues, stops and leaves nothing; its pictures."""

from __future__ import annotations

import gc
import math
import resource
import sys
import threading
import time
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.engine.training.learner_copy import LearnerCopy
from core.engine.training.optimiser import KINDS, Kind
from core.engine.training.slots import Slots
from core.engine.training.weights import SCOPES, Scope
from core.errors import UserError
from core.lessons import gradient_step as lesson
from core.lessons.gradient_step import OneWeight, Result, Setting, gradient_plan
from core.lessons.job import Job
from tests.unit import tiny
from tests.unit.test_learner_copy import digest, loaded

SETTING = Setting(
    text=tuple(tiny.prompt_ids(12)),
    other=tuple(tiny.prompt_ids(9, seed=1)),
    prompt=tuple(tiny.prompt_ids(6)),
    scope="last_block",
    kind="adamw",
    lr=1e-3,
    steps=3,
)
PLENTY = 10**9


def slots(free: int = PLENTY) -> Slots:
    return Slots(at_once=2, free=lambda: free, reserve_bytes=0)


def finished(model: Any, setting: Setting) -> Result:
    reports = list(gradient_plan(model, setting, slots())(lambda: False))
    shares = [report.done / report.total for report in reports]
    assert shares == sorted(shares) and shares[-1] == 1
    return reports[-1].result


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3_text", "mixtral"])
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_run_measures_before_and_after_and_leaves_the_model_alone(
    family: str, scope: Scope, kind: Kind
) -> None:
    model = loaded(family)
    before = digest(model)
    result = finished(model, replace(SETTING, scope=scope, kind=kind))
    assert digest(model) == before
    assert result.stage == "done" and result.steps_done == 3
    assert len(result.losses) == len(result.other) == 4
    assert result.losses[-1] < result.losses[0]
    assert set(result.gradient) == {place.name for place in result.places}
    assert set(result.moved) == set(result.weights) == result.trained
    assert result.slope is not None and result.slope.error < 0.05
    assert result.slope.predicted == pytest.approx(result.slope.down, rel=0.2)
    trained = math.sqrt(sum(result.gradient[name] ** 2 for name in result.trained))
    assert result.slope.norm == pytest.approx(trained, rel=1e-3)
    assert result.compared is not None and result.compared.moved > 0
    for weight in result.weights.values():
        expected = lesson.predicted_weight(kind, SETTING.lr, weight)
        assert weight.after == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_without_a_sentence_to_compare_there_is_no_second_curve() -> None:
    assert finished(loaded("llama"), replace(SETTING, other=())).other == ()


def test_a_long_prompt_is_read_again_after_the_last_step_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson, "LIVE_PROMPT", 4)
    reports = list(gradient_plan(loaded("llama"), SETTING, slots())(lambda: False))
    compared = [r.result.compared for r in reports if r.result.steps_done]
    assert compared[0] is None and compared[-1] is not None
    whole = finished(loaded("llama"), replace(SETTING, prompt=SETTING.prompt[:4])).compared
    assert whole is not None


@pytest.mark.parametrize(("text", "said"), [(1, "fewer than two tokens"), (65, "65 tokens")])
def test_a_text_that_cannot_be_used_is_refused(text: int, said: str) -> None:
    setting = replace(SETTING, text=tuple(tiny.prompt_ids(text)))
    with pytest.raises(UserError, match=said):
        finished(loaded("llama"), setting)


def test_what_does_not_fit_into_memory_is_refused_before_anything_is_copied() -> None:
    model = loaded("llama")
    with pytest.raises(UserError, match="free"):
        list(gradient_plan(model, SETTING, slots(free=1000))(lambda: False))


def test_a_rate_that_overflows_ends_the_run_and_keeps_what_was_measured() -> None:
    result = finished(loaded("llama"), replace(SETTING, scope="all", kind="sgd", lr=1e30, steps=5))
    assert result.diverged and result.steps_done < 5
    assert all(map(math.isfinite, result.losses))
    assert result.compared is not None and np.isfinite(result.compared.after).all()


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[LearnerCopy]]:
    """The copies that plans make, as far as they are still alive."""
    made: list[weakref.ref[LearnerCopy]] = []

    def make(*arguments: Any) -> LearnerCopy:
        copy = LearnerCopy(*arguments)
        made.append(weakref.ref(copy))
        return copy

    monkeypatch.setattr(lesson, "LearnerCopy", make)
    return made


def test_no_copy_is_alive_after_a_job_and_its_result_is_small(
    copies: list[weakref.ref[LearnerCopy]],
) -> None:
    job = Job(gradient_plan(loaded("llama"), SETTING, slots()))
    job.join(60)
    assert job.status == "done"
    gc.collect()
    assert len(copies) == 1 and copies[0]() is None


def test_a_stopped_run_keeps_its_steps_and_gives_its_slot_and_memory_back(
    copies: list[weakref.ref[LearnerCopy]],
) -> None:
    line = slots()
    job: Job = Job(gradient_plan(loaded("llama"), replace(SETTING, steps=10**6), line))
    while job.report.result is None or job.report.result.steps_done < 2:
        assert job.running
        time.sleep(0.01)
    job.stop()
    job.join(60)
    assert job.status == "stopped" and line.held == 0
    assert job.report.result.steps_done >= 2 and job.report.result.compared is not None
    gc.collect()
    assert copies[0]() is None


def test_thirty_learners_are_served_in_turn_and_never_more_copies_live_than_slots(
    copies: list[weakref.ref[LearnerCopy]],
) -> None:
    model, line = loaded("llama"), slots()
    most, done = 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.is_set():
            most = max(most, line.held)
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    jobs = [Job(gradient_plan(model, replace(SETTING, steps=1), line)) for _ in range(30)]
    for job in jobs:
        job.join(120)
    done.set()
    watcher.join()
    assert [job.status for job in jobs] == ["done"] * 30
    assert 1 <= most <= 2
    first = jobs[0].report.result.losses
    assert all(job.report.result.losses == pytest.approx(first, rel=1e-5) for job in jobs)


def test_the_picture_has_a_cell_for_every_part_and_joins_weight_and_bias() -> None:
    result = finished(loaded("gpt2"), replace(SETTING, scope="all"))
    picture = lesson.gradient_picture(result)
    assert picture.rows == ("transformer.wte", "transformer.wpe", 0, 1, 2, "transformer.ln_f")
    inside = picture.values[2:5, :-1]
    assert np.isfinite(inside).all() and np.isnan(picture.values[0, :-1]).all()
    column = picture.columns.index("attn.c_proj")
    both = [result.gradient[f"transformer.h.1.attn.c_proj.{name}"] for name in ("weight", "bias")]
    assert picture.values[3, column] == pytest.approx(math.hypot(*both))
    total = math.sqrt(sum(value**2 for value in result.gradient.values()))
    assert math.sqrt(np.nansum(picture.values**2)) == pytest.approx(total)


def test_the_picture_of_what_moved_shows_trained_layers_only() -> None:
    result = finished(loaded("llama"), SETTING)
    picture = lesson.moved_picture(result)
    assert picture.rows == (2,) and np.isfinite(picture.values[0, :-1]).all()
    change, length = result.moved["model.layers.2.mlp.up_proj.weight"]
    assert picture.values[0, picture.columns.index("up_proj")] == pytest.approx(change / length)
    row, part, value = lesson.largest(picture, [*picture.columns, "outside"])
    assert row == 2 and value == np.nanmax(picture.values) and part in picture.columns


@given(gradient=st.floats(1e-3, 1e3), sign=st.sampled_from([-1, 1]), lr=st.floats(1e-6, 1e-1))
def test_adamw_s_first_step_is_the_learning_rate_whatever_the_gradient(
    gradient: float, sign: int, lr: float
) -> None:
    weight = OneWeight((0,), 0.0, sign * gradient, 0.0)
    assert lesson.predicted_weight("adamw", lr, weight) == pytest.approx(-sign * lr, rel=1e-4)
    assert lesson.predicted_weight("sgd", lr, weight) == pytest.approx(-lr * sign * gradient)


@pytest.mark.real_model
@pytest.mark.skipif(sys.platform != "linux", reason="reads the process's memory from /proc")
def test_the_real_model_stays_as_it_is_and_the_memory_returns(real_model: Any) -> None:
    """All weights with AdamW take four times the model's size; nearly all of it is free again afterwards."""
    ids = tuple(real_model.codec.encode("The capital of France is Berlin."))
    before, resident = digest(real_model), _resident_bytes()
    setting = Setting(ids, ids, ids[:-2], "all", "adamw", 1e-4, 1)
    job = Job(gradient_plan(real_model, setting))
    job.join(300)
    assert job.status == "done"
    assert digest(real_model) == before
    assert _resident_bytes() - resident < job.report.result.bytes_needed / 8


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
