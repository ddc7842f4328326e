"""Rotary position embedding as the loaded model computes it (Su et al., "RoFormer", 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from core.engine.roles import ModelRoles


@dataclass(frozen=True)
class RopeTable:
    """Cosine and sine per position and rotated dimension, from the model's own rotary module.

    Attributes:
        cos, sin: (n, r) float32 with r rotated dimensions of the head (r ≤ head_dim).
        angle: (n, r/2) radians = position · inv_freq. inv_freq: (r/2,) radians per position.
        interleaved: pair j is (2j, 2j+1) instead of (j, j + r/2).
    """

    cos: np.ndarray
    sin: np.ndarray
    angle: np.ndarray
    inv_freq: np.ndarray
    interleaved: bool


def rope_table(hf_model: Any, roles: ModelRoles, layer: int, positions: Sequence[int]) -> RopeTable | None:
    """The table of ``layer`` at ``positions``, or ``None`` when the model has no rotary module."""
    rotary: Any = getattr(roles.decoder, "rotary_emb", None)
    if rotary is None:
        return None
    where = torch.tensor([list(positions)])
    like = roles.embedding.weight[:1, :1]
    layer_type = _layer_type(hf_model, layer)
    with torch.inference_mode():
        by_type = layer_type is not None and hasattr(rotary, f"{layer_type}_inv_freq")
        cos, sin = rotary(like, where, layer_type) if by_type else rotary(like, where)
    family = hf_model.config.get_text_config().model_type
    if family in _SINE_FIRST:
        cos, sin = (table.repeat_interleave(2, dim=-1) for table in (sin, cos))
    frequencies = _frequencies(rotary, f"{layer_type}_inv_freq" if by_type else "inv_freq", cos.shape[-1])
    return RopeTable(
        cos=cos[0].float().numpy(),
        sin=sin[0].float().numpy(),
        angle=np.outer(np.asarray(positions, dtype=np.float32), frequencies),
        inv_freq=frequencies,
        interleaved=family in _INTERLEAVED,
    )


# These families pair neighbouring dimensions; all others of transformers pair i with i + r/2.
_INTERLEAVED = frozenset({"cohere", "cohere2", "gptj", "glm", "glm4", "ernie4_5"})


# GPT-J's rotary module returns (sine, cosine), one number per pair, from a table instead of frequencies.
_SINE_FIRST = frozenset({"gptj"})


def _frequencies(rotary: Any, name: str, rotated: int) -> np.ndarray:
    """(r/2,) radians per position: the module's own, or the paper's where it keeps a table instead."""
    own = getattr(rotary, name, None)
    if own is not None:
        return np.asarray(own.float().numpy())
    return (10_000.0 ** (-np.arange(0, rotated, 2) / rotated)).astype(np.float32)


def _layer_type(hf_model: Any, layer: int) -> str | None:
    types = getattr(hf_model.config.get_text_config(), "layer_types", None)
    return types[layer] if types else None
