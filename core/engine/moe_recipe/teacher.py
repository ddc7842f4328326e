"""What the student is to learn: the dense model's final hidden states, each worked out once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch


class TeacherStates:
    """Final hidden states by training row, in float16 (d * 2 bytes a token).

    With a ``file`` they lie in it, mapped into memory: later sittings and other processes find them there.
    """

    def __init__(self, model: Any, n_rows: int, row_length: int, file: Path | None = None) -> None:
        self.model, self.width = model, int(model.config.hidden_size)
        shape = (n_rows, row_length, self.width)
        self.kept = _mapped(file, shape, torch.float16)
        self.known = _mapped(file and file.with_suffix(".known"), (n_rows,), torch.uint8)

    @torch.no_grad()
    def get(self, keys: list[int], ids: torch.Tensor) -> torch.Tensor:
        """(rows, T, d) float32 for the rows ``ids`` (rows, T), known by ``keys``."""
        missing = [i for i, key in enumerate(keys) if not self.known[key]]
        if missing:
            states = self.model.model(ids[missing], use_cache=False).last_hidden_state
            places = torch.tensor([keys[i] for i in missing])
            self.kept[places] = states.half()
            self.known[places] = 1  # after the states: another process may be looking
        return self.kept[torch.tensor(keys)].float()


def _mapped(file: Path | None, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Zeros in memory, or what ``file`` holds (zeros when it is new), shared with whoever maps it."""
    if file is None:
        return torch.zeros(shape, dtype=dtype)
    size = torch.Size(shape).numel()
    return torch.from_file(str(file), shared=True, size=size, dtype=dtype).view(shape)
