"""Which recorded tensor is which: found by identity, because the same memory is the same number.

A norm whose output is what attention received is attention's norm, and so on. Nothing is looked up by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from core.engine.replay import BlockRecord


def flat_rows(tensor: torch.Tensor | None) -> Any:
    """(1, n, x) or (n, x) → (n, x)."""
    if tensor is None:
        return None
    return tensor.reshape(-1, tensor.shape[-1])


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """The same numbers in the same memory, whatever the shape."""
    return a.data_ptr() == b.data_ptr() and a.numel() == b.numel()


def _norms(record: BlockRecord) -> list[Any]:
    return [
        m for m in record.block.block.children() if "norm" in type(m).__name__.lower() and m in record.outputs
    ]


def norm_before(record: BlockRecord, part: Any) -> torch.Tensor | None:
    entering = record.inputs[part]
    return next((record.outputs[m] for m in _norms(record) if _same(record.outputs[m], entering)), None)


def norm_after(record: BlockRecord, part: Any) -> torch.Tensor | None:
    leaving = record.outputs[part]
    return next((record.outputs[m] for m in _norms(record) if _same(record.inputs[m], leaving)), None)


def resid_mid(record: BlockRecord) -> torch.Tensor | None:
    entering = record.inputs[record.block.mlp]
    norm = next((m for m in _norms(record) if _same(record.outputs[m], entering)), None)
    middle = record.inputs[norm] if norm is not None else entering
    # In a parallel block the feed-forward part reads the block's own input: there is no middle.
    return None if _same(middle, record.resid_in) else middle


def new_columns(tensor: torch.Tensor, record: BlockRecord) -> torch.Tensor:
    """The columns of this pass out of (G, t, hd)."""
    return tensor[:, -record.resid_in.shape[1] :]


def before_rope(record: BlockRecord, after: torch.Tensor) -> torch.Tensor:
    """Undo nothing: find the tensor that the rotary function received for ``after`` (heads, n, hd)."""
    for before, rotated in record.rotated:
        pre, post = _heads_first(before, after), _heads_first(rotated, after)
        if pre is None or post is None:
            continue
        width = post.shape[-1]
        if torch.equal(post, after[..., :width]):
            return torch.cat([pre, after[..., width:]], dim=-1)  # partial RoPE: the rest is not turned
        if torch.equal(post, after[..., -width:]):
            return torch.cat([after[..., :-width], pre], dim=-1)  # latent attention turns the last part
    return after


def _heads_first(tensor: torch.Tensor, like: torch.Tensor) -> torch.Tensor | None:
    """(1, heads, n, x) or (1, n, heads, x) → (heads, n, x), or ``None`` when it is neither."""
    if tensor.dim() != 4:
        return None
    heads, rows = like.shape[0], like.shape[1]
    if tuple(tensor.shape[1:3]) == (heads, rows):
        return tensor[0]
    if tuple(tensor.shape[1:3]) == (rows, heads):
        return tensor[0].transpose(0, 1)
    if tensor.shape[1] == 1 and tensor.shape[2] == rows:  # one shared rotary key for all heads
        return tensor[0].expand(heads, -1, -1)
    return None


def allowed_keys(record: BlockRecord) -> np.ndarray:
    """(n, t) bool: which of the t cached and new columns each of the n rows may look at."""
    mask = record.attention.mask
    rows, columns = record.resid_in.shape[1], record.attention.k.shape[-2]
    if mask is None:
        return np.tri(rows, columns, k=columns - rows, dtype=bool)
    mask = mask[0, 0, :, -columns:] if mask.shape[-1] >= columns else mask[0, 0]
    if mask.dtype == torch.bool:
        return mask.expand(rows, columns).numpy()
    return (mask > torch.finfo(mask.dtype).min / 2).expand(rows, columns).numpy()
