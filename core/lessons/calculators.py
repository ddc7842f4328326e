"""The calculators' data: presets, cards, shapes of loaded models, and what fits where."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.lessons.costs import (
    CostShape,
    active_parameters,
    kv_bytes,
    largest_context,
    total_parameters,
    weight_bytes,
)

SHAPES_FILE = Path(__file__).resolve().parents[2] / "assets" / "model_shapes.toml"

GB = 1_000_000_000
GIB = 1 << 30

MAX_CONTEXT_TOKENS = 1_048_576
MAX_BATCH = 4096


@dataclass(frozen=True)
class ModelPreset:
    """A model with its published shape. Published totals are as printed there, or empty; ``weights`` counts
    the numbers in the published weight files, 0 where there are none."""

    key: str
    shape: CostShape
    source: str
    max_context: int
    published_total: str = ""
    published_active: str = ""
    active_counts_embeddings: bool = True
    weights: int = 0

    @property
    def name(self) -> str:
        return self.shape.name

    @property
    def total(self) -> int:
        return total_parameters(self.shape)

    @property
    def active(self) -> int:
        """Active parameters, counted as this model's source counts them."""
        return active_parameters(self.shape, self.active_counts_embeddings)


@dataclass(frozen=True)
class Card:
    """An accelerator as its maker describes it. ``peak_tflops`` (dense, 16-bit) is None when not printed."""

    name: str
    memory_gb: float
    bandwidth_gb_s: float
    source: str
    peak_tflops: float | None = None

    @property
    def memory_bytes(self) -> float:
        return self.memory_gb * GB

    @property
    def ridge(self) -> float | None:
        """FLOPs per byte at which computing takes as long as reading: below it a pass waits for memory."""
        return None if self.peak_tflops is None else self.peak_tflops * 1e12 / (self.bandwidth_gb_s * 1e9)


@cache
def _file() -> Mapping[str, Any]:
    with SHAPES_FILE.open("rb") as file:
        return tomllib.load(file)


@cache
def presets() -> tuple[ModelPreset, ...]:
    """All model presets, in the order of the file."""
    rows = []
    for row in _file()["models"]:
        values = {name: value for name, value in row.items() if name not in ("shape", "name")}
        rows.append(ModelPreset(shape=CostShape(name=row["name"], **row["shape"]), **values))
    return tuple(rows)


@cache
def cards() -> tuple[Card, ...]:
    """All cards, smallest memory first."""
    return tuple(Card(**row) for row in _file()["cards"])


def preset(key: str) -> ModelPreset:
    """The preset called ``key``. Raises KeyError."""
    for row in presets():
        if row.key == key:
            return row
    raise KeyError(key)


# --- the loaded model ------------------------------------------------------------------------------------

_GPT = {"norm_bias": True, "gated_ffn": False}
FAMILY_TRAITS: Mapping[str, Mapping[str, Any]] = {
    "llama": {},
    "mistral": {},
    "mixtral": {},
    "phi3": {},
    "smollm3": {},
    "granite": {},
    "granitemoe": {},
    "gemma": {},
    "qwen2": {},
    "qwen2_moe": {"shared_gate": True},
    "qwen3": {"qk_norm": "head"},
    "qwen3_moe": {"qk_norm": "head"},
    "olmo2": {"qk_norm": "all"},
    "olmo3": {"qk_norm": "all"},
    "olmoe": {"qk_norm": "all"},
    "exaone4": {"qk_norm": "head"},
    "gemma2": {"norms_per_block": 4},
    "gemma3_text": {"norms_per_block": 4, "qk_norm": "head"},
    "gpt2": _GPT,
    "starcoder2": _GPT,
    "gpt_neox": _GPT,
    "gpt_oss": {"router_bias": True, "sinks": True},
}
"""What a family has beside its matrices: small tensors that its sizes alone do not tell."""


def from_shape(shape: Any, name: str) -> CostShape | None:
    """The cost shape of a loaded model (a ``ModelShape``).

    None for families whose small tensors are not known here, and for latent attention, whose inner sizes a
    ``ModelShape`` does not hold: such a model is counted from its tensors alone.
    """
    traits = FAMILY_TRAITS.get(shape.family)
    if traits is None or shape.latent_per_token:
        return None
    windows = [window for window in shape.layer_windows if window is not None]
    return CostShape(
        name=name,
        n_layers=shape.n_layers,
        d_model=shape.d_model,
        n_heads=shape.n_heads,
        n_kv_heads=shape.n_kv_heads,
        head_dim=shape.head_dim,
        d_ff=shape.d_ff,
        vocab_size=shape.vocab_size,
        tied_embeddings=shape.tied_embeddings,
        n_experts=shape.n_experts,
        experts_per_token=shape.experts_per_token,
        d_expert=shape.d_expert,
        d_shared=shape.d_shared,
        dense_layers=shape.n_layers - sum(shape.moe_layers) if shape.n_experts else 0,
        window=min(windows, default=0),
        window_layers=len(windows),
        learned_positions=shape.max_positions if shape.learned_positions else 0,
        qkv_bias=shape.qkv_bias,
        out_bias=shape.out_bias,
        ffn_bias=shape.ffn_bias,
        **traits,
    )


@dataclass(frozen=True)
class MeasuredPart:
    """One part of a loaded model, summed over its real tensors."""

    role: str
    count: int
    active: int
    n_bytes: int


def measured_parts(rows: Iterable[Any]) -> list[MeasuredPart]:
    """Sums over ``ParameterRow`` objects (``role``, ``count``, ``active_count``, ``n_bytes``) by role.

    The input embedding table counts in full as active, like everywhere on the page.
    """
    sums: dict[str, list[int]] = {}
    for row in rows:
        part = sums.setdefault(row.role, [0, 0, 0])
        part[0] += row.count
        part[1] += row.count if row.role in ("embedding", "position") else row.active_count
        part[2] += row.n_bytes
    return [MeasuredPart(role, *values) for role, values in sums.items()]


# --- what fits -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Workload:
    """What is asked of a card. ``overhead_gb`` is set aside for the driver, the runtime and activations."""

    context_tokens: int
    batch: int
    weight_dtype: str
    kv_number_bytes: int
    overhead_gb: float


@dataclass(frozen=True)
class Fit:
    """One card's verdict, in bytes. ``spare`` is negative when it does not fit.

    ``max_context`` is the longest context for this batch, 0 when not even the weights fit.
    ``decode_limit`` is how many steps a second reading weights and cache once per step would allow.
    """

    card: Card
    weights: float
    kv: float
    overhead: float
    max_context: int
    decode_limit: float

    @property
    def used(self) -> float:
        return self.weights + self.kv + self.overhead

    @property
    def spare(self) -> float:
        return self.card.memory_bytes - self.used

    @property
    def fits(self) -> bool:
        return self.spare >= 0


def fit(shape: CostShape, card: Card, load: Workload, bytes_read_per_step: float) -> Fit:
    """Weights + K/V cache + overhead against one card's memory."""
    weights = weight_bytes(total_parameters(shape), load.weight_dtype)
    cache_bytes = kv_bytes(shape, load.context_tokens, load.batch, load.kv_number_bytes)
    overhead = load.overhead_gb * GB
    budget = card.memory_bytes - weights - overhead
    longest = largest_context(shape, budget, load.batch, load.kv_number_bytes, MAX_CONTEXT_TOKENS)
    return Fit(card, weights, cache_bytes, overhead, longest, card.bandwidth_gb_s * GB / bytes_read_per_step)


def fits(shape: CostShape, load: Workload, bytes_read_per_step: float) -> list[Fit]:
    """The verdict of every card."""
    return [fit(shape, card, load, bytes_read_per_step) for card in cards()]


def smallest_fit(rows: Sequence[Fit]) -> Fit | None:
    """The card with the least memory that holds it all, or None."""
    return min((row for row in rows if row.fits), key=lambda row: row.card.memory_gb, default=None)


def context_curve(limit: int) -> list[int]:
    """Context lengths from 1 up to ``limit``, four per doubling, for a smooth curve on a logarithmic axis."""
    steps = {limit}
    value = 1.0
    while value < limit:
        steps.add(round(value))
        value *= 2**0.25
    return sorted(steps)


def compact(count: float) -> str:
    """``46.7B``, ``134.5M``, ``9.4K``: parameters as model cards write them."""
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if count >= size * 0.9995:
            value = count / size
            whole = value >= 100 and unit in "TB"  # 671B, but 134.5M
            digits = ".0f" if whole else ".4g" if value >= 100 else ".3g"
            return f"{value:{digits}}{unit}"
    return f"{count:.0f}"
