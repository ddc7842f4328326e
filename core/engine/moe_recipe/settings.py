"""Every number of the recipe in one place: sizes, rates, loss weights, seeds."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SplitSettings:
    """How each dense FFN is cut. ``shared`` neurons always run, the rest form ``n_experts`` equal experts."""

    shared: int = 416
    n_experts: int = 8
    experts_per_token: int = 2
    dense_layers: tuple[int, ...] = (0, 1)
    lora_rank: int = 40


@dataclass(frozen=True)
class SamplingSettings:
    """How calibration text is sampled from the dense model. Lengths in tokens.

    ``dtype``: what the dense model computes in meanwhile. bfloat16 takes a third of the time of float32 on
    processors that multiply it themselves, and longer on others.
    """

    max_tokens: int = 1_500_000
    batch: int = 96
    dtype: str = "float32"
    new_tokens: int = 112
    temperatures: tuple[float, ...] = (0.6, 0.8, 1.0)
    top_k: int = 200
    held_out_share: float = 0.1


@dataclass(frozen=True)
class FitSettings:
    """Clustering and the first router fit (both on captured FFN inputs)."""

    calibration_tokens: int = 12_288
    cluster_tokens: int = 6_144
    cluster_rounds: int = 12
    router_steps: int = 200
    router_batch: int = 2_048
    ridge: float = 0.02
    router_gain: float = 2.5  # makes routers sharp before distillation; see docs/MOE.md


@dataclass(frozen=True)
class DistilSettings:
    """Loss weights and learning rates of the distillation."""

    rows_per_step: int = 8
    micro_rows: int = 4
    sampled_share: float = 0.5
    steps: int = 1_000_000
    hidden_weight: float = 0.3
    balance_weight: float = 0.05
    router_weight: float = 0.1
    target_temperature: float = 0.4
    router_softening: float = 1.8
    energy_positions: float = 0.0625
    vocabulary: int = 16_384
    lora_rate: float = 2e-3
    scale_rate: float = 3e-3
    norm_rate: float = 1e-3
    router_rate: float = 0.01  # times the mean |R|
    rate_factor: float = 1.0  # below 1 when going on from a trained asset
    floor: float = 0.03
    warm_up: int = 20
    clip: float = 1.0
    checkpoint_every: int = 20


@dataclass(frozen=True)
class RecipeSettings:
    """The whole recipe. ``row_length`` is the length in tokens of a training row."""

    seed: int = 11
    row_length: int = 128
    eval_length: int = 256
    eval_rows: int = 16
    prose_characters: int = 4_500_000
    split: SplitSettings = field(default_factory=SplitSettings)
    sampling: SamplingSettings = field(default_factory=SamplingSettings)
    fit: FitSettings = field(default_factory=FitSettings)
    distil: DistilSettings = field(default_factory=DistilSettings)
    sampling_share: float = 0.25  # of the minutes given
