"""One block run again from its stored input, with every tensor on the way written down.

The block's own modules are called with the arguments of the original pass and with the keys and values
that were cached then, so what is seen is what was computed, to the last bit.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from transformers import AttentionInterface

from core.engine import kv
from core.engine.experiment import applied
from core.engine.passes import Pass
from core.engine.roles import BlockRoles, ModelRoles, is_linear

_OBSERVED = "next_token_observed"


@dataclass
class AttentionRecord:
    """What the attention function received and returned (batch of one).

    ``q`` (1, H, n, hd) and ``k``, ``v`` (1, G, t, hd) are after RoPE; ``out`` is (1, n, H, hd).
    """

    q: torch.Tensor
    k: torch.Tensor
    v: torch.Tensor
    mask: torch.Tensor | None
    scale: float
    softcap: float | None
    sinks: torch.Tensor | None
    out: torch.Tensor


@dataclass
class BlockRecord:
    """Everything that happened inside one block during one pass.

    ``inputs`` and ``outputs`` hold, per submodule, its first tensor argument and its first result.
    ``rotated`` holds (before, after) pairs of the rotary embedding, in the order of the calls.
    """

    block: BlockRoles
    resid_in: torch.Tensor
    resid_out: torch.Tensor
    attention: AttentionRecord
    rotated: list[tuple[torch.Tensor, torch.Tensor]]
    inputs: dict[nn.Module, torch.Tensor] = field(default_factory=dict)
    outputs: dict[nn.Module, torch.Tensor] = field(default_factory=dict)
    router_output: tuple[torch.Tensor, ...] | None = None

    @property
    def n_bytes(self) -> int:
        """Bytes held, counting shared storage more than once: an upper bound for the replay store."""
        tensors = [*self.inputs.values(), *self.outputs.values(), self.attention.k, self.attention.v]
        return sum(t.numel() * t.element_size() for t in tensors)


class _Watch:
    """Collects what hooks and wrapped functions see while one block runs."""

    def __init__(self, stock: Callable[..., Any]) -> None:
        self.stock = stock
        self.attention: AttentionRecord | None = None
        self.rotated: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.inputs: dict[nn.Module, torch.Tensor] = {}
        self.outputs: dict[nn.Module, torch.Tensor] = {}
        self.router_output: tuple[torch.Tensor, ...] | None = None

    def on_module(self, module: nn.Module, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        first_in = next((a for a in (*args, *kwargs.values()) if torch.is_tensor(a)), None)
        first_out = output[0] if isinstance(output, tuple) else output
        if first_in is not None:
            self.inputs[module] = first_in
        if torch.is_tensor(first_out):
            self.outputs[module] = first_out

    def on_router(self, _module: nn.Module, _args: Any, output: Any) -> None:
        self.router_output = tuple(output)


_replaying = threading.local()  # .watch: what the replay running in this thread writes to


def _observed_attention(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **kwargs: Any,
) -> Any:
    """Calls the stock attention function and writes down what it got and gave."""
    watch: _Watch = _replaying.watch
    result = watch.stock(module, query, key, value, attention_mask, **kwargs)
    scale = kwargs.get("scaling")
    watch.attention = AttentionRecord(
        q=query,
        k=key,
        v=value,
        mask=attention_mask,
        scale=float(scale) if scale is not None else float(query.shape[-1]) ** -0.5,
        softcap=kwargs.get("softcap"),
        sinks=kwargs.get("s_aux"),
        out=result[0],
    )
    return result


AttentionInterface.register(_OBSERVED, _observed_attention)


class _OneLayerCache:
    """Stands in for the model's cache while one block is replayed: the columns of then, plus the new ones."""

    def __init__(self, keys: torch.Tensor | None, values: torch.Tensor | None) -> None:
        self._keys, self._values = keys, values
        self.new: tuple[torch.Tensor, torch.Tensor] | None = None

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, *_args: Any, **_kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.new = (keys, values)
        # Joined even to nothing, as the model's own cache does: the memory layout decides which kernel runs.
        past_keys = keys.new_empty(0) if self._keys is None else self._keys
        past_values = values.new_empty(0) if self._values is None else self._values
        return torch.cat([past_keys, keys], dim=-2), torch.cat([past_values, values], dim=-2)


def replay_block(
    hf_model: Any, roles: ModelRoles, n_heads: int, of: Pass, layer: int, window: int | None
) -> BlockRecord:
    """Run block ``layer`` of pass ``of`` again and return what happened inside.

    The caller holds the model's turn. Torch's thread count must be that of the pass.
    """
    block = roles.blocks[layer]
    call = of.calls[layer]
    keys, values = kv.joined(of.parent, layer, window) if of.parent else (None, None)
    args, kwargs = call.with_cache(_OneLayerCache(keys, values))
    resid_in = of.residuals[layer][None]
    with torch.inference_mode(), applied(of.experiment, roles, n_heads, of.start), _observing(block) as seen:
        output = block.block(resid_in, *args, **kwargs)
    assert seen.attention is not None
    return BlockRecord(
        block=block,
        resid_in=resid_in,
        resid_out=output[0] if isinstance(output, tuple) else output,
        attention=seen.attention,
        rotated=seen.rotated,
        inputs=seen.inputs,
        outputs=seen.outputs,
        router_output=seen.router_output,
    )


@contextmanager
def _observing(block: BlockRoles) -> Iterator[_Watch]:
    """Hooks on every submodule, the observing attention function, and the rotary embedding wrapped."""
    config: Any = block.attention.config
    modeling = sys.modules[type(block.attention).__module__]
    watch = _Watch(_stock_attention(modeling, config._attn_implementation))
    with ExitStack() as stack:
        for module in block.block.modules():
            stack.callback(module.register_forward_hook(watch.on_module, with_kwargs=True).remove)
        if block.router is not None:
            stack.callback(block.router.register_forward_hook(watch.on_router).remove)
        stack.enter_context(_attention_replaced(config, watch))
        stack.enter_context(_rotary_wrapped(modeling, watch))
        yield watch


def _stock_attention(modeling: Any, implementation: str) -> Callable[..., Any]:
    """The attention function that the model itself uses."""
    if implementation == "eager":
        return modeling.eager_attention_forward
    return AttentionInterface()[implementation]


@contextmanager
def _attention_replaced(config: Any, watch: _Watch) -> Iterator[None]:
    before = config._attn_implementation
    config._attn_implementation = _OBSERVED
    _replaying.watch = watch
    try:
        yield
    finally:
        config._attn_implementation = before
        del _replaying.watch


@contextmanager
def _rotary_wrapped(modeling: Any, watch: _Watch) -> Iterator[None]:
    """Wrap the modeling file's ``apply_rotary_…`` functions so that q and k before RoPE are seen."""
    names = [name for name in vars(modeling) if name.startswith("apply_rotary")]
    stock = {name: getattr(modeling, name) for name in names}

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def rotary(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if getattr(_replaying, "watch", None) is not watch:
                return result  # another thread uses the same modeling file (a second model, a training copy)
            before = [a for a in args[:2] if torch.is_tensor(a)]
            after = list(result) if isinstance(result, tuple) else [result]
            watch.rotated.extend(zip(before, after, strict=False))
            return result

        return rotary

    for name, function in stock.items():
        setattr(modeling, name, wrap(function))
    try:
        yield
    finally:
        for name, function in stock.items():
            setattr(modeling, name, function)


def dense_parts(
    record: BlockRecord, mlp: nn.Module
) -> tuple[torch.Tensor | None, torch.Tensor, torch.Tensor]:
    """(gate, up, act) of a dense feed-forward part, each (…, n, F); gate is ``None`` for a plain MLP.

    ``act`` is what enters the down projection: act_fn(gate) · up, or act_fn(up).
    """
    linears = [m for m in mlp.modules() if is_linear(m) and m in record.outputs]
    down = next(m for m in linears if record.outputs[m].data_ptr() == _mlp_out_ptr(record, mlp, linears))
    act = record.inputs[down]
    ups = [m for m in linears if m is not down]
    if len(ups) == 1:
        hidden = record.outputs[ups[0]]
        if hidden.shape[-1] == 2 * act.shape[-1]:  # gate and up fused in one matrix, gate first
            gate, up = hidden.chunk(2, dim=-1)
            return gate, up, act
        return None, hidden, act
    gate_module = next((m for m in ups if _feeds_activation(record, mlp, m)), ups[0])
    up_module = next(m for m in ups if m is not gate_module)
    return record.outputs[gate_module], record.outputs[up_module], act


def _mlp_out_ptr(record: BlockRecord, mlp: nn.Module, linears: list[nn.Module]) -> int:
    out = record.outputs[mlp].data_ptr()
    if any(record.outputs[m].data_ptr() == out for m in linears):
        return out
    return record.outputs[linears[-1]].data_ptr()  # a dropout or a reshape stands behind the last linear map


def _feeds_activation(record: BlockRecord, mlp: nn.Module, module: nn.Module) -> bool:
    out = record.outputs[module].data_ptr()
    others = [m for m in mlp.modules() if m in record.inputs and m is not mlp and not is_linear(m)]
    return any(record.inputs[m].data_ptr() == out for m in others)
