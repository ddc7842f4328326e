"""What a transformer costs, counted from its shape: parameters, weight bytes, K/V bytes, multiply-adds.

Everything here is exact integer counting over the tensors that a model of this shape has. Nothing is
measured and no model is loaded. Conventions, the same everywhere:

* one multiply-add is two floating point operations (FLOPs);
* tied embeddings are counted once;
* a token at position t looks at t + 1 keys, or at the window's size where a layer has a sliding window.

References: Shazeer 2019 (multi-query attention), Ainslie et al. 2023 (grouped-query attention),
DeepSeek-AI 2024 (DeepSeek-V2, latent attention), Kaplan et al. 2020, section 2.1 (FLOPs per token).
"""

from __future__ import annotations

from dataclasses import dataclass

WEIGHT_BYTES: dict[str, float] = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp8": 1.0,
    # 32 weights of 4 bits share one 16-bit scale: (32 * 4 + 16) / 32 = 4.5 bits each
    "int4": 4.5 / 8,
}
"""Bytes per weight. ``bf16`` also stands for fp16, ``fp8`` for int8; ``int4`` includes its block scales."""

KV_BYTES: dict[str, int] = {"fp32": 4, "bf16": 2, "fp8": 1}
"""Bytes per stored K or V number."""


@dataclass(frozen=True)
class CostShape:
    """The sizes that fix a decoder-only transformer's costs. Zero or False means: it has none of this.

    ``head_dim`` is the size of one query, key and value head. With latent attention (``kv_lora_rank`` > 0) it
    is the part of a key that carries no position, beside ``rope_head_dim`` and ``value_head_dim``.
    ``d_ff`` is the width of a dense FFN, ``d_expert`` of one routed expert, ``d_shared`` of all shared
    experts together. ``dense_layers`` layers of a Mixture of Experts keep a dense FFN. ``qk_norm`` is ``""``,
    ``"head"`` (one gain per head dimension) or ``"all"`` (one gain for all heads together).
    """

    name: str
    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    vocab_size: int
    tied_embeddings: bool = True
    gated_ffn: bool = True
    n_experts: int = 0
    experts_per_token: int = 0
    d_expert: int = 0
    d_shared: int = 0
    shared_gate: bool = False
    dense_layers: int = 0
    window: int = 0
    window_layers: int = 0
    kv_lora_rank: int = 0
    q_lora_rank: int = 0
    rope_head_dim: int = 0
    value_head_dim: int = 0
    learned_positions: int = 0
    norms_per_block: int = 2
    norm_bias: bool = False
    qk_norm: str = ""
    qkv_bias: bool = False
    out_bias: bool = False
    ffn_bias: bool = False
    router_bias: bool = False
    sinks: bool = False

    @property
    def is_moe(self) -> bool:
        return self.n_experts > 0

    @property
    def moe_layers(self) -> int:
        return self.n_layers - self.dense_layers if self.is_moe else 0

    @property
    def ffn_layers(self) -> int:
        """Layers with a dense FFN."""
        return self.n_layers - self.moe_layers

    @property
    def is_latent(self) -> bool:
        return self.kv_lora_rank > 0

    @property
    def key_dim(self) -> int:
        """Numbers in one head's key, as the dot product with the query sees it."""
        return self.head_dim + self.rope_head_dim

    @property
    def value_dim(self) -> int:
        return self.value_head_dim or self.head_dim


@dataclass(frozen=True)
class Part:
    """One row of a count: ``total`` parameters stored, ``active`` ones that one token uses, and why."""

    name: str
    formula: str
    total: int
    active: int


def attention_matrices(shape: CostShape) -> tuple[int, str]:
    """Weights in one layer's attention matrices and the sum that gives them."""
    d, h = shape.d_model, shape.n_heads
    if not shape.is_latent:
        hd, g = shape.head_dim, shape.n_kv_heads
        count = d * h * hd + 2 * d * g * hd + h * hd * d
        return count, f"{d}·{h}·{hd} (Q) + 2·{d}·{g}·{hd} (K, V) + {h}·{hd}·{d} (O)"
    r, q, v = shape.kv_lora_rank, shape.q_lora_rank, shape.value_dim
    nope, rope = shape.head_dim, shape.rope_head_dim
    query = d * q + q * h * (nope + rope) if q else d * h * (nope + rope)
    query_line = f"{d}·{q} + {q}·{h}·{nope + rope} (Q)" if q else f"{d}·{h}·{nope + rope} (Q)"
    count = query + d * (r + rope) + r * h * (nope + v) + h * v * d
    return count, f"{query_line} + {d}·({r} + {rope}) + {r}·{h}·({nope} + {v}) (K, V) + {h}·{v}·{d} (O)"


def _attention_small(shape: CostShape) -> int:
    """Biases, query/key norms, latent norms and sinks of one layer's attention."""
    h, g, hd, d = shape.n_heads, shape.n_kv_heads, shape.head_dim, shape.d_model
    count = shape.kv_lora_rank + shape.q_lora_rank  # one gain per latent number
    count += (h + 2 * g) * hd if shape.qkv_bias else 0
    count += d if shape.out_bias else 0
    count += h if shape.sinks else 0
    count += {"": 0, "head": 2 * hd, "all": (h + g) * hd}[shape.qk_norm]
    return count


def ffn_matrices(shape: CostShape) -> int:
    """Matrices in one FFN: gate, up and down, or up and down alone."""
    return 3 if shape.gated_ffn else 2


def _ffn_bias(shape: CostShape, width: int) -> int:
    return (ffn_matrices(shape) - 1) * width + shape.d_model if shape.ffn_bias else 0


def expert_size(shape: CostShape) -> int:
    """Parameters of one routed expert."""
    return ffn_matrices(shape) * shape.d_model * shape.d_expert + _ffn_bias(shape, shape.d_expert)


def parameter_parts(shape: CostShape) -> list[Part]:
    """Parameters of each part, with the formula filled in. Parts that the model lacks are left out.

    ``active`` counts the whole embedding table, as most model cards do; see :func:`active_parameters`.
    """
    d, v, layers = shape.d_model, shape.vocab_size, shape.n_layers
    parts = [_same("embeddings", f"{v}·{d}", v * d)]
    if shape.learned_positions:
        parts.append(_same("positions", f"{shape.learned_positions}·{d}", shape.learned_positions * d))
    matrices, line = attention_matrices(shape)
    parts.append(_same("attention", f"{layers}·({line})", layers * matrices))
    if small := _attention_small(shape):
        parts.append(_same("attention_small", f"{layers}·{small}", layers * small))
    m = ffn_matrices(shape)
    if shape.ffn_layers:
        bias = _ffn_bias(shape, shape.d_ff)
        formula = f"{shape.ffn_layers}·({m}·{d}·{shape.d_ff}{f' + {bias}' if bias else ''})"
        parts.append(_same("ffn", formula, shape.ffn_layers * (m * d * shape.d_ff + bias)))
    if shape.is_moe:
        parts.extend(_moe_parts(shape))
    vectors = layers * shape.norms_per_block + 1
    twice = "·2" if shape.norm_bias else ""  # a gain and a bias
    norms = vectors * d * (2 if shape.norm_bias else 1)
    parts.append(_same("norms", f"({layers}·{shape.norms_per_block} + 1)·{d}{twice}", norms))
    if not shape.tied_embeddings:
        parts.append(_same("lm_head", f"{d}·{v}", v * d))
    return parts


def _same(name: str, formula: str, count: int) -> Part:
    return Part(name, formula, count, count)


def _moe_parts(shape: CostShape) -> list[Part]:
    d, n, k, layers = shape.d_model, shape.n_experts, shape.experts_per_token, shape.moe_layers
    m, size = ffn_matrices(shape), expert_size(shape)
    bias = _ffn_bias(shape, shape.d_expert)
    one = f"({m}·{d}·{shape.d_expert}{f' + {bias}' if bias else ''})"
    router = d * n + (n if shape.router_bias else 0)
    parts = [Part("experts", f"{layers}·{n}·{one}", layers * n * size, layers * k * size)]
    if shape.d_shared:
        shared = m * d * shape.d_shared + (d if shape.shared_gate else 0)
        formula = f"{layers}·({m}·{d}·{shape.d_shared}{f' + {d}' if shape.shared_gate else ''})"
        parts.append(_same("shared_experts", formula, layers * shared))
    router_line = f"({d}·{n} + {n})" if shape.router_bias else f"{d}·{n}"
    parts.append(_same("router", f"{layers}·{router_line}", layers * router))
    return parts


def total_parameters(shape: CostShape) -> int:
    """All parameters that are stored, tied weights once."""
    return sum(part.total for part in parameter_parts(shape))


def active_parameters(shape: CostShape, with_embeddings: bool = True) -> int:
    """Parameters that one token uses.

    A token reads a single row of the embedding table. With ``with_embeddings`` the whole table is counted all
    the same (Mixtral's 12.9B is counted so). Without it, the input table is left out (gpt-oss is counted so);
    a tied table stays in, because the LM head multiplies with all of it.
    """
    active = sum(part.active for part in parameter_parts(shape))
    if with_embeddings or shape.tied_embeddings:
        return active
    return active - shape.vocab_size * shape.d_model


def weight_bytes(parameters: int, dtype: str) -> float:
    """Bytes of ``parameters`` weights stored as ``dtype`` (a key of ``WEIGHT_BYTES``)."""
    return parameters * WEIGHT_BYTES[dtype]


# --- K/V cache -------------------------------------------------------------------------------------------


def kv_numbers_per_layer(shape: CostShape) -> int:
    """Numbers that one token leaves in one layer's cache."""
    if shape.is_latent:
        return shape.kv_lora_rank + shape.rope_head_dim
    return 2 * shape.n_kv_heads * shape.head_dim


def kv_bytes_per_token(shape: CostShape, bytes_per_number: int) -> int:
    """Bytes that one more token costs while no sliding window is full: all layers together."""
    return shape.n_layers * kv_numbers_per_layer(shape) * bytes_per_number


def cached_positions(shape: CostShape, tokens: int) -> int:
    """Columns held for one sequence, summed over the layers; a windowed layer holds at most its window."""
    full = shape.n_layers - shape.window_layers
    return full * tokens + shape.window_layers * min(tokens, shape.window or tokens)


def kv_bytes(shape: CostShape, tokens: int, batch: int, bytes_per_number: int) -> int:
    """Bytes of the K/V cache for ``batch`` sequences of ``tokens`` tokens each."""
    return cached_positions(shape, tokens) * kv_numbers_per_layer(shape) * bytes_per_number * batch


@dataclass(frozen=True)
class KvVariant:
    """One way to build attention for the same model: ``numbers`` cached per token and layer."""

    key: str
    formula: str
    numbers: int
    own: bool


def kv_variants(shape: CostShape) -> list[KvVariant]:
    """The same model with one K/V pair per head, per group, for all heads, or one latent vector.

    A model that is not latent is given the latent size of the DeepSeek-V2 paper, section 2.1.4:
    4 head sizes for the latent and half a head for the position, rounded down.
    A latent model is given a group of eight query heads per K/V head, the common choice.
    """
    h, pair = shape.n_heads, shape.key_dim + shape.value_dim
    groups = max(1, h // 8) if shape.is_latent else shape.n_kv_heads
    hd = shape.head_dim
    rank = shape.kv_lora_rank or 4 * hd
    rope = shape.rope_head_dim if shape.is_latent else hd // 2
    own = "latent" if shape.is_latent else "mha" if groups == h else "mqa" if groups == 1 else "gqa"
    pairs = f"({shape.key_dim} + {shape.value_dim})"
    rows = [("mha", f"{h}·{pairs}", h * pair)]
    if own in ("gqa", "latent") and 1 < groups < h:
        rows.append(("gqa", f"{groups}·{pairs}", groups * pair))
    rows += [("mqa", f"1·{pairs}", pair), ("latent", f"{rank} + {rope}", rank + rope)]
    return [KvVariant(key, formula, numbers, key == own) for key, formula, numbers in rows]


def variant_bytes(
    shape: CostShape, variant: KvVariant, tokens: int, batch: int, bytes_per_number: int
) -> int:
    """Bytes of the cache if the model's layers stored what ``variant`` stores."""
    return cached_positions(shape, tokens) * variant.numbers * bytes_per_number * batch


def largest_context(
    shape: CostShape, budget_bytes: float, batch: int, bytes_per_number: int, limit: int
) -> int:
    """The longest context, up to ``limit`` tokens, whose cache for the batch fits the budget; 0 if none."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if kv_bytes(shape, middle, batch, bytes_per_number) <= budget_bytes:
            low = middle
        else:
            high = middle - 1
    return low
