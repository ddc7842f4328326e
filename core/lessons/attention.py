"""One attention head as numbers: what goes into it, what it adds, and what that does to a token's logit.

Symbols: T positions, H query heads, hd head size, d model width, K tokens asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from core.decoding.sampling import top_ids
from core.engine.layer_view import LayerView

TOKENS_ASKED = 6


@dataclass(frozen=True)
class HeadFacts:
    """All that one head needs to be worked out again.

    Attributes:
        layer, head: its place; ``kv_head``: the key/value head that it reads; ``group``: the query heads
            that read the same one.
        q, k, v: (T, hd) float32, after RoPE where the layer has it (v may have another width).
        first_key: (T,) int32, the first key that each query may look at; the last one is itself.
        scale: the factor on q·k. softcap, sink: see :class:`~core.engine.layer_view.LayerView`, or ``None``.
    """

    layer: int
    head: int
    kv_head: int
    group: tuple[int, ...]
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    first_key: np.ndarray
    scale: float
    softcap: float | None
    sink: float | None


def head_facts(view: LayerView, head: int) -> HeadFacts:
    """The head's own rows of the layer's tensors."""
    shared = view.kv_head(head)
    return HeadFacts(
        layer=view.layer,
        head=head,
        kv_head=shared,
        group=tuple(other for other in range(view.q.shape[0]) if view.kv_head(other) == shared),
        q=view.q[head],
        k=view.k[shared],
        v=view.v[shared],
        first_key=first_keys(view.mask),
        scale=view.scale,
        softcap=view.softcap,
        sink=None if view.sinks is None else float(view.sinks[head]),
    )


def first_keys(mask: np.ndarray) -> np.ndarray:
    """(T,) the first allowed column of each row of a (T, T) mask.

    Raises ValueError when a row's allowed keys are not one unbroken stretch that ends at the row itself.
    """
    total = len(mask)
    first = mask.argmax(axis=1)
    unbroken = mask.sum(axis=1) == np.arange(1, total + 1) - first
    if not (unbroken.all() and mask.diagonal().all()):
        raise ValueError("This mask is no causal window.")
    return first.astype(np.int32)


def group_of(n_heads: int, n_kv_heads: int) -> list[int]:
    """Per query head the key/value head that it reads."""
    size = n_heads // n_kv_heads
    return [head // size for head in range(n_heads)]


# -- what a head adds ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contributions:
    """What the heads of one layer add at one position.

    Attributes:
        sizes: (H,) length of each head's vector as it is added to the residual stream.
        residual: length of the residual stream that they are added to.
        token_ids: (K,) the tokens asked about: the likeliest next ones at this position.
        probabilities: (K,) the model's own for them.
        effects: (H, K) how much each head's vector moves each token's logit on the direct path, or
            ``None`` where the final norm is of a kind that we cannot hold still.
    """

    sizes: np.ndarray
    residual: float
    token_ids: tuple[int, ...]
    probabilities: np.ndarray
    effects: np.ndarray | None


def contributions(model: Any, trace: Any, view: LayerView, position: int) -> Contributions:
    """The heads of a layer at ``position``: their size, and their direct effect on the likeliest tokens.

    Direct path only: the head's vector through the final norm (with the statistics that the norm had in
    the run) times the token's row of the LM head. What later layers make of the vector is not in it.
    Source: Elhage et al., "A Mathematical Framework for Transformer Circuits" (2021).
    """
    added = added_by_heads(view, position)
    place = _place(model, trace, position)
    effects = None
    if place.norm is not None:
        effects = place.norm.through(added) @ model.lm_head_rows(place.token_ids).T  # (H, d) @ (d, K)
    return Contributions(
        sizes=np.linalg.norm(added, axis=1),
        residual=float(np.linalg.norm(view.resid_in[position])),
        token_ids=place.token_ids,
        probabilities=place.probabilities,
        effects=effects,
    )


def added_by_heads(view: LayerView, position: int) -> np.ndarray:
    """(H, d) what each head adds to the residual stream at ``position``.

    A norm behind attention (Gemma 3, OLMo 2) keeps the statistics that it had for all heads together.
    """
    out = view.all_head_out[:, position]  # (H, hd)
    per_head = view.out_weight.reshape(view.out_weight.shape[0], *out.shape)  # (d, H, hd)
    through = np.einsum("hk,dhk->hd", out, per_head)
    before, after = view.attn_out[position], view.attn_added[position]
    factor = np.divide(after, before, out=np.ones_like(after), where=np.abs(before) > 1e-12)
    return through * factor


@dataclass(frozen=True)
class FrozenNorm:
    """A final norm with its statistics held still: a linear map.

    ``scale``: (d,) gain over the root mean square (or standard deviation); ``centred``: the mean is taken
    off.
    """

    scale: np.ndarray
    centred: bool

    def through(self, vectors: np.ndarray) -> np.ndarray:
        """(n, d) vectors → (n, d)."""
        if self.centred:
            vectors = vectors - vectors.mean(axis=-1, keepdims=True)
        return vectors * self.scale


def frozen_norm(model: Any, residual: np.ndarray, normed: np.ndarray) -> FrozenNorm | None:
    """The final norm as it acted on one vector ``residual`` (d,), whose true output was ``normed`` (d,).

    ``None`` when none of the known forms gives that output.
    """
    centred = model.shape.norm != "rms"
    x = residual.astype(np.float64)
    if centred:
        x = x - x.mean()
    unit = 1 / np.sqrt(np.mean(x * x) + model.shape.norm_eps)
    try:
        stored = model.final_norm_gain().astype(np.float64)
    except AttributeError:  # a norm without weights (OLMo)
        stored = np.ones_like(x)
    if centred:
        return FrozenNorm((unit * stored).astype(np.float32), True)
    room = 1e-3 * float(np.abs(normed).max())
    for gain in (stored, 1 + stored):  # Gemma stores its gain less one
        if np.abs(x * unit * gain - normed).max() <= room:
            return FrozenNorm((unit * gain).astype(np.float32), False)
    return None


@dataclass(frozen=True)
class _Place:
    token_ids: tuple[int, ...]
    probabilities: np.ndarray
    norm: FrozenNorm | None


def _place(model: Any, trace: Any, position: int) -> _Place:
    """What belongs to a position and not to a layer, kept with the run's last pass."""
    known = _PLACES.setdefault(trace.tip, {})
    if position not in known:
        last = position == trace.n_positions - 1
        logits = trace.tip.logits if last else trace.lens(model.shape.n_layers, [position])[0]
        ids = tuple(int(token) for token in top_ids(logits, min(TOKENS_ASKED, logits.size)))
        residual = trace.residual(model.shape.n_layers)[position]
        norm = frozen_norm(model, residual, trace.final_norm()[position])
        known[position] = _Place(ids, softmax(logits)[list(ids)].astype(np.float32), norm)
    return known[position]


_PLACES: WeakKeyDictionary[Any, dict[int, _Place]] = WeakKeyDictionary()


def softmax(logits: np.ndarray) -> np.ndarray:
    """(V,) probabilities over the whole vocabulary, in double precision."""
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum()


# -- check lines ---------------------------------------------------------------------------------------


def weighted_sum_error(trace: Any, view: LayerView, head: int) -> float:
    """Largest difference between softmax(QKᵀ·scale + mask)·V and what the attention module itself gave."""

    def compute() -> float:
        ours = view.weights(head) @ view.v[view.kv_head(head)]  # (T, T) @ (T, hd)
        return float(np.abs(ours - view.head_out(head)).max())

    return _checked(trace, ("sum", view.layer, head), compute)


def heads_sum_error(trace: Any, view: LayerView) -> float:
    """Largest difference between all heads through W_O plus its bias and attention's own output."""

    def compute() -> float:
        total = sum(view.head_contribution(head) for head in range(view.q.shape[0]))
        if view.out_bias is not None:
            total = total + view.out_bias
        return float(np.abs(total - view.attn_out).max())

    return _checked(trace, ("heads", view.layer), compute)


def _checked(trace: Any, key: tuple[Any, ...], compute: Any) -> float:
    known = _CHECKS.setdefault(trace.tip, {})
    if key not in known:
        known[key] = compute()
    return known[key]


_CHECKS: WeakKeyDictionary[Any, dict[tuple[Any, ...], float]] = WeakKeyDictionary()
