"""One forward pass, kept small: the residual stream, the new K/V columns, and the time each part took.

A pass runs the model's own forward method. Hooks read each block's input on the way; nothing else is
kept, so a traced pass costs what the bare one costs, and everything inside a block can be recomputed
to the last bit from what is kept (:mod:`core.engine.replay`).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import Cache

from core.engine import kv
from core.engine.experiment import Experiment, applied
from core.engine.head import Head
from core.engine.roles import ModelRoles, out_features
from core.engine.routing import Routing, RoutingWatch

# Above this many logits (rows times vocabulary) a prefill keeps the last row only: 64M float32 are 256 MB.
MAX_PREFILL_LOGITS = 64_000_000


@dataclass(frozen=True)
class PassTiming:
    """Seconds on the monotonic clock, measured around the engine alone (waiting for a turn not counted).

    ``layer_s`` holds one entry per block; ``head_s`` is the final norm and the LM head.
    """

    embed_s: float
    layer_s: tuple[float, ...]
    head_s: float
    total_s: float


@dataclass(frozen=True)
class BlockCall:
    """How one block was called, without its hidden states and cache: enough to call it again.

    ``args`` follow the hidden states; most families pass the cache by name, GPT-2 by place.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def with_cache(self, cache: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with ``cache`` where the original call had the model's own."""
        args = tuple(cache if a is _CACHE else a for a in self.args)
        return args, {key: cache if value is _CACHE else value for key, value in self.kwargs.items()}


_CACHE = object()  # stands where a call had its cache: keeping that would keep every later column alive


def _without_cache(value: Any) -> Any:
    return _CACHE if isinstance(value, Cache) else value


class Pass:
    """What one forward pass over ``token_ids`` left behind. Append-only: nothing here ever changes.

    Attributes:
        parent: the pass before this one, or ``None`` for a prefill.
        token_ids: the tokens that this pass processed, n of them.
        start, end: their positions are ``[start, end)``.
        timing: where the time went.
        experiment: what was switched off or forced, or ``None``.
        residuals: n_layers + 1 tensors (n, d_model): each block's input, then the last block's output.
        calls: how each block was called.
        kv: per layer the K and V columns that this pass added, (1, kv_heads, n, head_dim) each.
        routing: what every router said and chose, ``None`` for a dense model.
    """

    def __init__(
        self,
        parent: Pass | None,
        token_ids: tuple[int, ...],
        residuals: tuple[torch.Tensor, ...],
        calls: tuple[BlockCall, ...],
        columns: tuple[kv.Column, ...],
        timing: PassTiming,
        experiment: Experiment | None,
        head: Head,
        logit_rows: int,
    ) -> None:
        self.parent = parent
        self.token_ids = token_ids
        self.start: int = parent.end if parent else 0
        self.end: int = self.start + len(token_ids)
        self.residuals = residuals
        self.calls = calls
        self.kv = columns
        self.timing = timing
        self.experiment = experiment
        self._head = head
        self.logit_rows = logit_rows  # how many rows went through the LM head in this pass
        self.kept_logits: np.ndarray | None = None  # see Head.remember
        self._norms: np.ndarray | None = None
        self.lens: dict[int, LensTop] = {}  # what each layer would predict, filled by Trace.lens_top
        self.routing: Routing | None = None
        self.live_cache: Any = None  # the cache that the model left; moves on to the first child

    @property
    def logits(self) -> np.ndarray:
        """Logits of the last position, (V,) float32, the model's own numbers to the last bit.

        Recomputed from the final hidden state when they are no longer at hand: they weigh 4 · V bytes,
        more than everything else that a decode step keeps.
        """
        return self._head.last_logits(self)

    @property
    def kv_bytes(self) -> int:
        """Bytes of the K and V columns that this pass added."""
        return sum(column.n_bytes for column in self.kv)

    @property
    def kept_bytes(self) -> int:
        """Bytes that this pass keeps besides its K/V columns: the residual stream."""
        return sum(r.numel() * r.element_size() for r in self.residuals)

    def residual_norms(self) -> np.ndarray:
        """Euclidean length of the residual stream, (n_layers + 1, n) float32."""
        if self._norms is None:
            self._norms = torch.stack([r.float().norm(dim=-1) for r in self.residuals]).numpy()
        return self._norms

    def path(self) -> list[Pass]:
        """This pass and those before it, the prefill first."""
        chain: list[Pass] = []
        at: Pass | None = self
        while at is not None:
            chain.append(at)
            at = at.parent
        return chain[::-1]


@dataclass(frozen=True)
class LensTop:
    """Likeliest tokens per position: ``ids`` and ``probabilities`` (n, k), over the whole vocabulary."""

    ids: np.ndarray
    probabilities: np.ndarray


class _Recorder:
    """Hooks that note each block's input and the moment it began."""

    def __init__(self, roles: ModelRoles) -> None:
        self._roles = roles
        self.inputs: list[torch.Tensor] = []
        self.calls: list[BlockCall] = []
        self.marks: list[float] = []
        self._handles: list[Any] = []

    def __enter__(self) -> _Recorder:
        for block in self._roles.blocks:
            self._handles.append(block.block.register_forward_pre_hook(self._on_block, with_kwargs=True))
        self._handles.append(self._roles.final_norm.register_forward_pre_hook(self._on_final_norm))
        return self

    def __exit__(self, *_exc: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _on_block(self, _module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.marks.append(time.perf_counter())
        rest = dict(kwargs)
        hidden = args[0] if args else rest.pop("hidden_states")
        self.inputs.append(hidden)
        rest = {key: _without_cache(value) for key, value in rest.items()}
        self.calls.append(BlockCall(tuple(_without_cache(a) for a in args[1:]), rest))

    def _on_final_norm(self, _module: Any, args: tuple[Any, ...]) -> None:
        self.marks.append(time.perf_counter())
        self.inputs.append(args[0])


def run_pass(
    hf_model: Any,
    roles: ModelRoles,
    head: Head,
    n_heads: int,
    token_ids: Sequence[int],
    parent: Pass | None,
    experiment: Experiment | None,
) -> Pass:
    """Run the model on ``token_ids`` after ``parent`` and return what it left behind."""
    ids = torch.tensor([list(token_ids)])
    cache = kv.take_cache(parent, hf_model.config)
    start = parent.end if parent else 0
    rows = len(token_ids)
    keep = 0 if rows * out_features(roles.lm_head) <= MAX_PREFILL_LOGITS else 1
    with (
        torch.inference_mode(),
        applied(experiment, roles, n_heads, start),
        _Recorder(roles) as seen,
        RoutingWatch(roles) as routers,  # after the experiment's own hooks: it sees what the experts got
    ):
        began = time.perf_counter()
        output = hf_model(input_ids=ids, cache=cache, use_cache=True, logits_to_keep=keep)
        ended = time.perf_counter()
        columns = kv.new_columns(cache, rows)
    marks = seen.marks
    timing = PassTiming(
        embed_s=marks[0] - began,
        layer_s=tuple(after - before for before, after in itertools.pairwise(marks)),
        head_s=ended - marks[-1],
        total_s=ended - began,
    )
    residuals = tuple(hidden[0] for hidden in seen.inputs)
    made = Pass(
        parent,
        tuple(token_ids),
        residuals,
        tuple(seen.calls),
        columns,
        timing,
        experiment,
        head,
        logit_rows=keep or rows,
    )
    made.routing = routers.seen()
    made.live_cache = cache
    head.remember(made, output.logits[0, -1].numpy())
    return made
