"""Make the virtual environment for `make`, or say in plain words what is missing.

    python tools/make_venv.py .venv
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

OLDEST = (3, 11)


def main(folder: str) -> int:
    """Return 0 when `folder` holds a working environment, 1 after a message that says what to do."""
    if sys.version_info < OLDEST:
        found = f"{sys.version_info.major}.{sys.version_info.minor}"
        return _give_up(f"Python 3.11 or newer is needed, this is {found}. Try: make run PYTHON=python3.12")
    try:
        import ensurepip  # noqa: F401  Debian leaves it out of its plain python3 package
    except ImportError:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return _give_up(
            "This Python cannot make virtual environments. "
            f"On Debian or Ubuntu: apt install python{version}-venv"
        )
    print(f"Making the virtual environment {folder}", file=sys.stderr)
    try:
        venv.create(folder, with_pip=True, clear=Path(folder).exists())
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        return _give_up(f"The virtual environment {folder} could not be made: {error}")
    return 0


def _give_up(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
