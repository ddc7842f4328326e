"""The tour's questions about choosing, decoding, memory and experts. Pure.

Each function takes a ``Scene`` and returns a question whose answer is computed, or None where the model or
the text has no such question (a dense model has no router).
"""

from __future__ import annotations

import math

import numpy as np

from core.decoding.sampling import SamplingParams, pipeline, softmax, top_ids
from core.engine.experiment import Experiment
from core.lessons.experts import cell, choices_of
from core.lessons.experts_compare import counts
from core.lessons.questions import Question, among_numbers, among_texts, one_of, yes_or_no
from core.lessons.tour_scene import Scene, moved, percent

LIKELY = 0.01


def next_token(scene: Scene) -> Question | None:
    """Which token the model finds likeliest next, among its own first four."""
    best, *others = (int(token) for token in top_ids(scene.logits, 4))
    chance = float(softmax(scene.logits)[best])
    values = {"last": scene.at(scene.trace.n_positions - 1), "chance": percent(chance)}
    return among_texts("next", values, scene.name(best), map(scene.name, others), best)


def removed(scene: Scene, rank: int = 3) -> Question | None:
    """Whether the filters remove the token that the model puts at ``rank``."""
    result = pipeline(scene.logits, scene.params, scene.run.token_ids)
    candidate = result.top(rank)[-1]
    values = {
        "token": scene.name(candidate.token_id),
        "rank": str(candidate.rank),
        "before": percent(candidate.model_probability),
        "after": percent(candidate.probability),
        "left": f"{result.final.kept:,}",
        "top_p": f"{scene.params.top_p:g}",
    }
    return yes_or_no("filter", values, bool(candidate.removed_by))


def temperature(scene: Scene) -> Question | None:
    """What doubling the temperature does to the entropy of the model's distribution."""
    low, high = (
        pipeline(scene.logits, SamplingParams(temperature=t, top_p=1.0), ()).final.entropy for t in (1.0, 2.0)
    )
    change = {"grows": "rises", "shrinks": "falls", "same": "same"}[moved(low, high)]
    values = {"low": f"{low / math.log(2):.2f}", "high": f"{high / math.log(2):.2f}"}
    return one_of("temperature", values, ("rises", "falls", "same"), change)


def branches(scene: Scene) -> Question | None:
    """How many next tokens have a chance of at least one percent."""
    chances = softmax(scene.logits)
    likely = chances >= LIKELY
    right = int(likely.sum())
    values = {"share": percent(float(chances[likely].sum())), "percent": f"{100 * LIKELY:g}"}
    return among_numbers("branches", values, right, (1, right // 3, right * 3, scene.logits.size))


def swap(scene: Scene) -> Question | None:
    """Whether the token after next has the same favourite when the second choice is taken instead."""
    limit = scene.model.shape.max_positions
    if limit and scene.trace.n_positions + 1 >= limit:
        return None
    first, second = (int(token) for token in top_ids(scene.logits, 2))
    after_first, after_second = (
        int(np.asarray(scene.model.step(scene.run.tip, token).logits).argmax()) for token in (first, second)
    )
    values = {
        "first": scene.name(first),
        "second": scene.name(second),
        "after_first": scene.name(after_first),
        "after_second": scene.name(after_second),
    }
    return yes_or_no("swap", values, after_first == after_second)


def database(scene: Scene) -> Question | None:
    """Whether the favourite stays when the chosen layer is switched off."""
    off = Experiment(layers_off=frozenset({scene.layer}))
    changed = scene.model.experiment_logits(scene.trace.token_ids, off)[-1]
    before, after = (float(softmax(row)[scene.favourite]) for row in (scene.logits, changed))
    values = {
        "layer": str(scene.layer),
        "token": scene.name(scene.favourite),
        "before": percent(before),
        "after": percent(after),
    }
    return yes_or_no("database", values, int(np.asarray(changed).argmax()) == scene.favourite)


def speed(scene: Scene) -> Question | None:
    """Which took less time for each token on this machine: the prefill or the decode steps."""
    first, *steps = scene.trace.passes
    if not steps:
        return None
    prefill = 1000 * first.timing.total_s / len(first.token_ids)
    decode = 1000 * sum(p.timing.total_s for p in steps) / sum(len(p.token_ids) for p in steps)
    values = {
        "prompt": f"{len(first.token_ids):,}",
        "made": f"{len(steps):,}",
        "prefill": f"{prefill:.1f}",
        "decode": f"{decode:.1f}",
    }
    return one_of("speed", values, ("prefill", "decode"), "prefill" if prefill < decode else "decode")


def cached(scene: Scene) -> Question | None:
    """How many columns of K and V the newest pass computed in each layer."""
    newest, total = scene.trace.passes[-1], scene.trace.n_positions
    computed = len(newest.token_ids)
    values = {"total": f"{total:,}", "read": f"{total - computed:,}"}
    return among_numbers("cached", values, computed, (1, scene.trace.n_prompt, total))


def cache_bytes(scene: Scene) -> Question | None:
    """By how many bytes one more token grows the cache, measured on the newest pass."""
    shape, newest = scene.model.shape, scene.trace.passes[-1]
    right = newest.kv_bytes // len(newest.token_ids)
    values = {
        "layers": str(shape.n_layers),
        "kv_heads": str(shape.n_kv_heads),
        "heads": str(shape.n_heads),
        "size": str(shape.head_dim),
        "total": f"{scene.trace.kv_bytes():,}",
    }
    others = (right // shape.n_layers, right // 2, right * shape.group_size)
    return among_numbers("bytes", values, right, others)


def recap(scene: Scene) -> Question | None:
    """How many tokens of the text the model chose; the others were given."""
    prompt, made = len(scene.run.prompt_ids), scene.run.cursor
    values = {"total": f"{prompt + made:,}", "prompt": f"{prompt:,}"}
    return among_numbers("recap", values, made, (1, prompt, prompt + made))


def memory(scene: Scene) -> Question | None:
    """How many megabytes the weights take with two bytes for each parameter."""
    total = counts(scene.model).total
    right, *others = (_size(total * size) for size in (2, 1, 4, 8))
    values = {"parameters": f"{total:,}", "bytes": f"{2 * total:,}"}
    return among_texts("memory", values, right, others, 1)


def router(scene: Scene) -> Question | None:
    """Which expert gets the largest weight for the chosen token in the chosen layer."""
    found = choices_of(scene.trace)
    if found is None:
        return None
    layer = min(found.layers, key=lambda routed: (abs(routed - scene.layer), routed))
    chosen = cell(found, layer, scene.position)
    if chosen is None:
        return None
    best, weight = chosen.chosen[0]
    values = {
        "token": scene.at(scene.position),
        "layer": str(layer),
        "experts": str(found.n_experts),
        "used": str(len(chosen.chosen)),
        "weight": percent(weight),
    }
    return among_numbers("router", values, best, [e for e in chosen.order if e != best][:3])


def active(scene: Scene) -> Question | None:
    """How many percent of all parameters take part in one token of a Mixture of Experts."""
    shape = scene.model.shape
    if not shape.n_experts:
        return None
    counted = counts(scene.model)
    share = round(100 * counted.active_without / counted.total)
    values = {"total": f"{counted.total:,}", "active": f"{counted.active_without:,}"}
    chosen = round(100 * shape.experts_per_token / shape.n_experts)
    return among_numbers("active", values, share, (chosen, 100, share // 3))


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes >= 1e7 else f"{n_bytes / 1e3:,.1f} KB"
