"""What a model measures: counts, widths, and which layer does what. Read from its config and modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.engine import kv
from core.engine.roles import ModelRoles, out_features


@dataclass(frozen=True)
class ModelShape:
    """Sizes of a loaded model. Widths are numbers per vector, not bytes.

    Attributes:
        family: the config's ``model_type``, for example "llama".
        n_layers, n_heads, n_kv_heads, head_dim, d_model, vocab_size: the usual counts.
        d_ff: width of the dense feed-forward part (0 when every layer is a Mixture of Experts).
        d_expert: width of one routed expert; d_shared: width of the always-on expert (0: none).
        max_positions: the longest context that the config names.
        tied_embeddings: the LM head is the embedding matrix.
        dtype: of the weights as loaded; bytes_per_weight its size.
        n_experts, experts_per_token: 0 for a dense model.
        moe_layers: which layers are a Mixture of Experts.
        layer_windows: per layer how many positions its cache keeps, ``None`` for all.
        latent_per_token: numbers per token and layer in a latent cache (DeepSeek's MLA), 0 for plain K and V.
        learned_positions: positions are looked-up vectors that are added (GPT-2), not rotations.
        norm: "rms" or "layer". norm_eps: its epsilon.
        qkv_bias, out_bias, ffn_bias: whether Q, K and V, W_O, and the feed-forward part (or its experts) add
            a bias. Read from the tensors: a family's config can switch it on and off.
    """

    family: str
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_model: int
    d_ff: int
    d_expert: int
    d_shared: int
    vocab_size: int
    max_positions: int
    tied_embeddings: bool
    dtype: str
    bytes_per_weight: int
    n_experts: int
    experts_per_token: int
    moe_layers: tuple[bool, ...]
    layer_windows: tuple[int | None, ...]
    latent_per_token: int
    learned_positions: bool
    norm: str
    norm_eps: float
    qkv_bias: bool
    out_bias: bool
    ffn_bias: bool

    @property
    def group_size(self) -> int:
        """Query heads that share one key/value head."""
        return self.n_heads // self.n_kv_heads

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes that one more token adds to the cache: 2 · layers · kv_heads · head_dim · bytes.

        A latent cache keeps ``latent_per_token`` numbers instead; layers with a full window add nothing.
        """
        per_layer = self.latent_per_token or 2 * self.n_kv_heads * self.head_dim
        return self.n_layers * per_layer * self.bytes_per_weight


def read_shape(hf_model: Any, roles: ModelRoles) -> ModelShape:
    """The shape of a loaded model."""
    config = hf_model.config.get_text_config()
    weight = roles.embedding.weight
    n_heads = int(config.num_attention_heads)
    d_model = int(config.hidden_size)
    head_dim = int(getattr(config, "head_dim", None) or d_model // n_heads)
    moe = [block for block in roles.blocks if block.router is not None]
    dense = [block for block in roles.blocks if block.down_proj is not None]
    router: Any = moe[0].router if moe else None
    final_norm: Any = roles.final_norm
    eps = getattr(final_norm, "variance_epsilon", None) or getattr(final_norm, "eps", None) or 0.0
    return ModelShape(
        family=str(config.model_type),
        n_layers=len(roles.blocks),
        n_heads=n_heads,
        n_kv_heads=int(getattr(config, "num_key_value_heads", None) or n_heads),
        head_dim=head_dim,
        d_model=d_model,
        d_ff=_width_into(dense[0].down_proj) if dense else 0,
        d_expert=_expert_width(moe[0].experts, d_model) if moe else 0,
        d_shared=_shared_width(moe[0].shared_expert) if moe else 0,
        vocab_size=out_features(roles.lm_head),
        max_positions=int(config.max_position_embeddings),
        tied_embeddings=roles.lm_head.weight is weight,
        dtype=str(weight.dtype).removeprefix("torch."),
        bytes_per_weight=weight.element_size(),
        n_experts=int(router.num_experts) if router is not None else 0,
        experts_per_token=int(router.top_k) if router is not None else 0,
        moe_layers=tuple(block.router is not None for block in roles.blocks),
        layer_windows=tuple(kv.layer_windows(hf_model.config)),
        latent_per_token=_latent_width(config),
        learned_positions=roles.position_embedding is not None,
        norm="rms" if "rms" in type(final_norm).__name__.lower() else "layer",
        norm_eps=float(eps),
        qkv_bias=_qkv_bias(roles.blocks[0]),
        out_bias=bool(_biases(roles.blocks[0].out_proj)),
        ffn_bias=any(_biases(part) for block in roles.blocks for part in (block.down_proj, block.experts)),
    )


def _biases(module: Any) -> set[str]:
    """Names of a module's biases (of GPT-OSS's experts too: ``down_proj_bias``), those of norms left out."""
    names = (name for name, _ in module.named_parameters()) if module is not None else ()
    return {name for name in names if name.endswith("bias") and "norm" not in name}


def _qkv_bias(block: Any) -> bool:
    """Whether the attention part has biases beside those of W_O."""
    return len(_biases(block.attention)) > len(_biases(block.out_proj))


def _width_into(linear: Any) -> int:
    """Width of what a linear map takes: ``Linear`` stores (out, in), GPT-2's ``Conv1D`` (in, out)."""
    return int(linear.weight.shape[0] if type(linear).__name__ == "Conv1D" else linear.weight.shape[1])


def _expert_width(experts: Any, d_model: int) -> int:
    shape = experts.down_proj.shape  # (E, d, F) or (E, F, d)
    return int(shape[2] if shape[1] == d_model else shape[1])


def _shared_width(shared: Any) -> int:
    return _width_into(shared.down_proj) if shared is not None and hasattr(shared, "down_proj") else 0


def _latent_width(config: Any) -> int:
    rank = getattr(config, "kv_lora_rank", None)
    return int(rank) + int(config.qk_rope_head_dim) if rank else 0
