"""One shared copy of each model in memory."""

from __future__ import annotations

import gc
import threading
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.engine import catalogue, made_here, memory, weights
from core.engine.catalogue import ModelSpec
from core.engine.memory import free_memory as free_memory
from core.engine.progress import Progress, report
from core.errors import UserError

if TYPE_CHECKING:
    from core.engine.model import LoadedModel

KEPT = 2  # so many stay in memory though nobody uses them just now; others only as long as somebody does


class _Shelf:
    """The models in memory: the last few asked for, and any other that is still in use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._one_by_one: dict[str, threading.Lock] = {}
        self._kept: OrderedDict[str, LoadedModel] = OrderedDict()
        self._alive: weakref.WeakValueDictionary[str, LoadedModel] = weakref.WeakValueDictionary()

    def find(self, name: str) -> LoadedModel | None:
        """The model, moved to the front of those that are kept."""
        with self._lock:
            model = self._alive.get(name)
            if model is not None:
                self._keep(name, model)
            return model

    def put(self, name: str, model: LoadedModel) -> None:
        """Take in a model that was just loaded."""
        with self._lock:
            self._alive[name] = model
            self._keep(name, model)

    def make_room(self) -> None:
        """Before another model is loaded: let go of the one that was not asked for longest."""
        with self._lock:
            while len(self._kept) >= KEPT:
                self._kept.popitem(last=False)
        # Start-up froze what was there (see startup.py); without this, cycles in an old model would stay.
        gc.unfreeze()
        gc.collect()
        gc.freeze()

    def lock_for(self, name: str) -> threading.Lock:
        """Held while that model is being loaded, so that two tabs load it once."""
        with self._lock:
            return self._one_by_one.setdefault(name, threading.Lock())

    def clear(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._kept.clear()

    def _keep(self, name: str, model: LoadedModel) -> None:
        self._kept[name] = model
        self._kept.move_to_end(name)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)


_SHELF = _Shelf()


def load_model(name: str, progress: Progress | None = None, *, allow_download: bool = True) -> LoadedModel:
    """The model called ``name``: the copy in memory, or loaded now, and fetched first when it must be.

    Safe to call from several threads; float32 on the CPU, in evaluation mode.

    Args:
        name: of the catalogue, of a model trained in this process, a Hugging Face id, or a path to a local
            folder.
        progress: told about downloading, converting and loading.
        allow_download: with ``False`` (a name that came in a link) only what is on this machine is loaded.

    Raises:
        UserError: a sentence on what went wrong and what to do.
    """
    name = name.strip()
    if (model := made_here.find(name) or _SHELF.find(name)) is not None:
        return model
    spec = catalogue.find(name)
    with _SHELF.lock_for(spec.name):
        if (model := _SHELF.find(name)) is not None:  # another thread loaded it meanwhile
            return model
        folder = weights.ensure(name, progress, allow_download=allow_download)
        _SHELF.make_room()
        model = _load(spec, folder, progress)
        _SHELF.put(name, model)
        return model


def forget_all() -> None:
    """Let go of every model; those still in use elsewhere live on until they are not."""
    _SHELF.clear()


def _load(spec: ModelSpec, folder: Path, progress: Progress | None) -> LoadedModel:
    size = weight_bytes_float32(folder)
    memory.check_memory(spec.title, size)
    report(progress, "load", 0, size, f"Loading {spec.title}.")
    from core.engine.model import LoadedModel
    from core.engine.text import TextCodec

    model = LoadedModel(spec.name, spec, load_weights(folder, spec.title), TextCodec.from_folder(folder))
    report(progress, "load", size, size, f"Loaded {spec.title}.")
    return model


def load_weights(folder: Path, title: str) -> Any:
    """The ``transformers`` model of a folder: safetensors only, none of the folder's code, float32.

    Raises:
        UserError: it is not a causal language model that ``transformers`` knows, or has no safetensors.
    """
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        model = AutoModelForCausalLM.from_pretrained(
            str(folder),
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            local_files_only=True,
        )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, TypeError) as error:
        raise UserError(
            f"{title} cannot be loaded: {first_line(error)}",
            "It must be a causal language model that transformers knows, with .safetensors weights.",
        ) from error
    return model.eval().requires_grad_(False)


def first_line(error: BaseException) -> str:
    """The first line of an error's text, cut."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200]


def weight_bytes_float32(folder: Path) -> int:
    """Bytes that the folder's weights take as float32, from the headers of its safetensors files."""
    import json
    import math
    import struct

    total = 0
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with path.open("rb") as file:
                (length,) = struct.unpack("<Q", file.read(8))
                if length > 100_000_000:
                    raise ValueError("header too long")
                header = json.loads(file.read(length))
        except (OSError, ValueError, struct.error) as error:
            raise UserError(
                f"The weights file {path.name} is broken.", "Get it again, then start again."
            ) from error
        total += sum(4 * math.prod(entry["shape"]) for key, entry in header.items() if key != "__metadata__")
    if total == 0:
        raise UserError(
            f"There are no .safetensors weights in {folder.name}.",
            "Only that format is read, as it cannot hold code.",
        )
    return total
