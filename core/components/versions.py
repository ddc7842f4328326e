"""The version of the browser files: a part of their address, so that an upgraded app never runs old code."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SERVED_FOLDERS = ("js", "css", "fonts", "images")


@cache
def asset_version() -> str:
    """Ten characters that change when any served file changes; fixed while the process runs."""
    digest = hashlib.sha256()
    for folder in SERVED_FOLDERS:
        for path in sorted((ASSETS / folder).rglob("*")):
            if path.is_file():
                digest.update(path.relative_to(ASSETS).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:10]
