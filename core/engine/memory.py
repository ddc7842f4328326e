"""How much memory this process may still take."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from core.errors import UserError

_WORKING_BYTES = 300_000_000  # passes, tokenizer and the rest beside the weights
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def free_memory() -> int:
    """Bytes free on this machine, or left to this container if that is less."""
    return min(_machine_free(), _container_free())


def give_back() -> None:
    """Return freed memory to the machine now: glibc keeps much of it for this process otherwise."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)


def check_memory(title: str, weight_bytes: int) -> None:
    """Refuse a model whose float32 weights do not fit.

    Raises:
        UserError: with both sizes in it.
    """
    needed, free = weight_bytes + _WORKING_BYTES, free_memory()
    if needed > free:
        raise UserError(
            f"{title} needs about {needed / 1e9:.1f} GB of memory, and {free / 1e9:.1f} GB are free.",
            "Choose a smaller model, or close other programs and try again.",
        )


def _machine_free() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    if sys.platform == "win32":
        return _windows_free()
    # macOS does not say what is free in a way that Python reads: two thirds of what is there is a fair guess.
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 2 // 3


def _container_free() -> int:
    for limit_path, used_path in _CGROUPS:
        try:
            limit, used = Path(limit_path).read_text().strip(), Path(used_path).read_text().strip()
            if limit != "max":
                return max(0, int(limit) - int(used))
        except (OSError, ValueError):
            continue
    return sys.maxsize


class _WindowsStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = [
        ("length", ctypes.c_ulong),
        ("load", ctypes.c_ulong),
        *[
            (name, ctypes.c_ulonglong)
            for name in ("total", "free", "page_total", "page_free", "v_total", "v_free", "v_extended")
        ],
    ]


def _windows_free() -> int:
    status = _WindowsStatus()
    status.length = ctypes.sizeof(status)
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return int(status.free)
