"""What one pass computes and moves: multiply-adds by part, and FLOPs per byte, counted from a shape.

One multiply-add is two floating point operations. Norms, rotations, softmax and activations are left out:
they are a small share and no matrix multiplication.

References: Kaplan et al. 2020, section 2.1 (FLOPs per token); Williams et al. 2009 (roofline).
"""

from __future__ import annotations

from dataclasses import dataclass

from core.lessons.costs import (
    CostShape,
    attention_matrices,
    cached_positions,
    expert_size,
    ffn_matrices,
    kv_bytes,
    parameter_parts,
    weight_bytes,
)

FLOPS_PER_MULTIPLY_ADD = 2


@dataclass(frozen=True)
class Flops:
    """Floating point operations, by where they are spent. ``attention_scores`` grows with the context."""

    attention_projections: int
    attention_scores: int
    ffn: int
    router: int
    lm_head: int

    @property
    def total(self) -> int:
        return sum(self.as_dict().values())

    def as_dict(self) -> dict[str, int]:
        return {
            "attention_projections": self.attention_projections,
            "attention_scores": self.attention_scores,
            "ffn": self.ffn,
            "router": self.router,
            "lm_head": self.lm_head,
        }


def _weight_flops(shape: CostShape, tokens: int, heads: int) -> Flops:
    """FLOPs of the matrix multiplications with weights: ``tokens`` through the layers, ``heads`` LM heads."""
    m, d = ffn_matrices(shape), shape.d_model
    dense = shape.ffn_layers * m * d * shape.d_ff
    per_moe = m * d * (shape.experts_per_token * shape.d_expert + shape.d_shared)
    gate = d if shape.shared_gate else 0
    two = FLOPS_PER_MULTIPLY_ADD * tokens
    return Flops(
        attention_projections=two * shape.n_layers * attention_matrices(shape)[0],
        attention_scores=0,
        ffn=two * (dense + shape.moe_layers * per_moe),
        router=two * shape.moe_layers * (d * shape.n_experts + gate),
        lm_head=FLOPS_PER_MULTIPLY_ADD * heads * d * shape.vocab_size,
    )


def _score_flops(shape: CostShape, pairs: int) -> int:
    """FLOPs of QKᵀ and of weights·V for ``pairs`` (query, key) pairs, already summed over the layers."""
    return FLOPS_PER_MULTIPLY_ADD * pairs * shape.n_heads * (shape.key_dim + shape.value_dim)


def _pairs_in_prefill(tokens: int, window: int) -> int:
    """(query, key) pairs under the causal mask: 1 + 2 + … + tokens, each capped at the window."""
    if not window or window >= tokens:
        return tokens * (tokens + 1) // 2
    return window * (window + 1) // 2 + (tokens - window) * window


def decode_flops(shape: CostShape, context: int) -> Flops:
    """One decode step for one sequence whose context, with the new token, is ``context`` tokens long."""
    base = _weight_flops(shape, 1, 1)
    return _with_scores(base, _score_flops(shape, cached_positions(shape, context)))


def prefill_flops(shape: CostShape, tokens: int) -> Flops:
    """One prefill of ``tokens`` tokens: pairs under the causal mask, and one LM head at the end."""
    full = shape.n_layers - shape.window_layers
    pairs = full * _pairs_in_prefill(tokens, 0)
    pairs += shape.window_layers * _pairs_in_prefill(tokens, shape.window)
    return _with_scores(_weight_flops(shape, tokens, 1), _score_flops(shape, pairs))


def _with_scores(base: Flops, scores: int) -> Flops:
    return Flops(base.attention_projections, scores, base.ffn, base.router, base.lm_head)


def experts_touched(n_experts: int, experts_per_token: int, tokens: int) -> float:
    """Expected number of different experts that ``tokens`` tokens reach, if the router spread them evenly."""
    if not n_experts:
        return 0.0
    return n_experts * (1.0 - (1.0 - experts_per_token / n_experts) ** tokens)


def parameters_read(shape: CostShape, tokens: int) -> float:
    """Weights that must come from memory for one pass over ``tokens`` tokens: each used weight once."""
    expert = expert_size(shape) if shape.is_moe else 0
    reached = experts_touched(shape.n_experts, shape.experts_per_token, tokens) * shape.moe_layers * expert
    shared = sum(part.total for part in parameter_parts(shape) if part.name != "experts")
    if not shape.tied_embeddings:
        shared -= shape.vocab_size * shape.d_model  # the input table is looked up, not multiplied
    return shared + reached


@dataclass(frozen=True)
class Intensity:
    """FLOPs and bytes of one pass; their quotient says which of the two the hardware waits for."""

    flops: float
    bytes_moved: float

    @property
    def flops_per_byte(self) -> float:
        return self.flops / self.bytes_moved


def decode_intensity(
    shape: CostShape, context: int, batch: int, dtype: str, kv_number_bytes: int
) -> Intensity:
    """One decode step of ``batch`` sequences: weights read once for all, each cache read once."""
    moved = weight_bytes(1, dtype) * parameters_read(shape, batch)
    moved += kv_bytes(shape, context, batch, kv_number_bytes)
    return Intensity(batch * decode_flops(shape, context).total, moved)


def prefill_intensity(
    shape: CostShape, tokens: int, batch: int, dtype: str, kv_number_bytes: int
) -> Intensity:
    """One prefill of ``batch`` prompts of ``tokens`` tokens: weights read once, the new K/V written once."""
    moved = weight_bytes(1, dtype) * parameters_read(shape, tokens * batch)
    moved += kv_bytes(shape, tokens, batch, kv_number_bytes)
    return Intensity(batch * prefill_flops(shape, tokens).total, moved)
