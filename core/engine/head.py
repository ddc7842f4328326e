"""From a residual stream to logits: final norm, LM head, and what some families do to logits after it."""

from __future__ import annotations

import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from core.engine.roles import ModelRoles
from core.engine.scheduler import SerialScheduler

if TYPE_CHECKING:
    from core.engine.passes import Pass

_REMEMBERED = 8


class Head:
    """Final norm and LM head of one model, and the logits of the last few passes.

    A few families change logits after the LM head: Gemma 2 caps them, Cohere multiplies, Granite divides.
    Every use takes a turn of the model, because the hooks of a running pass sit on the same modules.
    """

    def __init__(self, hf_model: Any, roles: ModelRoles, scheduler: SerialScheduler) -> None:
        self._roles = roles
        self._scheduler = scheduler
        config = hf_model.config
        self._softcap: float | None = getattr(config, "final_logit_softcapping", None)
        factor = getattr(hf_model, "logit_scale", None) or getattr(config, "logit_scale", None)
        self._factor: float = float(factor) if factor is not None else 1.0
        divisor = getattr(config, "logits_scaling", None)
        self._divisor: float = float(divisor) if divisor is not None else 1.0
        self._recent: deque[weakref.ref[Pass]] = deque()

    def normed(self, residual: torch.Tensor) -> torch.Tensor:
        """The final norm, each row with its own statistics: (n, d_model) → (n, d_model)."""
        with self._scheduler.turn(), torch.inference_mode():
            return self._roles.final_norm(residual)

    def logits(self, residual: torch.Tensor) -> torch.Tensor:
        """Final norm and LM head on block inputs or outputs: (n, d_model) → (n, V)."""
        with self._scheduler.turn(), torch.inference_mode():
            return self.adjusted(self._roles.lm_head(self._roles.final_norm(residual[None]))[0])

    def adjusted(self, logits: torch.Tensor) -> torch.Tensor:
        """What the family does to logits after the LM head, number by number; most do nothing."""
        if self._softcap is not None:
            logits = torch.tanh(logits / self._softcap) * self._softcap
        if self._factor != 1.0:
            logits = logits * self._factor
        if self._divisor != 1.0:
            logits = logits / self._divisor
        return logits

    def remember(self, of: Pass, logits: np.ndarray) -> None:
        """Keep the last logits of a pass at hand until a few other passes have come."""
        of.kept_logits = logits.copy()  # a copy of the row, so that the (n, V) block of a prefill is freed
        self._recent.append(weakref.ref(of))
        while len(self._recent) > _REMEMBERED:
            oldest = self._recent.popleft()()
            if oldest is not None and all(ref() is not oldest for ref in self._recent):
                oldest.kept_logits = None

    def last_logits(self, of: Pass) -> np.ndarray:
        """Logits of the last position of a pass, (V,) float32."""
        with self._scheduler.turn():
            if of.kept_logits is None:
                # The same rows as in the pass, so that the matrix product is the same to the last bit.
                self.remember(of, self.logits(of.residuals[-1][-of.logit_rows :])[-1].numpy())
            assert of.kept_logits is not None
            return of.kept_logits
