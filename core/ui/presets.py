"""The examples of the prompt bar, from ``assets/presets.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from core.components.versions import ASSETS


@dataclass(frozen=True)
class Preset:
    label: str
    prompt: str
    chat: bool = False


@cache
def presets() -> tuple[Preset, ...]:
    """The presets in the file's order. Raises tomllib.TOMLDecodeError or TypeError for a file that is
    malformed."""
    data = tomllib.loads((ASSETS / "presets.toml").read_text(encoding="utf-8"))
    return tuple(Preset(**entry) for entry in data.get("preset", []))
