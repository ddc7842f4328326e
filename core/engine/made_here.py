"""Models that were trained in this process: in memory only, while it runs; the oldest leave first."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.engine.model import LoadedModel

KEPT = 40
"""So many are kept for all learners together; a small model takes one to three megabytes."""

_NAME = re.compile(r"from-zero-[0-9a-f]{8}")
_lock = threading.Lock()
_models: OrderedDict[str, LoadedModel] = OrderedDict()


def is_name(name: str) -> bool:
    """Whether a model of this name can only have been trained here."""
    return _NAME.fullmatch(name) is not None


def keep(model: LoadedModel) -> None:
    """Let the model be found by its name. The same training has the same name: the newer model stays."""
    with _lock:
        _models[model.name] = model
        _models.move_to_end(model.name)
        while len(_models) > KEPT:
            _models.popitem(last=False)


def find(name: str) -> LoadedModel | None:
    """The model, None when it was never made here or has left. One in use does not leave soon."""
    with _lock:
        model = _models.get(name)
        if model is not None:
            _models.move_to_end(name)
        return model


def forget_all() -> None:
    """Let go of every model that was trained here."""
    with _lock:
        _models.clear()
