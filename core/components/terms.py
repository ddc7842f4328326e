"""What stands behind every page: opens a term's meaning in place, and remembers which pages were visited.

The browser keeps the names of visited pages in its own storage, so that the concept map knows them after a
reload; they go nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from core.components.base import mount

_SLUG = re.compile(r"[a-z0-9-]{1,60}")
EVERYWHERE_KEY = "nt_terms_layer"


def read_slug(payload: Any) -> str | None:
    """The term that the browser asks for, checked like any other input."""
    return payload if isinstance(payload, str) and _SLUG.fullmatch(payload) else None


def terms_layer(page: str, labels: Mapping[str, str], on_open: Callable[[Any], None]) -> Any:
    """Mount it once a page. ``page``: the name of the page that is shown; ``on_open(slug)``: a term is
    wanted."""
    header = {"page": page, "labels": {name: labels[name] for name in ("more", "close")}}
    return mount("terms", key=EVERYWHERE_KEY, header=header, on={"open": on_open})
