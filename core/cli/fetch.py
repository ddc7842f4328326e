"""``python -m core fetch MODEL``: the weights ahead of a lesson, so that the lesson needs no network."""

from __future__ import annotations

import argparse

from core.cli.console import ProgressLine
from core.engine.weights import ensure


def main(args: argparse.Namespace) -> int:
    """Fetch, check and convert the model unless that is done, and say where it is."""
    progress = ProgressLine()
    try:
        folder = ensure(args.model, progress)
    finally:
        progress.close()
    print(f"{args.model} is ready in {folder}")
    return 0
