"""Find a Chromium for the browser tests, fetching one if the machine has none.

In this order: the CHROMIUM variable, a Chromium or Chrome on the PATH, the one playwright keeps, playwright's
own download, the system's package. Prints the path; exit status 1 with advice when there is none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def installed() -> str | None:
    """The path of a browser that is already here, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    return on_path() or _playwright_copy()


def on_path() -> str | None:
    """A Chromium or Chrome of the system, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _playwright_copy() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def _download() -> None:
    """Playwright's own download, then the system package; each may fail without harm."""
    attempts = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("apt-get"):
        # Another installation may be running: wait for it.
        install = ["apt-get", "install", "-o", "DPkg::Lock::Timeout=300", "-y", "-qq", "chromium"]
        attempts += [["apt-get", "update", "-qq"], install]
    for command in attempts:
        try:
            subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=sys.stderr, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"{command[0]}: {error}", file=sys.stderr)
        # Two steps of one attempt: a browser cannot appear before the second.
        if command[1] != "update" and installed():
            return


def main() -> int:
    """Print the browser's path; 0 when there is one."""
    path = installed()
    if path is None and not os.environ.get("CHROMIUM"):
        _download()
        path = installed()
    if path is None:
        print("No Chromium found. Install Chromium or Chrome, or set CHROMIUM=/path/to/it.", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
