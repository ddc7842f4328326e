"""Loading of models beside the pages: one thread per model, its progress for every page to show."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import Any

from core.errors import UserError
from core.ui.links import DEFAULT_MODEL

LOG = logging.getLogger("next_token")


@dataclass
class Load:
    """One model on its way: where it stands, and the error when it failed."""

    name: str
    done: threading.Event = field(default_factory=threading.Event)
    event: Any = None
    error: UserError | None = None
    broken: bool = False

    @property
    def status(self) -> str:
        """``loading``, ``ready`` or ``failed``."""
        if not self.done.is_set():
            return "loading"
        return "failed" if self.error or self.broken else "ready"


_loads: dict[str, Load] = {}
_lock = threading.Lock()
_imported = threading.Event()


def begin(name: str, *, freeze: bool = False) -> Load:
    """The load of ``name``, started unless it is under way or done. A failed one is started anew by
    ``retry``."""
    with _lock:
        load = _loads.get(name)
        if load is None:
            load = _loads[name] = Load(name)
            threading.Thread(target=_work, args=(load, freeze), name=f"load {name}", daemon=True).start()
        return load


def retry(name: str) -> Load:
    """Forget a failed load and start again."""
    forget_failure(name)
    return begin(name, freeze=name == DEFAULT_MODEL)


def known(name: str) -> Load | None:
    """The load of ``name`` if it was ever started."""
    return _loads.get(name)


def start_default() -> None:
    """Load and warm the default model, then freeze the garbage collector's oldest objects (see startup)."""
    begin(DEFAULT_MODEL, freeze=True)


def default_status() -> str:
    """What ``/healthz`` says about the default model."""
    load = _loads.get(DEFAULT_MODEL)
    return load.status if load else "not started"


def wait_for_imports(seconds: float = 120.0) -> None:
    """Wait while the first load imports torch and transformers.

    A page that imported them at the same time would meet them half made.
    """
    if _loads:
        _imported.wait(seconds)


def _work(load: Load, freeze: bool) -> None:
    def note(event: Any) -> None:
        load.event = event

    try:
        # Imported here: torch and transformers take seconds, and the page shows progress meanwhile.
        from core.engine.loader import load_model
        from core.engine.model import LoadedModel as LoadedModel

        _imported.set()
        model = load_model(load.name, note)
        if freeze:
            from core.engine.startup import warm_and_freeze

            warm_and_freeze(model)
    except UserError as error:
        LOG.warning("Model %s could not be loaded: %s", load.name, error)
        load.error = error
    except Exception:
        LOG.exception("Model %s could not be loaded.", load.name)
        load.broken = True
    finally:
        _imported.set()
        load.done.set()


def model(name: str) -> Any:
    """The loaded model. Call it for a load that is ready: then this is a look-up (or a quick reload from
    disk)."""
    from core.engine.loader import load_model

    return load_model(name)


def forget_failure(name: str) -> None:
    """Let a model that failed once be tried again at the next request."""
    with _lock:
        if (old := _loads.get(name)) and old.status == "failed":
            del _loads[name]
