"""Shared by all tests: marks by folder, quiet libraries, one thread, and the real model loaded once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Before torch is imported: one thread gives the same last bits everywhere, and does not spin on busy cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

HERE = Path(__file__).parent
DEFAULT_MODEL = os.environ.get("NEXT_TOKEN_TEST_MODEL", "smollm2-135m")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests under browser/ and load/ carry the mark of their folder without saying so.

    Fast ones come first, so that a slip shows within seconds.
    """
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if folder in {"browser", "load"}:
            item.add_marker(folder)
            item.add_marker("real_model")
    order = {"unit": 0, "js": 1, "app": 2, "browser": 3, "load": 4}
    items.sort(key=lambda item: order.get(item.path.relative_to(HERE).parts[0], 2))


@pytest.fixture(scope="session")
def real_model() -> Iterator[Any]:
    """The default model itself, fetched into the shared cache folder when it is not there yet.

    Tests that use it are marked `real_model`.
    """
    from core.engine.loader import load_model

    yield load_model(DEFAULT_MODEL)
