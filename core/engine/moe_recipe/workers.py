"""Several processes that train one student together: each takes its part of a step's rows, and gradients
are added up between them. Two processes of one thread each outrun one process of two threads.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes


class Group:
    """The processes of one run, as one of them sees it. Alone, ``add_up`` and ``agree`` change nothing."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size

    @property
    def leads(self) -> bool:
        """Whether this process keeps the clock, the log and the checkpoint."""
        return self.rank == 0

    def add_up(self, tensors: list[torch.Tensor]) -> None:
        """Replace each tensor by its sum over the processes."""
        if self.size == 1:
            return
        flat = torch.cat([t.reshape(-1) for t in tensors])
        dist.all_reduce(flat)
        for tensor, part in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))

    def agree(self, value: float) -> float:
        """The leader's value, in every process."""
        if self.size == 1:
            return value
        shared = torch.tensor([value], dtype=torch.float64)
        dist.broadcast(shared, 0)
        return float(shared)


def _enter(rank: int, size: int, meeting: str, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=size)
    try:
        work(Group(rank, size), *arguments)
    finally:
        dist.destroy_process_group()


def run_together(size: int, work: Callable[..., None], *arguments: Any) -> None:
    """Run ``work(group, *arguments)`` in ``size`` processes and wait for all; one failure ends them all."""
    if size == 1:
        work(Group(), *arguments)
        return
    with tempfile.TemporaryDirectory() as folder:
        meeting = str(Path(folder) / "meeting")
        processes.spawn(_enter, args=(size, meeting, work, arguments), nprocs=size)
