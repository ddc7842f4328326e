"""``python -m core bench``: what the app costs, as ratios from interleaved runs in one process."""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
from collections.abc import Callable
from typing import Any

from core.engine import reference
from core.engine.loader import load_model
from core.engine.model import LoadedModel
from core.errors import UserError

PREFILL_LENGTHS = (10, 64, 256)
DECODE_STEPS = 40


def main(args: argparse.Namespace) -> int:
    """Measure and print; with ``--json`` one object. The browser part needs the development requirements."""
    figures: dict[str, Any] = {"model": args.model}
    model = load_model(args.model)
    _note("engine: traced against bare passes")
    figures |= engine_figures(model)
    _note("start-up")
    from core.cli.bench_startup import startup_figures

    figures |= startup_figures(args.model)
    figures |= _browser_figures(args.model)
    print(
        json.dumps(figures) if args.json else "\n".join(f"{key:28} {_show(v)}" for key, v in figures.items())
    )
    return 0


def _note(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


def _show(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _browser_figures(model_name: str) -> dict[str, Any]:
    try:
        from core.cli.bench_browser import browser_figures
    except ImportError as missing:
        return {"browser": f"not measured: {missing.name} is not installed (see requirements-dev.txt)"}
    _note("browser: one Next click against four plain charts")
    try:
        return browser_figures(model_name)
    except UserError as error:
        return {"browser": f"not measured: {error}"}


def engine_figures(model: LoadedModel) -> dict[str, Any]:
    """Ratios of traced to bare passes, and the bytes that one token keeps."""
    figures: dict[str, Any] = {}
    ids = _some_ids(model, max(PREFILL_LENGTHS))
    for length in PREFILL_LENGTHS:
        prompt = ids[:length]

        def traced(prompt: list[int] = prompt) -> float:
            return model.prefill(prompt).timing.total_s

        def bare(prompt: list[int] = prompt) -> float:
            return reference.timed_prefill(model, prompt)

        figures[f"traced_prefill_ratio_{length}"] = paired_ratio(
            traced, bare, rounds=15 if length < 256 else 9
        )
    figures["traced_decode_ratio"] = _decode_ratio(model, ids[:16])
    figures["kb_per_token"], figures["kv_kb_per_token"] = _kb_per_token(model, ids[:16])
    return figures


def paired_ratio(first: Callable[[], float], second: Callable[[], float], rounds: int) -> float:
    """Median of first/second over ``rounds`` neighbouring pairs, the order turned each time, one warm-up."""
    first(), second()
    gc.collect()
    ratios = []
    for index in range(rounds):
        if index % 2:
            b, a = second(), first()
        else:
            a, b = first(), second()
        ratios.append(a / b)
    return statistics.median(ratios)


def _decode_ratio(model: LoadedModel, prompt: list[int]) -> float:
    bare = reference.BareDecoder(model, prompt)
    tip = [model.prefill(prompt)]
    token = prompt[0]

    def traced() -> float:
        tip[0] = model.step(tip[0], token)
        return tip[0].timing.total_s

    return paired_ratio(traced, lambda: bare.step(token), rounds=DECODE_STEPS)


def _kb_per_token(model: LoadedModel, prompt: list[int]) -> tuple[float, float]:
    """(kept without K/V, K/V) in kilobytes of 1,000 bytes, for one decode step."""
    made = model.step(model.prefill(prompt), prompt[0])
    return made.kept_bytes / 1000, made.kv_bytes / 1000


def _some_ids(model: LoadedModel, count: int) -> list[int]:
    """Plain prose, repeated: what is read does not change what a pass costs."""
    text = "The capital of France is Paris, and the river that runs through it is the Seine. "
    ids = model.codec.encode(text)
    return (ids * (count // len(ids) + 1))[:count]
