"""The plain library, without any of this app's own code: what the engine is checked against.

Used by ``verify``, ``bench``, tests and a page's check line. Everything runs on the same weights in the same
process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from core.engine.model import LoadedModel

Outputs = dict[tuple[int, str], torch.Tensor]


def bare_logits(model: LoadedModel, token_ids: Sequence[int]) -> np.ndarray:
    """(T, V) logits of one plain forward pass."""
    with model.scheduler.turn(), torch.inference_mode():
        return model.hf_model(input_ids=torch.tensor([list(token_ids)])).logits[0].numpy()


def loss(model: LoadedModel, token_ids: Sequence[int], labels: Sequence[int]) -> float:
    """The library's own mean loss, nats; it shifts ``labels`` by one itself and leaves those of −100 out."""
    ids, marked = torch.tensor([list(token_ids)]), torch.tensor([list(labels)])
    with model.scheduler.turn(), torch.inference_mode():
        return float(model.hf_model(input_ids=ids, labels=marked, use_cache=False).loss)


def greedy(model: LoadedModel, token_ids: Sequence[int], count: int) -> list[int]:
    """``count`` tokens (fewer after an end-of-text token) from the library's own greedy search."""
    ids = torch.tensor([list(token_ids)])
    with model.scheduler.turn(), torch.inference_mode():
        out = model.hf_model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=count
        )
    return [int(t) for t in out[0, len(token_ids) :]]


def cache_bytes(model: LoadedModel, token_ids: Sequence[int]) -> int:
    """Bytes of every tensor in the cache that a plain forward pass leaves."""
    with model.scheduler.turn(), torch.inference_mode():
        cache = model.hf_model(input_ids=torch.tensor([list(token_ids)]), use_cache=True).cache
    return sum(t.numel() * t.element_size() for layer in cache.layers for t in (layer.keys, layer.values))


def processed_probabilities(
    logits: np.ndarray, settings: Mapping[str, float], previous_ids: Sequence[int]
) -> np.ndarray:
    """(V,) probabilities after the library's own processors, in the order that this app prints.

    ``settings`` has temperature (> 0), top_k (0 = off), top_p, min_p and repetition_penalty.
    """
    steps: list[Any] = [RepetitionPenaltyLogitsProcessor(float(settings["repetition_penalty"]))]
    steps.append(TemperatureLogitsWarper(float(settings["temperature"])))
    if settings["top_k"]:
        steps.append(TopKLogitsWarper(min(int(settings["top_k"]), len(logits))))
    if settings["top_p"] < 1:
        steps.append(TopPLogitsWarper(float(settings["top_p"])))
    if settings["min_p"] > 0:
        steps.append(MinPLogitsWarper(float(settings["min_p"])))
    scores = torch.from_numpy(logits.astype(np.float64))[None]
    previous: Any = torch.tensor([list(previous_ids)], dtype=torch.long)
    out = LogitsProcessorList(steps)(previous, scores)
    return torch.softmax(out, dim=-1)[0].numpy()


def observed_outputs(model: LoadedModel, token_ids: Sequence[int], n_prompt: int) -> list[Outputs]:
    """Every module's output in every block during a plain prefill, then during each plain decode step."""
    steps: list[Outputs] = []
    with model.scheduler.turn(), torch.inference_mode():
        seen, handles = _watch_all(model)
        try:
            cache = None
            for chunk in (token_ids[:n_prompt], *([t] for t in token_ids[n_prompt:])):
                out = model.hf_model(input_ids=torch.tensor([list(chunk)]), cache=cache, use_cache=True)
                cache = out.cache
                steps.append(dict(seen))
        finally:
            for handle in handles:
                handle.remove()
    return steps


def _watch_all(model: LoadedModel) -> tuple[Outputs, list[Any]]:
    seen: Outputs = {}
    handles = []
    for layer, roles in enumerate(model.roles.blocks):
        for name, module in roles.block.named_modules():

            def note(_m: Any, _a: Any, output: Any, key: tuple[int, str] = (layer, name)) -> None:
                first = output[0] if isinstance(output, tuple) else output
                if torch.is_tensor(first):
                    seen[key] = first

            handles.append(module.register_forward_hook(note))
    return seen, handles


@dataclass(frozen=True)
class ReplayComparison:
    """``tensors`` compared, ``differing`` among them, and the largest difference in numbers that differ."""

    tensors: int
    differing: int
    largest: float


def compare_replay(model: LoadedModel, token_ids: Sequence[int], n_prompt: int) -> ReplayComparison:
    """Replay every block of a prefill and its decode steps and compare each module's output bit by bit."""
    plain = observed_outputs(model, token_ids, n_prompt)
    tip = model.prefill(token_ids[:n_prompt])
    for token in token_ids[n_prompt:]:
        tip = model.step(tip, token)
    tensors = differing = 0
    largest = 0.0
    trace = model.trace(tip)
    for made, outputs in zip(trace.passes, plain, strict=True):
        for layer, roles in enumerate(model.roles.blocks):
            record = trace.record(made, layer)
            for name, module in roles.block.named_modules():
                if (layer, name) not in outputs or module not in record.outputs:
                    continue
                before, again = outputs[layer, name], record.outputs[module]
                tensors += 1
                if not torch.equal(before, again):
                    differing += 1
                    largest = max(largest, float((before - again).abs().max()))
    return ReplayComparison(tensors, differing, largest)


def timed_prefill(model: LoadedModel, token_ids: Sequence[int]) -> float:
    """Seconds of one plain forward pass that fills a cache."""
    ids = torch.tensor([list(token_ids)])
    with model.scheduler.turn(), torch.inference_mode():
        began = time.perf_counter()
        model.hf_model(input_ids=ids, use_cache=True)
        return time.perf_counter() - began


class BareDecoder:
    """A plain cached decode loop, timed step by step."""

    def __init__(self, model: LoadedModel, token_ids: Sequence[int]) -> None:
        self._model = model
        with model.scheduler.turn(), torch.inference_mode():
            self._cache = model.hf_model(input_ids=torch.tensor([list(token_ids)]), use_cache=True).cache

    def step(self, token_id: int) -> float:
        """Seconds of one decode step."""
        ids = torch.tensor([[token_id]])
        with self._model.scheduler.turn(), torch.inference_mode():
            began = time.perf_counter()
            self._cache = self._model.hf_model(input_ids=ids, cache=self._cache, use_cache=True).cache
            return time.perf_counter() - began
