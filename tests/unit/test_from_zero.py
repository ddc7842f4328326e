"""Training from zero: it learns, it repeats itself to the last bit, it stops, and every page can open it."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from core.engine import catalogue, made_here
from core.engine.loader import load_model
from core.engine.model import LoadedModel
from core.engine.scheduler import BACKGROUND, SerialScheduler
from core.engine.text import TextCodec
from core.engine.training.corpus import MAX_CHARACTERS, MIN_CHARACTERS, Corpus, make_corpus
from core.engine.training.from_zero import WARM_UP, Settings, Trainer, bytes_needed, parameter_count
from core.engine.training.slots import Slots
from core.errors import UserError
from core.lessons.from_zero import OFFERED, Training, loss_from_logits, offered_text, smoothed
from core.lessons.job import Job
from core.ui import models

SMALL = Settings(width=16, heads=2, context=32, vocabulary=280, batch=2)
TEXT = offered_text("counting")


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    made_here.forget_all()
    yield
    made_here.forget_all()


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return make_corpus(TEXT, SMALL.vocabulary)


def trained(corpus: Corpus, steps: int, options: Settings = SMALL) -> Trainer:
    trainer = Trainer(corpus, options, SerialScheduler())
    for _ in range(steps):
        trainer.step()
    return trainer


def same_weights(one: LoadedModel, other: LoadedModel) -> bool:
    theirs = dict(other.hf_model.named_parameters())
    return all(torch.equal(value, theirs[name]) for name, value in one.hf_model.named_parameters())


# -- the text and its tokenizer --------------------------------------------------------------------------


@pytest.mark.parametrize("name", OFFERED)
def test_an_offered_text_is_split_without_loss_and_cut_by_a_tokenizer_of_its_own(name: str) -> None:
    made = make_corpus(offered_text(name), 320)
    assert made.train_text + made.held_text == made.text
    assert made.codec.decode(made.train_ids) == made.train_text
    assert made.codec.decode(made.held_ids) == made.held_text
    assert made.held_text[0].isalnum() and 0.75 < len(made.train_text) / len(made.text) <= 0.85
    assert made.vocab_size == 256 + len(made.merges) <= 320
    assert len(made.train_ids) < len(made.train_text.encode()), "the merges shorten the text"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_the_tokenizer_brings_back_any_text_though_it_learned_from_one(text: str) -> None:
    assert _codec().round_trip(text).exact


@cache
def _codec() -> TextCodec:
    return make_corpus(TEXT, SMALL.vocabulary).codec


def test_the_first_merge_is_the_most_frequent_pair_of_neighbours() -> None:
    made = make_corpus("ab ab ab cab " * 60, 258)
    assert (made.merges[0].left, made.merges[0].right) == (b"a", b"b")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least"),
        ("x" * (MIN_CHARACTERS - 1), "at least"),
        (" \n" * 4000, "at least"),
        ("word " * MAX_CHARACTERS, "limit"),
        ("x" * 4000, "repeats itself"),
    ],
)
def test_a_text_that_cannot_be_learned_from_is_refused_with_a_way_on(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        make_corpus(text, 320)
    assert said in caught.value.what and caught.value.todo


def test_odd_texts_can_be_trained_on() -> None:
    text = "<b>x</b> $y$ \r\n مرحبا بالعالم 🦜🦜 *a* `c` é " * 20
    trainer = trained(make_corpus(text, 320), 2)
    assert math.isfinite(trainer.held_out_loss())


# -- training --------------------------------------------------------------------------------------------


def test_training_lowers_the_loss_from_the_uniform_guess(corpus: Corpus) -> None:
    trainer = Trainer(corpus, replace(SMALL, learning_rate=5e-3), SerialScheduler())
    first = [trainer.step() for _ in range(60)]
    assert first[0] == pytest.approx(math.log(corpus.vocab_size), abs=0.2)
    assert np.mean(first[-5:]) < 0.7 * first[0]
    assert trainer.held_out_loss() < 0.7 * math.log(corpus.vocab_size)


def test_the_same_settings_give_the_same_model_to_the_last_bit_and_another_seed_another(
    corpus: Corpus,
) -> None:
    torch.manual_seed(99)  # whatever the process' own generator stands at
    one = trained(corpus, 4)
    torch.manual_seed(3)
    state = torch.random.get_rng_state()
    two = trained(corpus, 4)
    assert torch.equal(state, torch.random.get_rng_state()), "the process' generator was moved"
    assert same_weights(one.model(), two.model()) and one.name == two.name
    other = trained(corpus, 4, replace(SMALL, seed=1))
    assert not same_weights(one.model(), other.model()) and one.name != other.name


def test_a_run_that_stopped_goes_on_as_if_it_never_had(corpus: Corpus) -> None:
    slots = Slots(free=lambda: 10**12)
    halted = Training(TEXT, SMALL, "{steps}")
    Job(halted.plan(7, slots)).join(60)
    Job(halted.plan(8, slots)).join(60)
    straight = trained(corpus, 15)
    assert halted.steps == 15 and halted.model_name == straight.name
    kept = made_here.find(halted.model_name)
    assert kept is not None and same_weights(kept, straight.model())
    steps = [step for step, _ in halted.held]
    assert steps == sorted(set(steps)) and {0, 7, 10, 15} <= set(steps)
    assert [one.step for one in halted.checkpoints] == [0, 5, 7, 10, 15]


def test_a_stopped_run_leaves_a_model_and_gives_its_slot_back() -> None:
    slots = Slots(free=lambda: 10**12)
    names: list[str] = []
    run = Training(TEXT, SMALL, "a title, {steps} steps", names.append)
    job = Job(run.plan(100_000, slots))
    while run.steps < 3:
        job.join(0.01)
    job.stop()
    job.join(60)
    assert job.status == "stopped" and slots.held == 0 and names == [run.model_name]
    assert models.title(run.model_name) == f"a title, {run.steps:,} steps"
    assert run.check is not None and run.check.step == run.steps and run.check.error < 1e-5
    assert run.checkpoints[-1].step == run.steps and run.held[-1][0] == run.steps


def test_two_jobs_on_one_run_never_train_at_the_same_time() -> None:
    slots = Slots(free=lambda: 10**12)
    run = Training(TEXT, SMALL, "{steps}")
    first = Job(run.plan(100_000, slots))
    while run.steps < 2:
        first.join(0.01)
    first.stop()
    second = Job(run.plan(5, slots))
    first.join(60)
    second.join(60)
    assert second.status == "done"
    assert run._trainer is not None and run.steps == run._trainer.steps == len(run.losses)


def test_a_run_waits_in_the_queue_and_says_how_many_go_first() -> None:
    slots = Slots(at_once=1, free=lambda: 10**12)
    with slots.ticket(1) as before:
        assert before.wait(1)
        run = Training(TEXT, SMALL, "{steps}")
        job = Job(run.plan(2, slots))
        while run.ahead == 0:
            job.join(0.01)
        assert job.running and run.ahead == 1 and run.steps == 0
    job.join(60)
    assert job.status == "done" and run.ahead == 0 and run.steps == 2


def test_each_step_is_one_background_turn(corpus: Corpus) -> None:
    class Counting(SerialScheduler):
        def __init__(self) -> None:
            super().__init__()
            self.taken: list[int] = []

        def _acquire(self, priority: int) -> None:
            self.taken.append(priority)
            super()._acquire(priority)

    scheduler = Counting()
    trainer = Trainer(corpus, SMALL, scheduler)
    scheduler.taken.clear()
    trainer.step()
    trainer.step()
    assert scheduler.taken == [BACKGROUND, BACKGROUND]


def test_the_optimiser_step_is_the_library_s_own_on_targets_shifted_once(corpus: Corpus) -> None:
    """The same step by the stock model's own loss (labels = inputs, shifted inside) and a fresh AdamW."""
    trainer = Trainer(corpus, SMALL, SerialScheduler())
    twin = trainer.model().hf_model.requires_grad_(True)
    optimizer = torch.optim.AdamW(
        twin.parameters(), lr=SMALL.learning_rate / WARM_UP, weight_decay=SMALL.weight_decay
    )
    rows = torch.from_numpy(trainer.batch(0))
    loss = twin(input_ids=rows, labels=rows).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
    optimizer.step()
    assert trainer.step() == pytest.approx(float(loss.detach()), abs=1e-5)
    ours = dict(trainer.model().hf_model.named_parameters())
    assert all(torch.allclose(value, ours[name], atol=1e-6) for name, value in twin.named_parameters())


def test_the_loss_is_computed_again_in_float64(corpus: Corpus) -> None:
    trainer = trained(corpus, 5)
    rows = trainer.batch(5)
    summed, count = loss_from_logits(trainer.batch_logits(5), rows)
    assert count == SMALL.batch * trainer.window == rows[:, 1:].size
    assert summed / count == pytest.approx(trainer.batch_loss(5), abs=1e-5)
    assert loss_from_logits(np.zeros((1, 2, 5)), np.array([[0, 1, 2]]))[0] == pytest.approx(2 * math.log(5))


def test_the_held_out_loss_scores_every_token_that_has_one_before_it_once(corpus: Corpus) -> None:
    trainer = trained(corpus, 3)
    model = trainer.model().hf_model
    ids = torch.tensor(corpus.held_ids)
    total = 0.0
    for start in range(0, len(ids) - 1, SMALL.context):
        row = ids[start : start + SMALL.context + 1][None]
        with torch.no_grad():
            total += float(model(input_ids=row, labels=row).loss) * (row.shape[1] - 1)
    assert trainer.held_out_loss() == pytest.approx(total / (len(ids) - 1), abs=1e-5)


@pytest.mark.parametrize("options", [SMALL, Settings(), Settings(width=128, vocabulary=512)])
def test_parameters_are_counted_by_the_formula(options: Settings, corpus: Corpus) -> None:
    counted = sum(row.count for row in Trainer(corpus, options, SerialScheduler()).model().parameters())
    assert counted == parameter_count(corpus.vocab_size, options)
    assert bytes_needed(corpus.vocab_size, options) > 16 * counted


# -- the model that is left ------------------------------------------------------------------------------


def test_a_trained_model_is_loaded_by_its_name_and_runs_like_any_other(corpus: Corpus) -> None:
    trainer = trained(corpus, 3)
    made_here.keep(trainer.model("A title"))
    model = load_model(trainer.name)
    assert model is load_model(trainer.name) and catalogue.is_local(trainer.name)
    assert models.may_load(trainer.name) and models.title(trainer.name) == "A title"
    ids = model.codec.encode("up from two")
    tip = model.step(model.prefill(ids), 5)
    assert model.trace(tip).layer(1).weights(0).shape == (len(ids) + 1,) * 2
    assert model.shape.max_positions == SMALL.context and not model.codec.has_chat_template
    assert models.offered("smollm2-135m", [trainer.name])[-1] == trainer.name


def test_further_steps_leave_a_model_that_was_handed_out_alone(corpus: Corpus) -> None:
    trainer = trained(corpus, 2)
    model, before = trainer.model(), trainer.model()
    trainer.step()
    assert same_weights(model, before) and not same_weights(model, trainer.model())


def test_a_name_that_is_not_here_says_to_train_it_again() -> None:
    name = "from-zero-0123abcd"
    assert not catalogue.is_local(name) and not models.may_load(name)
    assert models.offered("smollm2-135m", [name]) == models.offered("smollm2-135m")
    with pytest.raises(UserError) as caught:
        load_model(name)
    assert "From zero" in caught.value.todo and "train it again" in caught.value.todo.lower()


def test_the_oldest_models_leave_and_one_that_is_used_stays(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_here, "KEPT", 3)
    made = [trained(corpus, steps) for steps in range(4)]
    for trainer in made[:3]:
        made_here.keep(trainer.model())
    assert made_here.find(made[0].name) is not None  # asked for: the next one is the oldest now
    made_here.keep(made[3].model())
    assert [made_here.find(trainer.name) is not None for trainer in made] == [True, False, True, True]


def test_models_may_be_kept_and_found_from_many_threads(corpus: Corpus) -> None:
    made = [trained(corpus, steps).model() for steps in range(3)]

    def work(index: int) -> None:
        for _ in range(200):
            made_here.keep(made[index])
            made_here.find(made[(index + 1) % 3].name)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert all(made_here.find(model.name) is model for model in made)


def test_curves_are_thinned_to_means_of_equal_groups() -> None:
    at, losses, size = smoothed([4.0, 2.0, 3.0, 1.0, 5.0], most=3)
    assert (at, losses, size) == ([0.5, 2.5, 4.0], [3.0, 2.0, 5.0], 2)
    assert smoothed([1.0, 2.0])[2] == 1 and smoothed([]) == ([], [], 1)
