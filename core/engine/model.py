"""A loaded model: prefill, step, look inside. The only object that pages and lessons need of the engine."""

from __future__ import annotations

import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from core.engine.experiment import Experiment
from core.engine.head import Head
from core.engine.parameters import ParameterRow, parameter_rows
from core.engine.passes import Pass, run_pass
from core.engine.replay import BlockRecord
from core.engine.roles import ModelRoles, find_roles
from core.engine.rope import RopeTable, rope_table
from core.engine.scheduler import INTERACTIVE, SHARED, SerialScheduler
from core.engine.shape import ModelShape, read_shape
from core.engine.trace import Trace
from core.errors import UserError

if TYPE_CHECKING:
    from core.engine.catalogue import ModelSpec
    from core.engine.text import TextCodec

_REPLAY_BYTES = 256 * 1024 * 1024


class ReplayStore:
    """The last replays, up to a number of bytes; one forgotten is simply replayed again."""

    def __init__(self, scheduler: SerialScheduler, max_bytes: int = _REPLAY_BYTES) -> None:
        self._scheduler = scheduler
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[tuple[int, int], tuple[weakref.ref[Pass], BlockRecord]] = OrderedDict()

    def get(self, key: tuple[Pass, int], make: Callable[[], BlockRecord]) -> BlockRecord:
        """The replay of (pass, layer), made now when it is not at hand."""
        of, layer = key
        with self._scheduler.turn():
            found = self._kept.get((id(of), layer))
            if found is not None and found[0]() is of:
                self._kept.move_to_end((id(of), layer))
                return found[1]
            record = make()
            self._put((id(of), layer), weakref.ref(of), record)
            return record

    def _put(self, key: tuple[int, int], of: weakref.ref[Pass], record: BlockRecord) -> None:
        before = self._kept.pop(key, None)
        if before is not None:  # another pass had this id once
            self._bytes -= before[1].n_bytes
        self._kept[key] = (of, record)
        self._bytes += record.n_bytes
        while self._bytes > self._max_bytes and len(self._kept) > 1:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= oldest.n_bytes


class LoadedModel:
    """A model in memory, shared by all learners; every method is safe to call from several threads.

    Args:
        name: the name under which it was asked for.
        spec: its catalogue entry (``None`` in tests).
        hf_model: a ``transformers`` causal language model; put into evaluation mode here.
        codec: its tokenizer (``None`` in tests that use ids only).
        scheduler: who decides whose turn it is.

    Example::

        model = load_model("smollm2-135m")
        tip = model.prefill(model.codec.encode("The capital of France is"))
        tip.logits.argmax()            # the id of " Paris"
        tip = model.step(tip, 7042)
    """

    def __init__(
        self,
        name: str,
        spec: ModelSpec | None,
        hf_model: Any,
        codec: TextCodec | None,
        scheduler: SerialScheduler = SHARED,
    ) -> None:
        self.name = name
        self.spec = spec
        self.hf_model = hf_model.eval()  # a model built from a config starts in training mode
        self._codec = codec
        self.scheduler = scheduler
        self.roles: ModelRoles = find_roles(hf_model)
        self.shape: ModelShape = read_shape(hf_model, self.roles)
        self.head = Head(hf_model, self.roles, scheduler)
        self.replays = ReplayStore(scheduler)

    @property
    def codec(self) -> TextCodec:
        """The tokenizer."""
        assert self._codec is not None, "this model was made without a tokenizer"
        return self._codec

    # -- passes --------------------------------------------------------------------------------------

    def prefill(
        self, token_ids: Sequence[int], experiment: Experiment | None = None, priority: int = INTERACTIVE
    ) -> Pass:
        """Process a whole prompt in one pass.

        Raises:
            UserError: no tokens, more than the model's context, or an id outside the vocabulary.
        """
        if not token_ids:
            raise UserError("There is nothing to read yet.", "Type a prompt of at least one token.")
        self._check(token_ids, 0)
        return self._run(token_ids, None, experiment, priority)

    def step(self, parent: Pass, token_id: int, priority: int = INTERACTIVE) -> Pass:
        """Process one more token after ``parent`` (a decode step), under the parent's experiment."""
        self._check([token_id], parent.end)
        return self._run([token_id], parent, parent.experiment, priority)

    def extend(self, parent: Pass, token_ids: Sequence[int], priority: int = INTERACTIVE) -> Pass:
        """Process several more tokens after ``parent`` in one pass."""
        self._check(token_ids, parent.end)
        return self._run(token_ids, parent, parent.experiment, priority)

    def _run(
        self, token_ids: Sequence[int], parent: Pass | None, experiment: Experiment | None, priority: int
    ) -> Pass:
        with self.scheduler.turn(priority):
            return run_pass(
                self.hf_model, self.roles, self.head, self.shape.n_heads, token_ids, parent, experiment
            )

    def _check(self, token_ids: Sequence[int], start: int) -> None:
        if start + len(token_ids) > self.shape.max_positions:
            raise UserError(
                f"The text has {start + len(token_ids)} tokens; the model reads {self.shape.max_positions}.",
                "Shorten the prompt.",
            )
        if any(not 0 <= t < self.shape.vocab_size for t in token_ids):
            raise UserError("A token id lies outside this model's vocabulary.", "Tokenise the text again.")

    def experiment_logits(self, token_ids: Sequence[int], experiment: Experiment) -> np.ndarray:
        """(T, V) logits of every position under an experiment."""
        made = self.prefill(token_ids, experiment)
        return self.head.logits(made.residuals[-1]).float().numpy()

    # -- looking inside --------------------------------------------------------------------------------

    def trace(self, tip: Pass) -> Trace:
        """The run that ends in ``tip``, seen as one sequence."""
        return Trace(self, tip)

    def run_experts(
        self, layer: int, rows: torch.Tensor, indices: torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """The routed experts of ``layer`` on given rows (n, d) with given choices (n, k)."""
        experts: Any = self.roles.blocks[layer].experts
        with self.scheduler.turn(), torch.inference_mode():
            out: torch.Tensor = experts(rows.contiguous(), indices.contiguous(), weights.contiguous())
            return out

    @cached_property
    def _embedding(self) -> np.ndarray:
        return self.roles.embedding.weight.detach().float().numpy()

    def embedding_matrix(self) -> np.ndarray:
        """E, (V, d): a view of the model's own weights where they are float32. Do not write to it."""
        return self._embedding

    def embedding_rows(self, token_ids: Sequence[int]) -> np.ndarray:
        """(n, d) rows of E."""
        return self._embedding[list(token_ids)]

    def position_rows(self, positions: Sequence[int]) -> np.ndarray | None:
        """(n, d) learned position vectors, or ``None`` for models that rotate instead."""
        table = self.roles.position_embedding
        if table is None:
            return None
        return table.weight.detach()[list(positions)].float().numpy()

    @cached_property
    def _lm_head(self) -> np.ndarray:
        weight: Any = self.roles.lm_head.weight
        return weight.detach().float().numpy()

    def lm_head_rows(self, token_ids: Sequence[int]) -> np.ndarray:
        """(n, d) rows of the LM head: the logit of a token is its row · the final normed vector."""
        return self._lm_head[list(token_ids)]

    def weight(self, layer: int, part: str) -> np.ndarray:
        """A weight of one block by its name there, such as ``"mlp.down_proj.weight"``, as stored.

        Raises:
            KeyError: the block has no such parameter.
        """
        parameters = dict(self.roles.blocks[layer].block.named_parameters())
        return parameters[part].detach().float().numpy()

    def down_weight(self, layer: int) -> np.ndarray | None:
        """(d, F) the last matrix of a dense feed-forward part: column n is what neuron n adds per unit.

        ``None`` where the layer is a Mixture of Experts.
        """
        down: Any = self.roles.blocks[layer].down_proj
        if down is None:
            return None
        matrix = down.weight.detach().float().numpy()
        return matrix if isinstance(down, torch.nn.Linear) else matrix.T

    def block_structure(self, layer: int) -> list[tuple[str, str]]:
        """(name, class name) of every submodule of a block, in the order of registration."""
        modules = self.roles.blocks[layer].block.named_modules()
        return [(name, type(module).__name__) for name, module in modules if name]

    def final_norm_gain(self) -> np.ndarray:
        """(d,) gain of the final norm, as stored."""
        weight: Any = self.roles.final_norm.weight
        return weight.detach().float().numpy()

    def rope(self, layer: int, positions: Sequence[int]) -> RopeTable | None:
        """Rotation angles of ``layer`` at ``positions``; ``None`` for models without RoPE."""
        return rope_table(self.hf_model, self.roles, layer, positions)

    def parameters(self) -> list[ParameterRow]:
        """Every weight tensor once, with its part, layer, shape and bytes."""
        return parameter_rows(self.hf_model, self.roles)

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits over the sizes and a sample of every weight: tells models apart in saved runs."""
        digest = hashlib.sha256(repr(self.shape).encode())
        for name, parameter in self.hf_model.named_parameters():
            flat = parameter.detach().reshape(-1)
            sample = flat[:: max(1, flat.numel() // 64)].float().numpy()
            digest.update(name.encode() + sample.tobytes())
        return digest.hexdigest()[:16]
