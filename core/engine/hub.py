"""Models by their Hugging Face id: safetensors only, sizes looked at before anything is downloaded."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from core.cache_dir import VARIABLE, make_cache_dir
from core.engine.catalogue import ModelSpec
from core.engine.memory import check_memory
from core.engine.progress import Progress, report
from core.errors import UserError

# No *.py, no pickles, nothing but weights as safetensors and the texts that describe model and tokenizer.
_WANTED = (
    "model*.safetensors",
    "model.safetensors.index.json",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
)
_TIMEOUT_S = 8.0


def cached(spec: ModelSpec) -> Path | None:
    """The model's folder in our cache if a download of it was ever finished."""
    from core.cache_dir import cache_dir

    folder = cache_dir() / "hub" / _folder_name(spec)
    return folder if (folder / "complete.json").is_file() else None


def _folder_name(spec: ModelSpec) -> str:
    return spec.name.replace("/", "--")


def download(spec: ModelSpec, progress: Progress | None = None) -> Path:
    """Download a model's safetensors, configs and tokenizer into the cache folder.

    Raises:
        UserError: no network, no such model, no safetensors, or too large for the memory or the disk.
    """
    from filelock import FileLock

    root = make_cache_dir("hub")
    report(progress, "download", 0, 0, f"Asking Hugging Face about {spec.name}.")
    with _readable_errors(spec), FileLock(root / f".{_folder_name(spec)}.lock"):
        if folder := cached(spec):
            return folder
        info = _info(spec)
        sizes = {
            file.rfilename: int(file.size or 0) for file in info.siblings or [] if _is_wanted(file.rfilename)
        }
        if not any(name.endswith(".safetensors") for name in sizes):
            raise UserError(
                f"{spec.name} has no .safetensors weights.",
                "Only that format is read, as it cannot hold code.",
            )
        check_memory(spec.title, _float32_bytes(info, sizes))
        _check_room(root, sum(sizes.values()))
        return _fetch(spec, root / _folder_name(spec), info.sha, sizes, progress)


def _is_wanted(name: str) -> bool:
    from fnmatch import fnmatchcase

    return any(fnmatchcase(name, pattern) for pattern in _WANTED)


def _info(spec: ModelSpec) -> Any:
    from huggingface_hub import HfApi

    return HfApi().model_info(spec.name, files_metadata=True, timeout=_TIMEOUT_S)


def _float32_bytes(info: Any, sizes: dict[str, int]) -> int:
    """What the weights take once loaded as float32."""
    counts: dict[str, int] = dict(getattr(info.safetensors, "parameters", None) or {})
    if counts:
        return 4 * sum(counts.values())
    return 2 * sum(
        size for name, size in sizes.items() if name.endswith(".safetensors")
    )  # if stored in 16 bits


def _check_room(root: Path, needed: int) -> None:
    free = shutil.disk_usage(root).free
    if free < needed * 1.05:
        raise UserError(
            f"The disk is full: {needed / 1e9:.1f} GB are needed, {free / 1e9:.1f} GB are free in {root}.",
            f"Make room, or set {VARIABLE} to a folder on another disk, and start again.",
        )


def _fetch(
    spec: ModelSpec, folder: Path, revision: str, sizes: dict[str, int], progress: Progress | None
) -> Path:
    from huggingface_hub import hf_hub_download

    total = sum(sizes.values())
    with _watched(folder, total, f"Downloading {spec.name}.", progress):
        for name in sorted(sizes, key=lambda name: sizes[name]):  # small files first: a refusal comes early
            hf_hub_download(spec.name, name, revision=revision, local_dir=folder, etag_timeout=_TIMEOUT_S)
    _check_files(spec, folder, sizes)
    (folder / "complete.json").write_text(json.dumps({"revision": revision}), encoding="utf-8")
    return folder


def _check_files(spec: ModelSpec, folder: Path, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        path = folder / name
        if not path.is_file() or (size and path.stat().st_size != size):
            path.unlink(missing_ok=True)
            raise UserError(f"The download of {spec.name} is broken ({name}).", "Start it again.")


@contextmanager
def _watched(folder: Path, total: int, message: str, progress: Progress | None) -> Iterator[None]:
    """Report the bytes below ``folder`` twice a second while something downloads into it."""
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.5):
            try:
                done = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            except OSError:  # a file was renamed just now
                continue
            report(progress, "download", min(done, total), total, message)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _readable_errors(spec: ModelSpec) -> Iterator[None]:
    """Turn the client's errors into sentences."""
    from huggingface_hub import errors

    try:
        yield
    except UserError:
        raise
    except errors.GatedRepoError as error:
        raise UserError(
            f"{spec.name} asks you to accept its terms first.",
            "Accept them on its page, log in with the command `hf auth login`, and try again.",
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise UserError(
            f"Hugging Face has no public model {spec.name}.", "Check how it is spelled."
        ) from error
    except Exception as error:  # the client's HTTP library has its own family of errors for "no network"
        raise UserError(
            f"Hugging Face cannot be reached, so {spec.name} cannot be downloaded ({type(error).__name__}).",
            "Check the network, or choose a model that is on this machine already.",
        ) from error
