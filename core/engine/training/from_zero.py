"""A small Llama trained from its first weights on: one optimiser step per background turn.

Everything that a step does follows from the settings, the text and the number of the step alone: where its
windows of text begin is drawn from a generator seeded with (seed, step). So a run that was stopped and goes
on is the same run, to the last bit, as one that never stopped.
"""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from core.engine.catalogue import ModelSpec
from core.engine.model import LoadedModel, ReplayStore
from core.engine.scheduler import BACKGROUND, SHARED, SerialScheduler
from core.engine.training.corpus import Corpus

WARM_UP = 20
"""Steps over which the learning rate grows from nothing to its full size."""
CLIP = 1.0
_NAME_DIGITS = 8
_WORK_BYTES = 40_000_000  # activations of a step, and what one checkpoint copies
_REPLAY_BYTES = 16_000_000  # forty such models may be in memory
_ADAM_COPIES = 4  # weights, gradients, and AdamW's two running means
_STRIDE = 1_000_003  # keeps (seed, step) pairs apart


@dataclass(frozen=True)
class Settings:
    """How large the model is and how it is trained.

    ``width`` is d, ``context`` T the most positions it reads, ``batch`` B windows of T tokens a step.
    """

    width: int = 96
    layers: int = 2
    heads: int = 4
    context: int = 128
    vocabulary: int = 320
    batch: int = 4
    learning_rate: float = 1e-3
    weight_decay: float = 0.1
    seed: int = 0

    @property
    def ffn_width(self) -> int:
        """F: 8/3 of the width, in steps of 32 (Shazeer, "GLU Variants Improve Transformer", 2020)."""
        return -(-8 * self.width // 3 // 32) * 32


def parameter_count(vocab_size: int, settings: Settings) -> int:
    """V·d + L·(4d² + 3dF + 2d) + d.

    The embedding (it is the LM head, too), per block Q, K, V, W_O, gate, up, down and two norms, and the
    final norm.
    """
    d, ff = settings.width, settings.ffn_width
    return vocab_size * d + settings.layers * (4 * d * d + 3 * d * ff + 2 * d) + d


def bytes_needed(vocab_size: int, settings: Settings) -> int:
    """What a training run takes at most: four numbers per weight, and the activations of a step."""
    return _ADAM_COPIES * 4 * parameter_count(vocab_size, settings) + _WORK_BYTES


class Trainer:
    """A model on its way. Not shared: one learner's own, used by one thread at a time.

    Example::

        trainer = Trainer(make_corpus(text, 384), Settings())
        while trainer.steps < 100:
            loss = trainer.step()          # nats per token, before this step's update
        model = trainer.model()            # a copy that every page can open
    """

    def __init__(self, corpus: Corpus, settings: Settings, scheduler: SerialScheduler = SHARED) -> None:
        self.corpus = corpus
        self.settings = settings
        self.steps = 0
        self._scheduler = scheduler
        self._train = torch.tensor(corpus.train_ids)
        self._held = torch.tensor(corpus.held_ids)
        with scheduler.turn(BACKGROUND):  # the seed below is the whole process' own for a moment
            self._hf = _first_weights(corpus.vocab_size, settings)
            self._optimizer = torch.optim.AdamW(
                self._hf.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
            )

    # -- one step --------------------------------------------------------------------------------------

    @property
    def window(self) -> int:
        """Targets in one row of a batch: the context, or what a short text can fill."""
        return min(self.settings.context, len(self._train) - 1)

    def batch(self, step: int) -> np.ndarray:
        """(B, window + 1) token ids of ``step``: a row without its last token is read, without its first
        token it is what must be predicted."""
        return self._batch(step).numpy()

    def step(self) -> float:
        """One optimiser step in one background turn; returns the batch's loss before the update, in nats."""
        with self._scheduler.turn(BACKGROUND):
            for group in self._optimizer.param_groups:
                group["lr"] = self.settings.learning_rate * min(1.0, (self.steps + 1) / WARM_UP)
            loss = self._loss(self._batch(self.steps))
            self._optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self._hf.parameters(), CLIP)
            self._optimizer.step()
            self.steps += 1
            return float(loss.detach())

    def held_out_loss(self) -> float:
        """Mean −ln p over every token of the held-out part that has one before it, in nats.

        One background turn per window, so that nobody waits for more than one.
        """
        total = count = 0.0
        for start in range(0, len(self._held) - 1, self.settings.context):
            row = self._held[start : start + self.settings.context + 1][None]
            with self._scheduler.turn(BACKGROUND), torch.inference_mode():
                total += float(self._loss(row)) * (row.shape[1] - 1)
            count += row.shape[1] - 1
        return total / count

    def batch_logits(self, step: int) -> np.ndarray:
        """(B, window, V) logits of a step's batch with the weights as they are now."""
        with self._scheduler.turn(BACKGROUND), torch.inference_mode():
            return self._hf(input_ids=self._batch(step)[:, :-1], use_cache=False).logits.numpy()

    def batch_loss(self, step: int) -> float:
        """The loss of a step's batch with the weights as they are now."""
        with self._scheduler.turn(BACKGROUND), torch.inference_mode():
            return float(self._loss(self._batch(step)))

    # -- the model so far --------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """``from-zero-`` and a hash of text, settings and steps: the same training has the same name."""
        told = repr((self.corpus.text, self.settings, self.steps))
        return f"from-zero-{hashlib.sha256(told.encode()).hexdigest()[:_NAME_DIGITS]}"

    def model(self, title: str = "") -> LoadedModel:
        """A copy of the model as it is now, which further steps leave alone."""
        name = self.name
        with self._scheduler.turn(BACKGROUND):
            hf = copy.deepcopy(self._hf)
        hf.zero_grad(set_to_none=True)
        hf.requires_grad_(False)
        size = 4 * parameter_count(self.corpus.vocab_size, self.settings)
        spec = ModelSpec(name, title or name, "made", "the text's own", "Trained in this app.", size)
        model = LoadedModel(name, spec, hf, self.corpus.codec, self._scheduler)
        model.replays = ReplayStore(self._scheduler, _REPLAY_BYTES)
        return model

    # -- inside ------------------------------------------------------------------------------------------

    def _batch(self, step: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.settings.seed * _STRIDE + step)
        last = len(self._train) - self.window
        starts = torch.randint(0, last, (self.settings.batch,), generator=generator)
        return self._train[starts[:, None] + torch.arange(self.window + 1)]

    def _loss(self, rows: torch.Tensor) -> torch.Tensor:
        """Position t is scored on token t + 1, shifted here and nowhere else."""
        logits = self._hf(input_ids=rows[:, :-1], use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())


def _first_weights(vocab_size: int, settings: Settings) -> Any:
    """The stock Llama with its own initialisation (normal, σ = 0.02), drawn from the seed."""
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=settings.width,
        intermediate_size=settings.ffn_width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.heads,
        max_position_embeddings=settings.context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(settings.seed)
        return LlamaForCausalLM(config)
