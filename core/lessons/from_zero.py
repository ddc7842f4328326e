"""A training run from zero as a learner follows it: losses, samples and attention on the way, the model.

Losses are in nats per token. V is the vocabulary, L layers, H heads, T tokens of the watched sentence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from core.decoding.run import Run, StopRules
from core.decoding.sampling import SamplingParams, log_softmax
from core.engine import made_here
from core.engine.training.corpus import Corpus, make_corpus
from core.engine.training.from_zero import Settings, Trainer, bytes_needed
from core.engine.training.slots import SLOTS, Slots
from core.lessons.job import Report

TEXTS = Path(__file__).resolve().parents[2] / "assets" / "samples" / "train"
OFFERED = ("story", "counting", "recipes")

MORE_STEPS = (100, 200, 400, 1000, 2000)
USUAL_STEPS = 400
HELD_EVERY = 10
_EARLY = frozenset((0, 5, 10, 20, 30, 50, 75, 100, 150))
_CHECKPOINT_EVERY = 100
WATCHED_TOKENS = 16
SAMPLE_TOKENS = 60
SAMPLE_TEMPERATURE = 0.8
_START_TOKENS = 3
_WAIT_S = 0.5


@cache
def offered_text(name: str) -> str:
    """One of the texts that come with the app."""
    return (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Checkpoint:
    """What the model was like after ``step`` steps.

    ``sample``: text that it wrote after the run's ``start_text``. ``attention`` (L, H, T, T): its weights on
    the watched sentence, row = query. ``held_loss``: on the held-out part.
    """

    step: int
    held_loss: float
    sample: str
    attention: np.ndarray


@dataclass(frozen=True)
class LossCheck:
    """One batch's loss twice: by the training's own code, and from its logits in float64 with numpy."""

    step: int
    targets: int
    summed: float
    mean: float
    own: float

    @property
    def error(self) -> float:
        return abs(self.mean - self.own)


def loss_from_logits(logits: np.ndarray, rows: np.ndarray) -> tuple[float, int]:
    """Σ −ln p(target) and the number of targets, in float64: logits (B, T, V), rows (B, T + 1) token ids."""
    targets = rows[:, 1:]
    chosen = np.take_along_axis(log_softmax(logits), targets[..., None], axis=-1)
    return float(-chosen.sum()), int(targets.size)


class Training:
    """One learner's run: goes on where it stopped, and may be read by the page while it runs.

    Lists only grow. ``losses[k]`` is the loss of batch k before step k's update; ``held`` holds (step, loss).
    ``goal``: the step at which the job under way ends, 0 while there is none.
    ``ahead``: how many others must be waited for, 0 once it runs. ``model_name``: of the model that the last
    stop or end left for the other pages. ``announce`` is called with each such name. ``title``: what the
    pages call that model, with a place ``{steps}``.

    Raises UserError when the text cannot be used.
    """

    def __init__(
        self,
        text: str,
        settings: Settings,
        title: str,
        announce: Callable[[str], object] = lambda _name: None,
    ) -> None:
        self.settings = settings
        self.title = title
        self.corpus: Corpus = make_corpus(text, settings.vocabulary)
        self.losses: list[float] = []
        self.held: list[tuple[int, float]] = []
        self.checkpoints: list[Checkpoint] = []
        self.check: LossCheck | None = None
        self.goal = 0
        self.ahead = 0
        self.model_name = ""
        self.watched_ids = self.corpus.held_ids[:WATCHED_TOKENS]
        self.start_ids = self.corpus.train_ids[:_START_TOKENS]
        self._trainer: Trainer | None = None
        self._announce = announce
        self._busy = threading.Lock()

    @property
    def steps(self) -> int:
        """Steps done so far."""
        return len(self.losses)

    @property
    def start_text(self) -> str:
        """What each sample begins with: the first tokens of the text."""
        return self.corpus.codec.decode(self.start_ids)

    @property
    def best_held(self) -> tuple[int, float] | None:
        """(step, loss) where the held-out loss was lowest."""
        return min(self.held, key=lambda pair: pair[1]) if self.held else None

    def plan(self, more: int, slots: Slots = SLOTS) -> Callable[[Callable[[], bool]], Generator[Report]]:
        """A job's plan: ``more`` steps from where the run stands; at its end or stop the model is kept."""

        def work(_stop: Callable[[], bool]) -> Generator[Report]:
            while not self._busy.acquire(timeout=_WAIT_S):  # an earlier job on this run is ending
                yield Report(0, more, self)
            try:
                yield from self._train(more, slots)
            finally:
                self._busy.release()

        return work

    def _train(self, more: int, slots: Slots) -> Generator[Report]:
        with slots.ticket(bytes_needed(self.corpus.vocab_size, self.settings)) as ticket:
            while not ticket.wait(_WAIT_S):
                self.ahead = ticket.ahead
                yield Report(0, more, self)
            self.ahead = 0
            trainer = self._trainer = self._trainer or Trainer(self.corpus, self.settings)
            began = trainer.steps
            self.goal = began + more
            try:
                while trainer.steps < self.goal:
                    self._look(trainer)
                    self.losses.append(trainer.step())
                    yield Report(trainer.steps - began, more, self)
            finally:  # a stop arrives as an exception at the yield; what there is becomes the model
                self.goal = 0
                self._conclude(trainer)
        yield Report(more, more, self)

    def _look(self, trainer: Trainer) -> None:
        """Held-out loss and checkpoint, where the schedule has one."""
        step = trainer.steps
        full = step in _EARLY or step % _CHECKPOINT_EVERY == 0
        if not full and step % HELD_EVERY:
            return
        if self.held and self.held[-1][0] == step:  # just looked at: the run goes on after a stop
            return
        self.held.append((step, trainer.held_out_loss()))
        if full:
            self.checkpoints.append(self._checkpoint(trainer.model(), *self.held[-1]))

    def _conclude(self, trainer: Trainer) -> None:
        """The last checkpoint, the check of the loss, and the model for the other pages."""
        model, step = trainer.model(self._full_title(trainer.steps)), trainer.steps
        if not self.held or self.held[-1][0] != step:
            self.held.append((step, trainer.held_out_loss()))
        if not self.checkpoints or self.checkpoints[-1].step != step:
            self.checkpoints.append(self._checkpoint(model, *self.held[-1]))
        summed, targets = loss_from_logits(trainer.batch_logits(step), trainer.batch(step))
        self.check = LossCheck(step, targets, summed, summed / targets, trainer.batch_loss(step))
        made_here.keep(model)
        self.model_name = model.name
        self._announce(model.name)

    def _full_title(self, steps: int) -> str:
        return self.title.format(steps=f"{steps:,}")

    def _checkpoint(self, model: Any, step: int, held_loss: float) -> Checkpoint:
        trace = model.trace(model.prefill(self.watched_ids))
        attention = np.stack(
            [
                np.stack([trace.layer(layer).weights(head) for head in range(self.settings.heads)])
                for layer in range(self.settings.layers)
            ]
        )
        return Checkpoint(step, held_loss, self._sample(model), attention.astype(np.float32))

    def _sample(self, model: Any) -> str:
        """Text by the model itself, with every page's sampler; the same random numbers each time."""
        params = SamplingParams(temperature=SAMPLE_TEMPERATURE, top_p=1.0, seed=self.settings.seed)
        run = Run.start(model, self.start_ids, params, StopRules.of(model, SAMPLE_TOKENS))
        while run.stop_reason is None:
            run.next(params)
        return str(model.codec.decode(run.generated_ids))


def smoothed(losses: list[float], most: int = 240) -> tuple[list[float], list[float], int]:
    """Steps and means of the losses in equal groups, at most ``most`` of them, and the size of a group."""
    size = max(1, -(-len(losses) // most))
    groups = [losses[at : at + size] for at in range(0, len(losses), size)]
    return (
        [at * size + (len(group) - 1) / 2 for at, group in enumerate(groups)],
        [float(np.mean(group)) for group in groups],
        size,
    )
