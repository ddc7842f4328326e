"""The per-user folder for what was fetched or made once: weights, tokenizers."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_cache_path

from core.errors import UserError

VARIABLE = "NEXT_TOKEN_CACHE"


def cache_dir() -> Path:
    """The folder's path, whether it exists or not; the variable ``NEXT_TOKEN_CACHE`` names another one."""
    chosen = os.environ.get(VARIABLE, "").strip()
    return Path(chosen).expanduser().absolute() if chosen else user_cache_path("next-token", appauthor=False)


def make_cache_dir(*below: str) -> Path:
    """The folder ``below`` the cache folder, made when missing.

    Raises:
        UserError: it cannot be made or written to.
    """
    folder = cache_dir().joinpath(*below)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable(folder, error) from error
    if not os.access(folder, os.W_OK):
        raise not_writable(folder)
    return folder


def not_writable(folder: Path, error: OSError | None = None) -> UserError:
    """The sentence for a cache folder that this user may not write to."""
    reason = f" ({error.strerror})" if error is not None and error.strerror else ""
    return UserError(
        f"The folder for downloaded models cannot be written to: {folder}{reason}.",
        f"Allow writing there, or set {VARIABLE} to a folder that you may write to, and start again.",
    )
