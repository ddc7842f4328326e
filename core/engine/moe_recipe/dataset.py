"""Rows of tokens for training and for evaluation, from prose and from the model's own samples."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import torch

from core.engine.moe_recipe.corpus import is_held_out
from core.engine.moe_recipe.sampling import Samples
from core.engine.moe_recipe.settings import RecipeSettings

DOCUMENT_START = 0  # the token that parts documents in the default model's training text


@dataclass(frozen=True)
class Rows:
    """Token ids: training rows (n, row_length), evaluation rows (n, eval_length)."""

    prose: torch.Tensor
    sampled: torch.Tensor
    prose_eval: torch.Tensor
    sampled_eval: torch.Tensor


def packed(documents: list[list[int]], length: int) -> torch.Tensor:
    """The documents one after the other, cut into rows; what does not fill a last row is left out."""
    flat = [token for document in documents for token in document]
    count = len(flat) // length
    return torch.tensor(flat[: count * length], dtype=torch.long).view(count, length)


def build_rows(tokenizer: Any, prose: list[str], samples: Samples, settings: RecipeSettings) -> Rows:
    """Tokenise, split by document into training and evaluation, shuffle by the seed, pack."""
    rng = random.Random(settings.seed)
    prose = list(prose)
    rng.shuffle(prose)
    train: list[list[int]] = []
    held: list[list[int]] = []
    characters = 0
    for text in prose:
        if is_held_out(text):
            held.append([DOCUMENT_START, *tokenizer(text).input_ids])
        elif characters < settings.prose_characters:
            characters += len(text)
            train.append([DOCUMENT_START, *tokenizer(text).input_ids])
    own, own_held = list(samples.train), list(samples.held_out)
    rng.shuffle(own)
    rng.shuffle(own_held)
    return Rows(
        packed(train, settings.row_length),
        packed(own, settings.row_length),
        packed(held, settings.eval_length)[: settings.eval_rows],
        packed(own_held, settings.eval_length)[: settings.eval_rows],
    )


class RowOrder:
    """An endless, seeded walk through the rows: each epoch in its own shuffled order; position can be
    restored.
    """

    def __init__(self, count: int, seed: int) -> None:
        if count == 0:
            raise ValueError("no rows to train on")
        self.count, self.seed, self.taken = count, seed, 0

    def take(self, number: int) -> list[int]:
        """The next ``number`` row indices."""
        out = []
        for _ in range(number):
            epoch, place = divmod(self.taken, self.count)
            out.append(int(self._epoch(epoch)[place]))
            self.taken += 1
        return out

    def _epoch(self, epoch: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.seed + 7_919 * epoch)
        return torch.randperm(self.count, generator=generator)
