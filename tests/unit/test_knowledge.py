"""One fact in several wordings, and parts switched off: on tiny models, against independent computations."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest
import torch

from core.engine.experiment import Experiment
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.errors import UserError
from core.lessons import knowledge as lesson
from core.lessons.knowledge import Level, Question
from core.ui.knowledge import plan
from core.ui.knowledge_job import Job, Setting
from tests.unit import tiny

WORDINGS = ("the cat is on the hat", "a cat is", "on the")


def model_of(family: str = "llama") -> LoadedModel:
    return LoadedModel("tiny", None, tiny.build(family), TextCodec(tiny.tokenizer().backend_tokenizer))


def asked_of(model: LoadedModel) -> Question:
    return lesson.question(model.codec, WORDINGS, "of")


def test_the_answer_is_read_from_the_bare_model_s_own_distribution() -> None:
    model = model_of()
    asked = asked_of(model)
    for ids in asked.token_ids:
        with torch.inference_mode():
            row = model.hf_model(torch.tensor([ids])).logits[0, -1].double().softmax(-1)
        reading = lesson.ask(model, ids, asked.answer_id)
        assert reading.probability == pytest.approx(float(row[asked.answer_id]), rel=1e-9)
        assert reading.rank == 1 + int((row > row[asked.answer_id]).sum())
        assert reading.favourite_id == int(row.argmax())
        assert reading.favourite_probability == pytest.approx(float(row.max()), rel=1e-9)


def test_an_answer_that_is_a_word_gets_its_space_and_only_its_first_token_is_measured() -> None:
    codec = model_of().codec
    asked = lesson.question(codec, WORDINGS, "of the")
    assert codec.decode(asked.answer_ids) == " of the"
    assert asked.answer_id == asked.answer_ids[0] and len(asked.answer_ids) > 1
    assert lesson.spaced("北京") == "北京" and lesson.spaced(" x") == " x"


@pytest.mark.parametrize(
    ("wordings", "answer"),
    [((), "of"), (("  ",), "of"), (("a",), " "), (("a",) * 9, "of"), (("x" * 200,), "of")],
)
def test_what_cannot_be_asked_is_explained(wordings: tuple[str, ...], answer: str) -> None:
    with pytest.raises(UserError) as caught:
        lesson.question(model_of().codec, wordings, answer)
    assert caught.value.todo


def test_the_ready_made_facts_can_be_asked() -> None:
    for fact in lesson.facts():
        assert fact.answer.strip() and 2 <= len(fact.wordings) <= lesson.MAX_WORDINGS
        assert len(set(fact.wordings)) == len(fact.wordings)


def test_growing_shares_hold_one_another_and_end_with_everything() -> None:
    model = model_of()
    order = lesson.random_order(lesson.places(model.shape, "neurons"), seed=3)
    assert sorted(order) == [(layer, n) for layer in range(3) for n in range(80)]
    assert order != lesson.random_order(lesson.places(model.shape, "neurons"), seed=4)
    levels = lesson.share_levels("neurons", order, (0.0, 0.1, 0.5, 1.0))
    sizes = [len(level.experiment.neurons_off) for level in levels]
    assert sizes == [0, 24, 120, 240]
    for before, after in pairwise(levels):
        assert before.experiment.neurons_off < after.experiment.neurons_off
    heads = lesson.share_levels("heads", lesson.places(model.shape, "heads"), (1.0,))[0]
    assert len(heads.experiment.heads_off) == 18


def test_all_neurons_off_equals_every_feed_forward_part_off() -> None:
    model = model_of()
    asked = asked_of(model)
    every = lesson.share_levels("neurons", lesson.places(model.shape, "neurons"), (1.0,))[0]
    off = Experiment(mlp_off=frozenset(range(3)))
    for ids in asked.token_ids:
        ours = lesson.ask(model, ids, asked.answer_id, every.experiment)
        assert ours.probability == pytest.approx(lesson.ask(model, ids, asked.answer_id, off).probability)


def test_layers_and_heads_begin_with_nothing_off() -> None:
    for levels, count in ((lesson.layer_levels(3), 4), (lesson.head_levels(1, 6), 7)):
        assert len(levels) == count
        assert levels[0].at == lesson.NOTHING_OFF and levels[0].experiment.is_empty()
        assert [level.at for level in levels[1:]] == list(range(count - 1))
    assert lesson.head_levels(1, 6)[3].experiment.heads_off == {(1, 2)}


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma2"])
def test_contributions_are_the_change_of_the_logit_with_the_norm_held_still(family: str) -> None:
    """Take one neuron's output out of the last vector by hand and read the logit with the old divisor."""
    model = model_of(family)
    ids = tuple(tiny.prompt_ids(7))
    answer = 20
    found = lesson.neuron_contributions(model, ids, answer)
    last = model.shape.n_layers - 1
    width = model.shape.d_ff
    trace = model.trace(model.prefill(ids))
    x = torch.tensor(trace.residual(last + 1)[-1]).double().requires_grad_()
    norm = model.roles.final_norm
    held = _with_held_divisor(norm, x)
    logit = (held * torch.tensor(model.lm_head_rows([answer])[0]).double()).sum()
    (gradient,) = torch.autograd.grad(logit, x)
    down = model.down_weight(last)
    act = trace.layer(last).act
    assert down is not None and act is not None
    expected = act[-1] * (gradient.numpy() @ down)
    np.testing.assert_allclose(found[last * width :], expected, rtol=2e-3, atol=2e-5)


def _with_held_divisor(norm: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """The final norm in float64 with its divisor taken as a constant."""
    weight = norm.weight.detach().double()  # type: ignore[operator, union-attr]
    if "rms" in type(norm).__name__.lower():
        gain = 1 + weight if "gemma" in type(norm).__name__.lower() else weight
        return x / (x.detach().pow(2).mean() + 1e-6).sqrt() * gain
    centred = x - x.mean()
    return centred / (centred.detach().pow(2).mean() + 1e-5).sqrt() * weight


def test_the_neurons_that_push_the_answer_most_go_first() -> None:
    model = model_of()
    asked = asked_of(model)
    order = lesson.contribution_order(model, asked)
    total = sum(lesson.neuron_contributions(model, ids, asked.answer_id) for ids in asked.token_ids)
    values = [float(np.asarray(total)[layer * 80 + neuron]) for layer, neuron in order]
    assert values == sorted(values, reverse=True)


def test_experts_are_switched_off_where_a_model_has_them() -> None:
    model = model_of("mixtral")
    assert lesson.places(model.shape, "neurons") == []
    experts = lesson.places(model.shape, "experts")
    assert len(experts) == model.shape.n_layers * model.shape.n_experts
    asked = asked_of(model)
    off = lesson.share_levels("experts", experts, (1.0,))[0].experiment
    assert lesson.ask(model, asked.token_ids[0], asked.answer_id, off).probability != pytest.approx(
        lesson.ask(model, asked.token_ids[0], asked.answer_id).probability
    )


def test_the_summary_names_the_worst_level_and_where_half_is_lost() -> None:
    levels = [Level(at, Experiment()) for at in (0.0, 0.1, 0.2, 0.3)]
    probabilities = np.array([[0.8, 0.6, 0.2, np.nan], [0.4, 0.4, 0.2, 0.1]])
    found = lesson.summary(levels, probabilities)
    assert found is not None
    assert (found.before, found.lowest_at, found.lowest, found.half_at) == pytest.approx((0.6, 0.2, 0.2, 0.2))
    assert lesson.summary(levels, np.full((2, 4), np.nan)) is None


@pytest.mark.parametrize("setting", [Setting("layer"), Setting("head", layer=2), Setting("neurons", seed=1)])
def test_a_job_measures_every_point_and_its_first_level_is_the_untouched_model(setting: Setting) -> None:
    model = model_of()
    asked = asked_of(model)
    axis, levels = plan(model, asked, setting)
    job = Job(model, asked, setting, axis, levels).start()
    assert job.wait(60) and not job.stopped and not job.error
    assert job.done == job.total == len(axis) * len(WORDINGS)
    assert not np.isnan(job.probabilities).any() and (job.ranks > 0).all()
    untouched = [lesson.ask(model, ids, asked.answer_id).probability for ids in asked.token_ids]
    assert job.probabilities[:, 0].tolist() == untouched
    last = lesson.ask(model, asked.token_ids[1], asked.answer_id, levels()[-1].experiment)
    assert job.probabilities[1, -1] == last.probability


def test_a_stopped_job_keeps_what_it_has_and_ends() -> None:
    model = model_of()
    asked = asked_of(model)
    axis, levels = plan(model, asked, Setting("neurons"))
    with model.scheduler.turn():  # the job has to wait for its first pass
        job = Job(model, asked, Setting("neurons"), axis, levels).start()
        job.stop()
    assert job.wait(60) and job.stopped and job.done == 1
    assert np.count_nonzero(~np.isnan(job.probabilities)) == 1


def test_a_step_of_a_run_goes_before_a_waiting_sweep() -> None:
    model = model_of()
    asked = asked_of(model)
    order: list[int] = []
    axis, levels = plan(model, asked, Setting("layer"))
    with model.scheduler.turn():
        job = Job(model, asked, Setting("layer"), axis, levels).start()

        def step() -> None:
            with model.scheduler.turn():  # kept while it is noted, so that no pass comes in between
                model.prefill(asked.token_ids[0])
                order.append(job.done)

        learner = threading.Thread(target=step)
        learner.start()
        while len(model.scheduler._waiting) < 2:
            pass
    learner.join(60)
    assert job.wait(60)
    assert order and order[0] <= 1
