"""A model's chat template, rendered in a sandbox with the same settings as transformers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from core.errors import UserError


class ChatTemplate:
    """``source``: a Jinja template over ``messages``; ``specials``: names it may use, like ``bos_token``.

    Templates come with a model's files and are code from strangers: they run in jinja2's immutable sandbox
    and see plain data only.
    """

    def __init__(self, source: str, specials: Mapping[str, str]) -> None:
        self.source = source
        self._specials = dict(specials)

    @classmethod
    def from_folder(
        cls, folder: Path, config: Mapping[str, Any], specials: Mapping[str, str]
    ) -> ChatTemplate | None:
        """``chat_template.jinja``, else the entry in ``tokenizer_config.json``; None without either."""
        file = folder / "chat_template.jinja"
        source = file.read_text(encoding="utf-8") if file.is_file() else config.get("chat_template")
        if isinstance(source, list):  # several named templates
            named = {entry["name"]: entry["template"] for entry in source}
            source = named.get("default") or next(iter(named.values()), None)
        return cls(source, specials) if source else None

    def render(self, messages: Sequence[Mapping[str, str]]) -> str:
        """The messages as one text that ends where the assistant's answer begins. Raises UserError."""
        try:
            return self._compiled.render(
                messages=[dict(message) for message in messages],
                tools=None,
                documents=None,
                add_generation_prompt=True,
                **self._specials,
            )
        except jinja2.exceptions.TemplateError as error:
            raise UserError(
                f"The model's chat template refused this conversation: {error}.",
                "Switch the chat template off, or leave the system message away.",
            ) from error

    @cached_property
    def _compiled(self) -> jinja2.Template:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        environment.globals["strftime_now"] = lambda pattern: datetime.now().strftime(pattern)
        return environment.from_string(self.source)


def _to_json(value: Any, ensure_ascii: bool = False, **layout: Any) -> str:
    """Jinja's own filter escapes HTML characters; chat templates want plain JSON."""
    return json.dumps(value, ensure_ascii=ensure_ascii, **layout)


def _refuse(message: str) -> None:
    raise jinja2.exceptions.TemplateError(message)
