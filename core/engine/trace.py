"""A run seen as one sequence: positions 0…T-1, joined from the passes that made them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from core.engine import kv
from core.engine.layer_view import LayerView
from core.engine.passes import LensTop, Pass
from core.engine.replay import BlockRecord, replay_block
from core.engine.routing import Routing, joined

if TYPE_CHECKING:
    from core.engine.model import LoadedModel


class Trace:
    """The path from the prefill to ``tip`` as one sequence of T positions.

    Cheap to make; everything is computed when asked for. Example::

        trace = model.trace(run.tip)
        trace.layer(12).weights(head=3)[-1]   # where the last token looks, (T,)
    """

    def __init__(self, model: LoadedModel, tip: Pass) -> None:
        self._model = model
        self.tip = tip
        self.passes: list[Pass] = tip.path()
        self.token_ids: tuple[int, ...] = tuple(t for p in self.passes for t in p.token_ids)

    @property
    def n_positions(self) -> int:
        """T."""
        return len(self.token_ids)

    @property
    def n_prompt(self) -> int:
        """Positions that the prefill processed."""
        return self.passes[0].end

    def residual(self, layer: int) -> np.ndarray:
        """(T, d) input of block ``layer``; ``layer == n_layers`` gives the last block's output."""
        return np.concatenate([p.residuals[layer].float().numpy() for p in self.passes])

    def residual_norms(self) -> np.ndarray:
        """(n_layers + 1, T) length of the residual stream at each block's input, then at the end."""
        return np.concatenate([p.residual_norms() for p in self.passes], axis=1)

    def layer(self, layer: int) -> LayerView:
        """Block ``layer`` replayed for all positions; repeated calls reuse the replays."""
        records = [self.record(p, layer) for p in self.passes]
        return LayerView(layer, records, self._model.run_experts)

    def routing(self) -> Routing | None:
        """What every router said and chose at every position, as noted in the passes themselves.

        ``None`` for a dense model.
        """
        return joined([p.routing for p in self.passes])

    def final_norm(self) -> np.ndarray:
        """(T, d) what enters the LM head: the last block's output after the final norm."""
        return np.concatenate([self._model.head.normed(p.residuals[-1]).float().numpy() for p in self.passes])

    def logits_at(self, position: int) -> np.ndarray:
        """(V,) logits of one position; those of prompt positions were computed but not used."""
        for made in self.passes:
            if made.start <= position < made.end:
                if position == made.end - 1:
                    return made.logits
                rows = self._model.head.logits(made.residuals[-1][-made.logit_rows :])
                if made.logit_rows == made.end - made.start:
                    return rows[position - made.start].numpy()
                row = made.residuals[-1][position - made.start][None]
                return self._model.head.logits(row)[0].numpy()
        raise IndexError(f"position {position} lies outside 0…{self.n_positions - 1}")

    def lens(self, layer: int, positions: Sequence[int] | None = None) -> np.ndarray:
        """(n, V) logits that the final norm and LM head make of block ``layer``'s input ("logit lens").

        ``layer == n_layers`` gives the model's own logits. Source: nostalgebraist, "interpreting GPT:
        the logit lens" (2020).
        """
        residual = torch.from_numpy(self.residual(layer))
        if positions is not None:
            residual = residual[list(positions)]
        return self._model.head.logits(residual).float().numpy()

    def lens_top(self, layer: int, k: int = 5) -> LensTop:
        """The k likeliest tokens that block ``layer``'s input would predict, at every position.

        ``layer == n_layers`` gives the model's own predictions, used or not. Softmax over the whole
        vocabulary; kept with each pass, so that one more token costs one more row.
        """
        parts = [self._lens_of(made, layer, k) for made in self.passes]
        return LensTop(
            ids=np.concatenate([part.ids for part in parts]),
            probabilities=np.concatenate([part.probabilities for part in parts]),
        )

    def _lens_of(self, made: Pass, layer: int, k: int) -> LensTop:
        kept = made.lens.get(layer)
        if kept is None or kept.ids.shape[1] < k:
            probabilities = torch.softmax(self._model.head.logits(made.residuals[layer]).float(), dim=-1)
            top = probabilities.topk(min(k, probabilities.shape[-1]), dim=-1)
            kept = made.lens[layer] = LensTop(top.indices.numpy(), top.values.numpy())
        return LensTop(kept.ids[:, :k], kept.probabilities[:, :k])

    def kv_cache(self, layer: int) -> kv.CacheLayerView:
        """What the cache of ``layer`` holds at the end of the trace."""
        return kv.layer_view(self.tip, layer, self._model.shape.layer_windows[layer])

    def kv_bytes(self) -> int:
        """Bytes of the whole cache at the end of the trace, from the tensors themselves."""
        return sum(
            _kept_bytes(self.passes, layer, window)
            for layer, window in enumerate(self._model.shape.layer_windows)
        )

    def record(self, of: Pass, layer: int) -> BlockRecord:
        """The replay of one block of one pass of this trace, as the engine keeps it (torch tensors)."""
        return self._model.replays.get(
            (of, layer),
            lambda: replay_block(
                self._model.hf_model,
                self._model.roles,
                self._model.shape.n_heads,
                of,
                layer,
                self._model.shape.layer_windows[layer],
            ),
        )


def _kept_bytes(passes: Sequence[Pass], layer: int, window: int | None) -> int:
    """Bytes of one layer's columns; a sliding window keeps the last ``window`` of them."""
    columns = [p.kv[layer] for p in passes]
    total = sum(column.n_bytes for column in columns)
    count = sum(column.keys.shape[-2] for column in columns)
    return total if window is None or count <= window else total // count * window
