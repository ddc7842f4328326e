"""A learner's copy of a model: its losses, its gradients, its steps. The model in use is never written to.

What is not trained is shared. What comes before the trained weights is run once and kept: a step on the last
block starts from the stored residual stream, a step on an untied LM head from the normed vectors. All work
gives its turn away between blocks and between pieces of the LM head, forward and backward, so that another
learner's step waits for one such piece at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from core.engine.measure import Turn, never
from core.engine.model import LoadedModel
from core.engine.roles import find_roles
from core.engine.training import head_loss
from core.engine.training.optimiser import Kind, Optimiser, extra_tensors, row_pieces
from core.engine.training.weights import Scope, private_model, trained_names


@dataclass(frozen=True)
class Reading:
    """A text as this copy reads it: its ids, and what enters the first part that is trained.

    ``stored``: None (everything is trained, or something near the start), the normed vectors (n, d), or the
    last block's call (hidden states, further arguments, keyword arguments).
    """

    ids: tuple[int, ...]
    stored: Any


@dataclass(frozen=True)
class Gradient:
    """Mean loss in nats, and the squared length of the gradient of each tensor."""

    loss: float
    squared: dict[str, float]


def bytes_needed(model: LoadedModel, scope: Scope, kind: Kind, n_tokens: int) -> int:
    """What a copy takes at its largest: weights, gradients, the optimiser's moments, and a pass's tensors."""
    shape = model.shape
    parameters = dict(model.hf_model.named_parameters())
    trained = sum(parameters[name].numel() for name in trained_names(model, scope))
    largest = max(parameter.numel() for parameter in parameters.values())
    inside = 12 * shape.d_model + 4 * max(shape.d_ff, shape.d_expert * shape.experts_per_token)
    activations = n_tokens * (shape.n_layers * inside + 4 * shape.vocab_size)
    numbers = trained * (2 + extra_tensors(kind)) + largest + activations
    return numbers * shape.bytes_per_weight


class LearnerCopy:
    """Make it inside a slot (:mod:`core.engine.training.slots`) and close it, or use it as a ``with`` block.

    ``stop`` is asked whenever a turn is taken; True ends the work with ``Stopped``.
    """

    def __init__(self, model: LoadedModel, scope: Scope, stop: Any = never) -> None:
        self._turn = Turn(model.scheduler, stop)
        names = trained_names(model, scope)
        with self._held():
            self._hf = private_model(model, set(names))
        self._roles = find_roles(self._hf)
        self._roles.embedding.padding_idx = None  # torch would drop the gradient of the padding token's row
        self._parameters: dict[str, Any] = dict(self._hf.named_parameters())
        self._original = {name: p for name, p in model.hf_model.named_parameters() if name in set(names)}
        self.weights: dict[str, torch.Tensor] = {name: self._parameters[name].detach() for name in names}
        self.gradients: dict[str, torch.Tensor] = {}
        lm_head: Any = self._roles.lm_head
        self._head = head_loss.Linear(lm_head.weight, lm_head.bias, model.head.adjusted)
        self._names = {id(parameter): name for name, parameter in self._parameters.items()}
        self._tables = {id(p) for p in (self._roles.embedding.weight, lm_head.weight, lm_head.bias)}
        tied = lm_head.weight is self._roles.embedding.weight
        starts = {"head": "embedding" if tied else "head", "last_block": "block", "all": "embedding"}
        self._starts = starts[scope]
        self._embedded: torch.Tensor | None = None
        self._cutting = True
        self._seen: Any = None
        self._hooks = [
            *(
                b.block.register_forward_pre_hook(self._on_block, with_kwargs=True)
                for b in self._roles.blocks
            ),
            self._roles.embedding.register_forward_hook(self._on_embedding),
        ]
        self.restore()

    # -- life ------------------------------------------------------------------------------------------------

    def __enter__(self) -> LearnerCopy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every tensor now, without waiting for Python to notice."""
        for hook in self._hooks:
            hook.remove()
        for parameter in self._parameters.values():
            parameter.grad = None
        self._hooks.clear()
        self.weights.clear()
        self.gradients.clear()
        self._original.clear()
        self._parameters.clear()
        self._embedded = self._seen = self._hf = self._roles = self._head = None  # type: ignore[assignment]

    @contextmanager
    def _held(self) -> Iterator[None]:
        self._turn.take()
        try:
            yield
        finally:
            self._turn.end()

    @torch.no_grad()
    def restore(self) -> None:
        """Set the trained weights to the original's, to the last bit."""
        with self._held():
            for name, weight in self.weights.items():
                for rows in row_pieces(weight):
                    weight[rows] = self._original[name][rows]
                    self._turn.give_way()

    # -- reading ---------------------------------------------------------------------------------------------

    def read(self, ids: Sequence[int]) -> Reading:
        """Run what comes before the trained weights, once."""
        if self._starts == "embedding":
            return Reading(tuple(ids), None)
        with self._held(), torch.no_grad():
            normed = self._from_embedding(ids)
        seen, self._seen = self._seen, None
        return Reading(tuple(ids), normed if self._starts == "head" else seen)

    def logits(self, reading: Reading) -> np.ndarray:
        """(V,) logits after the last token of the text."""
        with self._held(), torch.no_grad():
            normed = self._normed(reading)
            return head_loss.logits(normed[-1:], self._head, self._turn.give_way)[0].float().numpy()

    def loss(self, reading: Reading) -> float:
        """Mean −ln p of each token of the text after its first, in nats. Needs two tokens."""
        with self._held(), torch.no_grad():
            normed, targets = self._normed(reading)[:-1], torch.tensor(reading.ids[1:])
            return head_loss.loss(normed, targets, self._head, self._turn.give_way)

    def _normed(self, reading: Reading) -> torch.Tensor:
        """The final norm's output (n, d), from wherever the text was read to."""
        if reading.stored is None:
            return self._from_embedding(reading.ids)
        if self._starts == "head":
            return reading.stored
        hidden, args, kwargs = reading.stored
        out = self._roles.blocks[-1].block(hidden, *args, **kwargs)
        normed: torch.Tensor = self._roles.final_norm(out[0] if isinstance(out, tuple) else out)
        return normed[0]

    def _from_embedding(self, ids: Sequence[int]) -> torch.Tensor:
        decoder: Any = self._roles.decoder
        normed: torch.Tensor = decoder(input_ids=torch.tensor([list(ids)]), use_cache=False).last_hidden_state
        return normed[0]

    def _on_block(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before each block: the last one's call is noted, and the turn given away, in both directions."""
        rest = dict(kwargs)
        hidden = args[0] if args else rest.pop("hidden_states")
        reads_ahead = self._starts == "block" and not torch.is_grad_enabled()
        if reads_ahead and module is self._roles.blocks[-1].block:
            self._seen = (hidden, args[1:], rest)
        if hidden.requires_grad:
            hidden.register_hook(self._turn.give_way)
        self._turn.give_way()

    def _on_embedding(self, _module: Any, _args: Any, out: torch.Tensor) -> torch.Tensor | None:
        """The lookup is cut off the graph: its gradient would be a whole table, nearly all zero."""
        if not torch.is_grad_enabled() or not self._cutting:
            return None
        self._embedded = out.detach().requires_grad_()
        return self._embedded

    # -- gradients -------------------------------------------------------------------------------------------

    def look(self, reading: Reading) -> Gradient:
        """The gradient of every weight of the model, for its size alone: nothing of it is kept."""
        return self._gradient(Reading(reading.ids, None), set(self._parameters), keep=False)

    def gradient(self, reading: Reading) -> Gradient:
        """The gradient of the trained weights; it stays in ``gradients`` until the next one."""
        self.gradients.clear()
        return self._gradient(reading, set(self.weights), keep=True)

    def _gradient(self, reading: Reading, names: set[str], keep: bool) -> Gradient:
        squared: dict[str, float] = dict.fromkeys(names, 0.0)
        plain = {n: p for n, p in self._parameters.items() if n in names and id(p) not in self._tables}
        hooks = []
        for name, parameter in plain.items():
            parameter.requires_grad_(True)
            if not keep:
                count = partial(_count_and_drop, squared, name)
                hooks.append(parameter.register_post_accumulate_grad_hook(count))
        try:
            with self._held(), torch.enable_grad():
                tables = self._table_gradients(reading.ids, names, keep)
                loss = self._backward(reading, tables)
                self._collect(plain, tables, squared, keep)
        finally:
            for hook in hooks:
                hook.remove()
            for parameter in plain.values():
                parameter.requires_grad_(False)
                parameter.grad = None
            self._embedded = None
        return Gradient(loss, squared)

    def _backward(self, reading: Reading, tables: dict[str, head_loss.TableGradient]) -> float:
        weight, bias = self._head.weight, self._head.bias
        normed = self._normed(reading)[:-1]
        loss, upstream = head_loss.loss_and_gradient(
            normed,
            torch.tensor(reading.ids[1:]),
            self._head,
            self._turn.give_way,
            tables.get(self._names[id(weight)]),
            None if bias is None else tables.get(self._names[id(bias)]),
        )
        if normed.requires_grad:
            normed.backward(upstream)
        lookup = tables.get(self._names[id(self._roles.embedding.weight)])
        if lookup is not None and self._embedded is not None and self._embedded.grad is not None:
            lookup.add_rows(self._lookup_gradient(reading.ids, self._embedded.grad))
        return loss

    def _lookup_gradient(self, ids: Sequence[int], upstream: torch.Tensor) -> torch.Tensor:
        """(u, d) gradient of the looked-up rows: the embedding's own module on a table of these rows."""
        unique, places = torch.tensor([list(ids)]).unique(return_inverse=True)
        embedding = self._roles.embedding
        rows = embedding.weight.detach()[unique].requires_grad_()
        self._cutting = False
        try:
            torch.func.functional_call(embedding, {"weight": rows}, (places,)).backward(upstream)
        finally:
            self._cutting = True
        assert rows.grad is not None
        return rows.grad

    def _table_gradients(
        self, ids: Sequence[int], names: set[str], keep: bool
    ) -> dict[str, head_loss.TableGradient]:
        asked = {n: p for n, p in self._parameters.items() if n in names and id(p) in self._tables}
        looked_up = torch.tensor(list(ids))
        made = {n: head_loss.TableGradient(p.detach(), looked_up, keep) for n, p in asked.items()}
        for name, table in made.items():
            if all(asked[name] is not tensor for tensor in (self._head.weight, self._head.bias)):
                table.clear(self._turn.give_way)
        return made

    def _collect(
        self,
        plain: dict[str, Any],
        tables: dict[str, head_loss.TableGradient],
        squared: dict[str, float],
        keep: bool,
    ) -> None:
        for name, table in tables.items():
            squared[name] = table.squared
            if table.full is not None:
                self.gradients[name] = table.full
        for name, parameter in plain.items() if keep else ():
            if parameter.grad is not None:
                self.gradients[name] = parameter.grad
                squared[name] = float(parameter.grad.square().sum())
                self._turn.give_way()

    # -- moving ----------------------------------------------------------------------------------------------

    def optimiser(self, kind: Kind, lr: float) -> Optimiser:
        """An optimiser whose pieces let others pass. It is told to move by :meth:`step`."""
        return Optimiser(kind, lr, self._turn.give_way)

    def step(self, optimiser: Optimiser) -> None:
        """Move the trained weights along the last gradient."""
        with self._held():
            optimiser.step(self.weights, self.gradients)

    @torch.no_grad()
    def nudge(self, amount: float) -> None:
        """Add ``amount`` · gradient to the trained weights, for checks."""
        with self._held():
            for name, gradient in self.gradients.items():
                for rows in row_pieces(gradient):
                    self.weights[name][rows].add_(gradient[rows], alpha=amount)
                    self._turn.give_way()

    def steepest(self) -> dict[str, tuple[tuple[int, ...], float, float]]:
        """Per trained tensor the weight with the largest gradient: its place, its value, its gradient."""
        found = {}
        with self._held():
            for name, gradient in self.gradients.items():
                best, at = -1.0, (0,) * gradient.dim()
                for rows in row_pieces(gradient):
                    sizes = gradient[rows].abs()
                    place = np.unravel_index(int(sizes.argmax()), sizes.shape)
                    here = (int(place[0]) + rows.start, *(int(i) for i in place[1:]))
                    best, at = max((best, at), (float(sizes.max()), here), key=lambda found: found[0])
                    self._turn.give_way()
                found[name] = (at, self.value(name, at), float(gradient[at]))
        return found

    def value(self, name: str, at: tuple[int, ...]) -> float:
        """One trained weight as it is now."""
        return float(self.weights[name][at])

    @torch.no_grad()
    def moved(self) -> dict[str, tuple[float, float]]:
        """Per trained tensor the lengths of its change and of the original: ‖w − w₀‖ and ‖w₀‖."""
        lengths = {}
        with self._held():
            for name, weight in self.weights.items():
                change = before = 0.0
                for rows in row_pieces(weight):
                    original = self._original[name][rows]
                    change += float((weight[rows] - original).square().sum())
                    before += float(original.square().sum())
                    self._turn.give_way()
                lengths[name] = (change**0.5, before**0.5)
        return lengths


def _count_and_drop(squared: dict[str, float], name: str, parameter: torch.Tensor) -> None:
    assert parameter.grad is not None
    squared[name] = float(parameter.grad.square().sum())
    parameter.grad = None
