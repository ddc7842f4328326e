"""``python -m core run PROMPT``: a run token by token, with every choice and its candidates."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from typing import Any

from core.cli.console import ProgressLine
from core.cli.layer_report import layer_lines, layer_report
from core.decoding.run import Run, StepRecord, StopRules
from core.decoding.sampling import Candidate, Pipeline, SamplingParams
from core.engine.loader import load_model
from core.engine.model import LoadedModel
from core.engine.text import Piece
from core.errors import UserError


def main(args: argparse.Namespace) -> int:
    """Run the prompt and print the report."""
    text = sys.stdin.read() if args.prompt == "-" else args.prompt
    if not text.strip():
        raise UserError(
            "The prompt is empty.", 'Write some text: python -m core run "The capital of France is"'
        )
    params = SamplingParams(
        args.temperature, args.top_k, args.top_p, args.min_p, args.repetition_penalty, args.seed
    )
    progress = ProgressLine()
    with contextlib.redirect_stdout(sys.stderr):  # whatever a library prints is not part of the answer
        try:
            model = load_model(args.model, progress)
        finally:
            progress.close()
        report = run_report(model, text, params, args)
    print(json.dumps(report, allow_nan=False) if args.json else "\n".join(_lines(report)))
    return 0


def run_report(
    model: LoadedModel, text: str, params: SamplingParams, args: argparse.Namespace
) -> dict[str, Any]:
    """The whole run as plain data. Times in seconds, logits raw, probabilities in 0..1, entropies in nats."""
    if args.layer is not None and args.layer >= model.shape.n_layers:
        last = model.shape.n_layers - 1
        raise UserError(f"The model has no layer {args.layer}.", f"Choose one from 0 to {last}.")
    began = time.perf_counter()
    ids = _encode(model, text, args)
    tokenise_s = time.perf_counter() - began
    run = Run.start(model, ids, params, StopRules.of(model, args.tokens), tokenise_s)
    prefill_s = run.tip.timing.total_s
    steps = []
    while run.stop_reason is None:
        stages = run.pipeline()
        steps.append(_step(model, run.next(), stages, args.top))
    report: dict[str, Any] = {
        "model": model.name,
        "prompt": text,
        "chat": args.chat,
        "prompt_tokens": [_token(piece) for piece in model.codec.pieces(run.prompt_ids)],
        "params": params.to_json(),
        "steps": steps,
        "stop_reason": run.stop_reason,
        "text": model.codec.decode(run.generated_ids),
        "next_candidates": _candidates(model, run.pipeline(), args.top),
        "tokenise_s": tokenise_s,
        "prefill_s": prefill_s,
    }
    if args.layer is not None:
        report["layer"] = layer_report(
            model.trace(run.tip).layer(args.layer), args.layer, model.shape.n_heads
        )
    return report


def _encode(model: LoadedModel, text: str, args: argparse.Namespace) -> list[int]:
    codec = model.codec
    plain = codec.encode(text, specials_as_text=True)
    if not args.specials_as_text and codec.encode(text) != plain:
        print(
            "The prompt holds control tokens of the model; --specials-as-text reads them as plain text.",
            file=sys.stderr,
        )
    if not args.chat:
        return plain if args.specials_as_text else codec.encode(text)
    if not codec.has_chat_template:
        raise UserError(f"The model {model.name} has no chat template.", "Leave out --chat.")
    return codec.chat(text, specials_as_text=args.specials_as_text)


def _token(piece: Piece) -> dict[str, Any]:
    """A character split over several tokens is the text of its first ``part`` of ``parts``."""
    return {
        "id": piece.token_id,
        "text": piece.text,
        "raw": piece.raw,
        "special": piece.special,
        "part": piece.part,
        "parts": piece.parts,
    }


def _step(model: LoadedModel, record: StepRecord, stages: Pipeline, top: int) -> dict[str, Any]:
    timing = record.timing
    return {
        "index": record.index,
        "choice": _token(model.codec.piece(record.token_id)),
        "how": record.how,
        "u": record.u,
        "probability": record.probability,
        "model_probability": record.model_probability,
        "rank": record.rank,
        "logit": record.logit,
        "entropy": record.entropy,
        "model_entropy": record.model_entropy,
        "kept_candidates": record.candidates,
        "candidates": _candidates(model, stages, top),
        "sampling_s": record.sampling_s,
        "step_s": timing.total_s,
        "stop_reason": record.stop_reason,
    }


def _candidates(model: LoadedModel, stages: Pipeline, top: int) -> list[dict[str, Any]]:
    return [_candidate(model, candidate) for candidate in stages.top(top)]


def _candidate(model: LoadedModel, candidate: Candidate) -> dict[str, Any]:
    return {
        "id": candidate.token_id,
        "text": model.codec.piece(candidate.token_id).text,
        "logit": candidate.logit,
        "model_probability": candidate.model_probability,
        "probability": candidate.probability,
        "removed_by": candidate.removed_by or None,
    }


def _lines(report: dict[str, Any]) -> list[str]:
    tokens = report["prompt_tokens"]
    lines = [f"model   {report['model']}", f"prompt  {len(tokens)} tokens"]
    lines += [f"  {t['id']:>6}  {t['text']!r}{'  (special)' if t['special'] else ''}" for t in tokens]
    for step in report["steps"]:
        choice = step["choice"]
        lines.append("")
        own = step["model_probability"]
        lines.append(
            f"token {step['index'] + 1}: {choice['text']!r} ({choice['id']}), {step['how']}, rank"
            f" {step['rank']}, probability {step['probability']:.4f} (the model's own: {own:.4f})"
        )
        lines += _candidate_lines(step["candidates"], choice["id"])
    lines += ["", f"stopped: {report['stop_reason']}", f"text: {report['text']!r}"]
    if not report["steps"]:
        lines += ["next token:", *_candidate_lines(report["next_candidates"], None)]
    return lines + (layer_lines(report["layer"]) if "layer" in report else [])


def _candidate_lines(candidates: list[dict[str, Any]], chosen: int | None) -> list[str]:
    return [_candidate_line(candidate, candidate["id"] == chosen) for candidate in candidates]


def _candidate_line(candidate: dict[str, Any], chosen: bool) -> str:
    mark = ">" if chosen else " "
    removed = f"  removed by {candidate['removed_by']}" if candidate["removed_by"] else ""
    numbers = (
        f"logit {candidate['logit']:8.3f}  p {candidate['model_probability']:.4f}"
        f" -> {candidate['probability']:.4f}"
    )
    return f" {mark} {candidate['id']:>6}  {numbers}  {candidate['text']!r}{removed}"
