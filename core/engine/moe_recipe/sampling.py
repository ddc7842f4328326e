"""Calibration text sampled from the dense model itself: stories, facts and chat answers."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache

from core.engine.moe_recipe.settings import SamplingSettings

PROMPTS_FILE = Path(__file__).resolve().parents[3] / "assets" / "moe" / "prompts.json"
BARE_SHARE = 0.12  # of prompts: nothing but the document start token
OPENING_SHARE = 0.40  # of prompts: the first words of a text; the rest are chat questions
COMPACT_BELOW = 0.75  # drop finished rows from the batch when fewer than this share still run
STOP_BELOW = 0.2  # a batch ends when fewer than this share still run

Log = Callable[[str], None]


@dataclass
class Samples:
    """Token sequences (prompt and continuation), kept apart by whether training may see them."""

    train: list[list[int]]
    held_out: list[list[int]]
    batches: int = 0

    @property
    def n_tokens(self) -> int:
        return sum(map(len, self.train)) + sum(map(len, self.held_out))


class PromptWriter:
    """Fills the templates of ``prompts.json``; held-out prompts speak of topics that training never sees."""

    def __init__(self, tokenizer: Any, eos_id: int, file: Path = PROMPTS_FILE) -> None:
        self.tokenizer = tokenizer
        self.eos_id = eos_id
        self.words: dict[str, list[str]] = json.loads(file.read_text(encoding="utf-8"))

    def write(self, rng: random.Random, held_out: bool) -> list[int]:
        """The token ids of one prompt."""
        draw = rng.random()
        if draw < BARE_SHARE:
            return [self.eos_id]
        if draw < BARE_SHARE + OPENING_SHARE:
            ids = self.tokenizer(self._fill(rng, "openings", held_out)).input_ids
            return list(ids) if rng.random() < 0.5 else [self.eos_id, *ids]
        return self._chat(self._fill(rng, "questions", held_out))

    def _fill(self, rng: random.Random, kind: str, held_out: bool) -> str:
        topics = self.words["held_out_topics" if held_out else "topics"]
        topic, other, country = rng.choice(topics), rng.choice(topics), rng.choice(self.words["countries"])
        template = rng.choice(self.words[kind])
        return template.format(topic=topic, Topic=topic[0].upper() + topic[1:], other=other, country=country)

    def _chat(self, question: str) -> list[int]:
        if not getattr(self.tokenizer, "chat_template", None):
            return list(self.tokenizer(question).input_ids)
        message = [{"role": "user", "content": question}]
        encoded = self.tokenizer.apply_chat_template(message, add_generation_prompt=True, return_dict=True)
        return list(encoded["input_ids"])


def _left_padded(prompts: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, prompts))
    ids = torch.zeros(len(prompts), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for row, prompt in enumerate(prompts):
        ids[row, width - len(prompt) :] = torch.tensor(prompt)
        mask[row, width - len(prompt) :] = 1
    return ids, mask


@torch.no_grad()
def continue_batch(
    model: Any,
    prompts: list[list[int]],
    settings: SamplingSettings,
    stop_ids: set[int],
    generator: torch.Generator,
) -> list[list[int]]:
    """One sampled continuation per prompt, at the temperatures of the settings in turn."""
    ids, mask = _left_padded(prompts)
    n_temperatures = len(settings.temperatures)
    heat = torch.tensor([[settings.temperatures[i % n_temperatures]] for i in range(len(prompts))])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    cache = DynamicCache()
    written: list[list[int]] = [[] for _ in prompts]
    rows = list(range(len(prompts)))  # batch row -> prompt
    running = [True] * len(prompts)
    for _ in range(settings.new_tokens):
        out = model(
            input_ids=ids, attention_mask=mask, position_ids=positions,
            cache=cache, use_cache=True, logits_to_keep=1,
        )  # fmt: skip
        top, index = out.logits[:, -1].float().topk(min(settings.top_k, out.logits.shape[-1]), -1)
        choice = torch.multinomial((top / heat).softmax(-1), 1, generator=generator)
        ids = index.gather(1, choice)  # (rows, 1)
        for row, token in zip(rows, ids.squeeze(1).tolist(), strict=True):
            if running[row]:
                written[row].append(token)
                running[row] = token not in stop_ids
        mask = torch.cat([mask, torch.ones(len(rows), 1, dtype=torch.long)], 1)
        positions = positions[:, -1:] + 1
        alive = [i for i, row in enumerate(rows) if running[row]]
        if len(alive) <= STOP_BELOW * len(prompts):
            break
        if len(alive) < COMPACT_BELOW * len(rows):
            keep = torch.tensor(alive)
            cache.batch_select_indices(keep)
            ids, mask, positions, heat = ids[keep], mask[keep], positions[keep], heat[keep]
            rows = [rows[i] for i in alive]
    return written


def sample_text(
    model: Any,
    tokenizer: Any,
    settings: SamplingSettings,
    seed: int,
    seconds: float,
    file: Path,
    log: Log = print,
    turn: tuple[int, int] = (0, 1),
) -> Samples:
    """Sample until ``seconds`` have passed or ``max_tokens`` are there; goes on from ``file`` if it exists.

    ``turn`` (i, n): as the i-th of n processes, every n-th batch and an n-th of the tokens. Batch b is drawn
    from seed + b, so that a resumed run, or several processes, sample what one uninterrupted run would have.
    """
    eos = model.config.eos_token_id
    writer = PromptWriter(tokenizer, 0)
    samples = load_samples(file) if file.exists() else Samples([], [])
    started = time.monotonic()
    while samples.n_tokens < settings.max_tokens / turn[1] and time.monotonic() - started < seconds:
        batch = samples.batches * turn[1] + turn[0]
        rng = random.Random(f"{seed}/{batch}")
        generator = torch.Generator().manual_seed(seed * 100_003 + batch)
        held_out = rng.random() < settings.held_out_share or batch == 1
        prompts = sorted((writer.write(rng, held_out) for _ in range(settings.batch)), key=len)
        texts = continue_batch(model, prompts, settings, {0, int(eos)}, generator)
        target = samples.held_out if held_out else samples.train
        target.extend(prompt + text for prompt, text in zip(prompts, texts, strict=True))
        samples.batches += 1
        save_samples(samples, file)
        log(f"sampled batch {batch}: {samples.n_tokens} tokens, {time.monotonic() - started:.0f} s")
    return samples


def together(parts: list[Samples]) -> Samples:
    """The samples of several processes as one."""
    train = [text for part in parts for text in part.train]
    held_out = [text for part in parts for text in part.held_out]
    return Samples(train, held_out, sum(part.batches for part in parts))


def save_samples(samples: Samples, file: Path) -> None:
    """Write the samples as JSON, in one move."""
    part = file.with_suffix(".part")
    part.write_text(
        json.dumps({"train": samples.train, "held_out": samples.held_out, "batches": samples.batches})
    )
    part.replace(file)


def load_samples(file: Path) -> Samples:
    """Read what ``save_samples`` wrote."""
    data = json.loads(file.read_text())
    return Samples(data["train"], data["held_out"], data["batches"])
