"""``python -m core verify``: every identity that the screen relies on, with its largest error."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np

from core.decoding.sampling import SamplingParams, pipeline
from core.engine import reference
from core.engine.layer_view import LayerView
from core.engine.loader import load_model
from core.engine.model import LoadedModel
from core.engine.trace import Trace

PROMPT = "The capital of France is"
GREEDY_TOKENS = 20
TRACED_TOKENS = 4


@dataclass(frozen=True)
class Check:
    """One identity: ``error`` is the largest difference found, ``tolerance`` what float32 allows."""

    name: str
    error: float
    tolerance: float
    detail: str

    @property
    def ok(self) -> bool:
        """The identity holds."""
        return bool(self.error <= self.tolerance)


def main(args: argparse.Namespace) -> int:
    """Run all checks on ``args.model`` and print them; 1 when one fails."""
    model = load_model(args.model)
    checks = list(run_checks(model))
    if args.json:
        rows = [{**asdict(check), "ok": check.ok} for check in checks]
        good = all(check.ok for check in checks)
        print(json.dumps({"model": model.name, "prompt": PROMPT, "ok": good, "checks": rows}))
    else:
        _print_table(model.name, checks)
    return 0 if all(check.ok for check in checks) else 1


def _print_table(name: str, checks: list[Check]) -> None:
    width = max(len(check.name) for check in checks)
    print(f"{name}, prompt {PROMPT!r}\n")
    print(f"{'identity':{width}}  {'largest error':>13}  {'allowed':>8}")
    for check in checks:
        verdict = "ok" if check.ok else "FAILED"
        print(
            f"{check.name:{width}}  {check.error:13.3g}  {check.tolerance:8.0e}  {verdict:6}  {check.detail}"
        )


def run_checks(model: LoadedModel) -> Iterator[Check]:
    """All identities on one prompt and a few greedy tokens."""
    ids = model.codec.encode(PROMPT)
    generated = _greedy(model, ids, GREEDY_TOKENS)
    yield _logits(model, ids)
    yield _against_generate(model, ids, generated)
    yield _replay(model, ids, generated[:TRACED_TOKENS])
    tip = model.prefill(ids)
    for token in generated[:TRACED_TOKENS]:
        tip = model.step(tip, token)
    trace = model.trace(tip)
    views = [trace.layer(layer) for layer in range(model.shape.n_layers)]
    yield _largest("softmax(QKᵀ·scale + mask)·V = attention output", 5e-5, views, _attention_error)
    yield _largest("attention weights sum to 1", 1e-5, views, _row_sum_error)
    yield _largest("heads through W_O sum to the attention output", 5e-4, views, _heads_error)
    yield _largest("residual + attention + feed-forward = residual out", 5e-4, views, _residual_error)
    if any(model.shape.moe_layers):
        moe = [view for view in views if view.router is not None]
        yield _largest("chosen experts + shared expert = layer output", 5e-4, moe, _experts_error)
    yield _lens(model, trace)
    yield _cached_against_uncached(model, trace)
    yield from _kv_bytes(model, trace)
    yield _parameters(model)
    yield _sampling(tip.logits, trace.token_ids)


def _greedy(model: LoadedModel, ids: list[int], count: int) -> list[int]:
    """Greedy tokens from this app's own passes."""
    tip, chosen = model.prefill(ids), []
    for _ in range(count):
        chosen.append(int(tip.logits.argmax()))
        if chosen[-1] in model.codec.eos_ids:
            break
        tip = model.step(tip, chosen[-1])
    return chosen


def _logits(model: LoadedModel, ids: list[int]) -> Check:
    bare = reference.bare_logits(model, ids)
    tip = model.prefill(ids)
    ours = np.stack([model.trace(tip).logits_at(position) for position in range(len(ids))])
    return Check("logits = bare model", _gap(ours, bare), 0, f"{ours.size:,} numbers")


def _against_generate(model: LoadedModel, ids: list[int], ours: list[int]) -> Check:
    theirs = reference.greedy(model, ids, GREEDY_TOKENS)
    differing = sum(a != b for a, b in zip(ours, theirs, strict=False)) + abs(len(ours) - len(theirs))
    return Check(
        "greedy tokens = model.generate", differing, 0, f"{len(theirs)} tokens, differing ones counted"
    )


def _replay(model: LoadedModel, ids: list[int], generated: list[int]) -> Check:
    found = reference.compare_replay(model, [*ids, *generated], len(ids))
    return Check(
        "replay = original pass",
        found.largest,
        0,
        f"{found.differing} of {found.tensors:,} tensors differ",
    )


def _largest(
    name: str, tolerance: float, views: list[LayerView], error: Callable[[LayerView], float]
) -> Check:
    errors = [error(view) for view in views]
    worst = int(np.argmax(errors))
    return Check(
        name, errors[worst], tolerance, f"largest in layer {views[worst].layer}, {len(views)} layers"
    )


def _gap(a: np.ndarray, b: np.ndarray | float) -> float:
    return float(np.abs(a - b).max())


def _heads(view: LayerView) -> range:
    return range(view.q.shape[0])


def _attention_error(view: LayerView) -> float:
    """In units of the largest number that a head gave, because some families have values in the tens."""
    gap = max(_gap(view.weights(h) @ view.v[view.kv_head(h)], view.head_out(h)) for h in _heads(view))
    return gap / max(1.0, float(np.abs(view.all_head_out).max()))


def _row_sum_error(view: LayerView) -> float:
    if view.sinks is not None:
        return 0.0  # a sink takes its share: rows sum to less than 1 there
    return max(_gap(view.weights(h).sum(-1), 1.0) for h in _heads(view))


def _relative(view: LayerView, total: np.ndarray, whole: np.ndarray) -> float:
    """Error in units of the largest number: the residual stream holds values in the thousands."""
    return _gap(total, whole) / max(1.0, float(np.abs(view.resid_out).max()))


def _heads_error(view: LayerView) -> float:
    total = np.sum([view.head_contribution(h) for h in _heads(view)], axis=0)
    bias = view.out_bias if view.out_bias is not None else 0.0
    return _relative(view, total + bias, view.attn_out)


def _residual_error(view: LayerView) -> float:
    return _relative(view, view.resid_in + view.attn_added + view.mlp_added, view.resid_out)


def _experts_error(view: LayerView) -> float:
    router = view.router
    assert router is not None
    total = np.stack([view.expert_out(position).sum(0) for position in range(view.n_positions)])
    if router.shared is not None:
        gate = 1.0 if router.shared_gate is None else router.shared_gate[:, None]
        total = total + gate * router.shared.out
    return _relative(view, total, view.mlp_out)


def _lens(model: LoadedModel, trace: Trace) -> Check:
    last = trace.lens(model.shape.n_layers, [trace.n_positions - 1])[0]
    return Check("logit lens of the last layer = logits", _gap(last, trace.tip.logits), 1e-3, "last position")


def _cached_against_uncached(model: LoadedModel, trace: Trace) -> Check:
    whole = model.prefill(trace.token_ids)
    return Check(
        "cached = uncached logits",
        _gap(trace.tip.logits, whole.logits),
        5e-3,
        "different order of additions: last bits may differ",
    )


def _kv_bytes(model: LoadedModel, trace: Trace) -> Iterator[Check]:
    measured = trace.kv_bytes()
    bare = reference.cache_bytes(model, trace.token_ids)
    yield Check("KV bytes = the cache's tensors", abs(measured - bare), 0, f"{measured:,} bytes")
    if not any(window is not None for window in model.shape.layer_windows):
        formula = model.shape.kv_bytes_per_token * trace.n_positions
        yield Check(
            "KV bytes = 2·layers·kv_heads·head_dim·bytes·tokens",
            abs(measured - formula),
            0,
            f"{model.shape.kv_bytes_per_token:,} bytes a token",
        )


def _parameters(model: LoadedModel) -> Check:
    counted = sum(row.count for row in model.parameters())
    whole = sum(p.numel() for p in model.hf_model.parameters())
    return Check(
        "parameters by part = all parameters", abs(counted - whole), 0, f"{whole:,}, tied weights once"
    )


def _sampling(logits: np.ndarray, previous: tuple[int, ...]) -> Check:
    settings = (
        SamplingParams(temperature=0.7, top_k=50, top_p=0.9),
        SamplingParams(temperature=2.0, top_k=0, top_p=0.99, min_p=0.01),
        SamplingParams(temperature=1.0, top_k=5, top_p=1.0, repetition_penalty=1.3),
    )
    errors = [
        _gap(
            pipeline(logits, params, previous).probabilities,
            reference.processed_probabilities(logits, params.to_json(), previous),
        )
        for params in settings
    ]
    return Check(
        "sampling = transformers' processors",
        max(errors),
        1e-9,
        f"{len(settings)} settings, whole vocabulary",
    )
