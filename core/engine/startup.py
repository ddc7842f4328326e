"""What is done once when a server starts: thread count, a warm pass, a garbage collector that stays quiet."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.engine.model import LoadedModel


def warm_and_freeze(model: LoadedModel) -> None:
    """One short pass and one step, so that the first learner does not pay for first-time costs; then freeze.

    Streamlit runs a full garbage collection after every script run. With torch and transformers loaded that
    takes a fifth of a second each time; objects frozen here are not looked at again.
    """
    set_threads()
    tip = model.prefill([0, 1, 2])
    model.step(tip, 1)
    del tip
    gc.collect()
    gc.freeze()


def set_threads() -> None:
    """One torch thread for each physical core this process may use, unless ``OMP_NUM_THREADS`` is set."""
    if os.environ.get("OMP_NUM_THREADS", "").strip():
        return
    import torch

    torch.set_num_threads(usable_cores())


def usable_cores() -> int:
    """Physical cores, counted among those that the operating system and the container allow."""
    if hasattr(os, "sched_getaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        cores = len({_core_of(cpu) for cpu in allowed})
    else:
        cores = os.cpu_count() or 1
    return max(1, min(cores, _container_cores()))


def _core_of(cpu: int) -> str:
    """Which physical core a logical one lies on; its siblings share the answer."""
    try:
        return Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def _container_cores() -> int:
    """The container's share of the machine in whole cores (cgroup version 2)."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return 1_000_000 if quota == "max" else max(1, round(int(quota) / int(period)))
    except (OSError, ValueError):
        return 1_000_000
