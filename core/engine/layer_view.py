"""One block, seen as numbers: every tensor of the block for all positions of a run.

A run is a prefill and decode steps; each was its own pass. A :class:`LayerView` joins the replays of
those passes along the positions. Symbols: T positions, H query heads, G key/value heads, hd head size,
d model width, F feed-forward width, E experts, k experts per token. All arrays are float32 numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from core.engine.block_parts import (
    allowed_keys,
    before_rope,
    flat_rows,
    new_columns,
    norm_after,
    norm_before,
    resid_mid,
)
from core.engine.replay import BlockRecord, dense_parts
from core.engine.roles import BlockRoles


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().float().numpy()


@dataclass(frozen=True)
class DenseView:
    """A dense feed-forward part. ``gate`` is ``None`` when it has none.

    Attributes:
        gate: (T, F) before the activation function.
        up: (T, F); for a plain MLP, before the activation function.
        act: (T, F) what enters the down projection: act_fn(gate) · up, or act_fn(up).
        out: (T, d) what leaves the down projection.
    """

    gate: np.ndarray | None
    up: np.ndarray
    act: np.ndarray
    out: np.ndarray


@dataclass(frozen=True)
class RouterView:
    """A Mixture-of-Experts layer, as the model used it.

    Attributes:
        logits: (T, E) router logits.
        probabilities: (T, E) softmax of the logits, or sigmoid where the family scores so (see ``scoring``).
        scoring: "softmax" or "sigmoid".
        indices: (T, k) chosen experts, int64. weights: (T, k) their weights as used; they need not sum to 1.
        shared: the always-on expert, or ``None``. shared_gate: (T,) its gate after the sigmoid, or ``None``.
    """

    logits: np.ndarray
    probabilities: np.ndarray
    scoring: str
    indices: np.ndarray
    weights: np.ndarray
    shared: DenseView | None
    shared_gate: np.ndarray | None


class LayerView:
    """All tensors of one block for positions 0…T-1. See the module's docstring for the symbols.

    Attributes that do not exist in an architecture are ``None`` (``resid_mid`` in parallel blocks,
    ``attn_norm`` where the block normalises after the sub-layer only, and so on).
    """

    def __init__(
        self,
        layer: int,
        records: Sequence[BlockRecord],
        run_experts: Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor],
    ) -> None:
        self.layer = layer
        self._records = list(records)
        self._run_experts = run_experts
        self._roles: BlockRoles = records[0].block
        self._parts: dict[str, Any] = {}

    # -- joining -----------------------------------------------------------------------------------

    def _join(self, pick: Callable[[BlockRecord], torch.Tensor | None], axis: int = 0) -> np.ndarray | None:
        parts = [pick(record) for record in self._records]
        if any(part is None for part in parts):
            return None
        return np.concatenate([_numpy(p) for p in parts if p is not None], axis=axis)

    def _must(self, pick: Callable[[BlockRecord], torch.Tensor | None], axis: int = 0) -> np.ndarray:
        joined = self._join(pick, axis)
        assert joined is not None
        return joined

    @cached_property
    def n_positions(self) -> int:
        """T."""
        return sum(record.resid_in.shape[1] for record in self._records)

    # -- residual stream and norms -------------------------------------------------------------------

    @cached_property
    def resid_in(self) -> np.ndarray:
        """(T, d) what enters the block."""
        return self._must(lambda r: r.resid_in[0])

    @cached_property
    def resid_out(self) -> np.ndarray:
        """(T, d) what leaves the block."""
        return self._must(lambda r: r.resid_out[0])

    @cached_property
    def attn_norm(self) -> np.ndarray | None:
        """(T, d) the norm's output that enters attention."""
        return self._join(lambda r: flat_rows(norm_before(r, r.block.attention)))

    @cached_property
    def mlp_norm(self) -> np.ndarray | None:
        """(T, d) the norm's output that enters the feed-forward part."""
        return self._join(lambda r: flat_rows(norm_before(r, r.block.mlp)))

    @cached_property
    def attn_post_norm(self) -> np.ndarray | None:
        """(T, d) attention's output after a norm of its own, in families that have one (Gemma 3, OLMo 2)."""
        return self._join(lambda r: flat_rows(norm_after(r, r.block.attention)))

    @cached_property
    def mlp_post_norm(self) -> np.ndarray | None:
        """(T, d) the feed-forward output after a norm of its own, in families that have one."""
        return self._join(lambda r: flat_rows(norm_after(r, r.block.mlp)))

    @cached_property
    def resid_mid(self) -> np.ndarray | None:
        """(T, d) the residual stream after attention was added; ``None`` in parallel blocks."""
        return self._join(lambda r: flat_rows(resid_mid(r)))

    @cached_property
    def attn_added(self) -> np.ndarray:
        """(T, d) what attention added to the residual stream: after any norm and multiplier of its own."""
        added = self.attn_post_norm if self.attn_post_norm is not None else self.attn_out
        return added * self._residual_multiplier

    @cached_property
    def mlp_added(self) -> np.ndarray:
        """(T, d) what the feed-forward part added to the residual stream."""
        added = self.mlp_post_norm if self.mlp_post_norm is not None else self.mlp_out
        return added * self._residual_multiplier

    @property
    def _residual_multiplier(self) -> np.float32:
        return np.float32(getattr(self._roles.block, "residual_multiplier", 1.0))

    # -- attention ---------------------------------------------------------------------------------

    @cached_property
    def q(self) -> np.ndarray:
        """(H, T, hd) queries as attention used them: after RoPE where the layer has it."""
        return self._must(lambda r: r.attention.q[0], axis=1)

    @cached_property
    def k(self) -> np.ndarray:
        """(G, T, hd) keys as they stand in the cache: after RoPE."""
        return self._must(lambda r: r.attention.k[0][:, -r.resid_in.shape[1] :], axis=1)

    @cached_property
    def v(self) -> np.ndarray:
        """(G, T, hd) values."""
        return self._must(lambda r: r.attention.v[0][:, -r.resid_in.shape[1] :], axis=1)

    @cached_property
    def has_rope(self) -> bool:
        """False for layers without rotary position embedding."""
        return bool(self._records[0].rotated)

    @cached_property
    def q_pre_rope(self) -> np.ndarray:
        """(H, T, hd) queries before RoPE (after any q-norm); equals ``q`` without RoPE."""
        return self._must(lambda r: before_rope(r, r.attention.q[0]), axis=1)

    @cached_property
    def k_pre_rope(self) -> np.ndarray:
        """(G, T, hd) keys before RoPE."""
        return self._must(lambda r: before_rope(r, new_columns(r.attention.k[0], r)), axis=1)

    @property
    def scale(self) -> float:
        """The factor on q·k before the softmax, 1/√hd in most models."""
        return self._records[0].attention.scale

    @property
    def softcap(self) -> float | None:
        """Scores s become softcap · tanh(s / softcap) where a family does so."""
        return self._records[0].attention.softcap

    @cached_property
    def sinks(self) -> np.ndarray | None:
        """(H,) one extra score per head that takes probability and gives nothing (gpt-oss), or ``None``."""
        sinks = self._records[0].attention.sinks
        return None if sinks is None else _numpy(sinks).reshape(-1)

    @cached_property
    def mask(self) -> np.ndarray:
        """(T, T) bool: True where the query (row) may look at the key (column)."""
        total = self.n_positions
        allowed = np.zeros((total, total), dtype=bool)
        row = 0
        for record in self._records:
            rows = record.resid_in.shape[1]
            seen = allowed_keys(record)  # (rows, t): the last t positions up to this pass's end
            end = row + rows
            allowed[row:end, end - seen.shape[1] : end] = seen
            row = end
        return allowed

    def kv_head(self, head: int) -> int:
        """The key/value head that query head ``head`` reads (grouped-query attention)."""
        return head // (self.q.shape[0] // self.k.shape[0])

    def scores(self, head: int, scaled: bool = True) -> np.ndarray:
        """(T, T) q·k for one head before masking; with ``scaled`` after the scale and any soft-cap."""
        raw = self.q[head] @ self.k[self.kv_head(head)].T  # (T, T)
        if not scaled:
            return raw
        scores = raw * np.float32(self.scale)
        if self.softcap is not None:
            scores = np.tanh(scores / self.softcap) * self.softcap
        return scores

    def weights(self, head: int) -> np.ndarray:
        """(T, T) attention weights of one head: row = query, column = key, zero where masked.

        Rows sum to 1, or to less where a head has a sink.
        """
        scores = np.where(self.mask, self.scores(head), -np.inf)
        top = scores.max(axis=-1, keepdims=True)
        if self.sinks is not None:
            top = np.maximum(top, self.sinks[head])
        powers = np.exp(scores - top)
        total = powers.sum(axis=-1, keepdims=True)
        if self.sinks is not None:
            total = total + np.exp(self.sinks[head] - top)
        return powers / total

    @cached_property
    def all_head_out(self) -> np.ndarray:
        """(H, T, hd) what each head read: its weights times V, from the attention function itself."""
        return self._must(lambda r: r.attention.out[0].transpose(0, 1), axis=1)

    def head_out(self, head: int) -> np.ndarray:
        """(T, hd) output of one head before W_O."""
        return self.all_head_out[head]

    @cached_property
    def out_weight(self) -> np.ndarray:
        """(d, H·hd) W_O, as x @ W_O.T."""
        weight: Any = self._roles.out_proj.weight
        matrix = _numpy(weight)
        return matrix if isinstance(self._roles.out_proj, torch.nn.Linear) else matrix.T

    def head_contribution(self, head: int) -> np.ndarray:
        """(T, d) what one head adds through W_O (its share of ``attn_out``; a bias belongs to no head)."""
        size = self.all_head_out.shape[-1]
        return self.head_out(head) @ self.out_weight[:, head * size : (head + 1) * size].T

    @cached_property
    def attn_out(self) -> np.ndarray:
        """(T, d) attention's output after W_O (and its bias), before any norm of its own."""
        return self._must(lambda r: flat_rows(r.outputs[r.block.attention]))

    @cached_property
    def out_bias(self) -> np.ndarray | None:
        """(d,) the bias of W_O, or ``None``."""
        bias: Any = getattr(self._roles.out_proj, "bias", None)
        return None if bias is None else _numpy(bias)

    # -- feed-forward --------------------------------------------------------------------------------

    @cached_property
    def dense(self) -> DenseView | None:
        """The dense feed-forward part, ``None`` for a Mixture of Experts."""
        return None if self._roles.router is not None else self._dense_view(self._roles.mlp)

    @property
    def gate(self) -> np.ndarray | None:
        """(T, F), see :class:`DenseView`."""
        return self.dense.gate if self.dense else None

    @property
    def up(self) -> np.ndarray | None:
        """(T, F), see :class:`DenseView`."""
        return self.dense.up if self.dense else None

    @property
    def act(self) -> np.ndarray | None:
        """(T, F), see :class:`DenseView`."""
        return self.dense.act if self.dense else None

    @cached_property
    def mlp_out(self) -> np.ndarray:
        """(T, d) output of the feed-forward part or of all experts together, before any norm of its own."""
        return self._must(lambda r: flat_rows(r.outputs[r.block.mlp]))

    def _dense_view(self, mlp: Any) -> DenseView:
        parts = [dense_parts(record, mlp) for record in self._records]
        gates = [flat_rows(gate) for gate, _, _ in parts if gate is not None]
        return DenseView(
            gate=np.concatenate([_numpy(g) for g in gates]) if gates else None,
            up=np.concatenate([_numpy(flat_rows(up)) for _, up, _ in parts]),
            act=np.concatenate([_numpy(flat_rows(act)) for _, _, act in parts]),
            out=self._must(lambda r: flat_rows(r.outputs[mlp])),
        )

    # -- experts -------------------------------------------------------------------------------------

    @cached_property
    def router(self) -> RouterView | None:
        """The router and its choices, ``None`` for a dense layer."""
        module: Any = self._roles.router
        if module is None:
            return None
        outputs = [record.router_output for record in self._records]
        logits, weights, indices = (
            torch.cat([out[i].reshape(-1, out[i].shape[-1]) for out in outputs if out is not None])
            for i in range(3)
        )
        sigmoid = hasattr(module, "e_score_correction_bias")
        scores = torch.sigmoid(logits.float()) if sigmoid else torch.softmax(logits.float(), dim=-1)
        return RouterView(
            logits=_numpy(logits),
            probabilities=_numpy(scores),
            scoring="sigmoid" if sigmoid else "softmax",
            indices=indices.numpy(),
            weights=_numpy(weights),
            shared=self._dense_view(self._roles.shared_expert)
            if self._roles.shared_expert is not None
            else None,
            shared_gate=self._shared_gate(),
        )

    def _shared_gate(self) -> np.ndarray | None:
        gate = self._roles.shared_gate
        if gate is None:
            return None
        return self._must(lambda r: torch.sigmoid(flat_rows(r.outputs[gate])[:, 0]))

    def expert_out(self, position: int) -> np.ndarray:
        """(k, d) what each chosen expert added at ``position``, weights included."""
        return self._chosen_experts(position, weighted=True)

    def _chosen_experts(self, position: int, weighted: bool) -> np.ndarray:
        router = self.router
        assert router is not None and self.mlp_norm is not None
        indices = torch.from_numpy(router.indices[position])[:, None]  # (k, 1): one row per chosen expert
        weights = torch.from_numpy(router.weights[position])[:, None]
        rows = torch.from_numpy(self.mlp_norm[position])[None].expand(len(indices), -1)
        out = self._run_experts(self.layer, rows, indices, weights if weighted else torch.ones_like(weights))
        return _numpy(out)
