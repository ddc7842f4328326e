"""A training run packed for ``assets/js/from_zero.js``: losses and checkpoints, and the learned merges."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from core.components.base import mount
from core.lessons.from_zero import Training, smoothed


def training_run(run: Training, tokens: Sequence[str], labels: Mapping[str, str]) -> Any:
    """The losses so far and every checkpoint. ``tokens``: the texts of the watched sentence."""
    checkpoints, held = list(run.checkpoints), list(run.held)
    at, losses, group = smoothed(list(run.losses))
    header = {
        "view": "run",
        "labels": dict(labels),
        "steps": run.steps,
        "end": max(run.steps, run.goal),
        "group": group,
        "uniform": math.log(run.corpus.vocab_size),
        "start": run.start_text,
        "tokens": list(tokens),
        "checkpoints": [
            {"step": one.step, "held": one.held_loss, "sample": one.sample} for one in checkpoints
        ],
    }
    settings, length = run.settings, len(run.watched_ids)
    empty = np.zeros((0, settings.layers, settings.heads, length, length), dtype=np.uint8)
    shades = [np.round(255 * one.attention).astype(np.uint8) for one in checkpoints]
    arrays: dict[str, np.ndarray] = {
        "loss_at": np.array(at, dtype=np.float32),
        "loss": np.array(losses, dtype=np.float32),
        "held_at": np.array([step for step, _ in held], dtype=np.float32),
        "held": np.array([loss for _, loss in held], dtype=np.float32),
        "attention": np.stack(shades) if shades else empty,
    }
    return mount("from_zero", key="nt_from_zero", header=header, arrays=arrays)


def learned_merges(
    merges: Sequence[tuple[str, str]], pieces: Sequence[str], labels: Mapping[str, str]
) -> Any:
    """Merges as pairs of texts in their order, and the beginning of the text cut into ``pieces``."""
    header = {
        "view": "merges",
        "labels": dict(labels),
        "merges": [list(pair) for pair in merges],
        "tokens": list(pieces),
    }
    return mount("from_zero", key="nt_from_zero_merges", header=header)
