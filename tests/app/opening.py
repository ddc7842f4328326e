"""Pages of the shell opened on tiny models, for the tests in this folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.ui import loading, pages
from tests.app import fakes
from tests.unit import tiny

SHELL = Path(pages.__file__).with_name("shell.py")
NAME = "smollm2-135m"
PROMPT = "the cat is on the hat"


def tiny_model(family: str = "llama", name: str = NAME) -> LoadedModel:
    """A random model of a family under the name of a real one."""
    codec = TextCodec(tiny.tokenizer().backend_tokenizer)
    return LoadedModel(name, None, tiny.build(family), codec)


def shell(
    monkeypatch: pytest.MonkeyPatch, load: LoadedModel | Callable[..., Any], query: Mapping[str, object]
) -> AppTest:
    """The shell at an address, not run yet. ``load``: the model, or what finds one by its name."""
    fakes.keep_modules(monkeypatch)
    fakes.install(load if not isinstance(load, LoadedModel) else lambda name, progress=None: load)
    monkeypatch.setattr(loading, "_loads", {})
    loading.begin(NAME).done.wait(20)
    app = AppTest.from_file(str(SHELL), default_timeout=60)
    for name, value in ({"prompt": PROMPT} | dict(query)).items():
        app.query_params[name] = str(value)
    return app


def open_page(
    monkeypatch: pytest.MonkeyPatch,
    page: str,
    model: str | LoadedModel | Callable[..., Any] = "llama",
    state: Mapping[str, Any] | None = None,
    **query: object,
) -> AppTest:
    """A page after its first run, without exceptions on the way there. ``model``: a family, or the model.

    ``state``: what the session holds when the page is entered.
    """
    app = shell(monkeypatch, tiny_model(model) if isinstance(model, str) else model, query).run()
    for name, value in (state or {}).items():
        app.session_state[name] = value
    return app.switch_page(str(pages.PAGES_FOLDER / f"{page}.py")).run()
