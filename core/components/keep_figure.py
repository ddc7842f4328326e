"""The row under a chart that saves it: PNG, SVG, and its data as CSV. All of it happens in the browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.components.base import mount


def keep_figure(*, key: str, filename: str, csv: str | None, labels: Mapping[str, str]) -> Any:
    """Mount it inside the same keyed container as the chart. ``csv`` is the whole file as text."""
    return mount(
        "keep_figure",
        key=key,
        header={
            "container": f"st-key-nt_figure_{filename}",
            "filename": filename,
            "csv": csv,
            "labels": dict(labels),
        },
    )
