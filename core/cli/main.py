"""Arguments of ``python -m core``, and which module answers which command.

Exit status: 0 done, 1 something went wrong that the message explains, 2 bad usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence

from core.cli import console
from core.decoding.params import SamplingParams
from core.engine.catalogue import CATALOGUE, DEFAULT
from core.errors import UserError

# Imported only when asked for: --help and a wrong option must not wait for torch.
_COMMANDS = {
    "fetch": "core.cli.fetch",
    "run": "core.cli.run_prompt",
    "verify": "core.cli.verify",
    "bench": "core.cli.bench",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    console.prepare()
    return console.guarded(lambda: _answer(arguments))


def _answer(arguments: list[str]) -> int:
    if arguments[:1] == ["moe-recipe"]:  # it has options of its own
        return _moe_recipe(arguments[1:])
    args = parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = importlib.import_module(_COMMANDS[args.command]).main
    return command(args)


def _moe_recipe(arguments: list[str]) -> int:
    try:
        recipe = importlib.import_module("core.engine.moe_recipe")
        run: Callable[[list[str]], int | None] = recipe.main
    except (ModuleNotFoundError, AttributeError) as error:
        raise UserError(
            "The MoE recipe is not part of this copy.", "Use a complete copy of the project."
        ) from error
    return run(arguments) or 0


def parser() -> argparse.ArgumentParser:
    """All commands and options."""
    top = argparse.ArgumentParser(
        prog="python -m core", description="Watch a language model choose its next token, from the terminal."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    names = ", ".join(spec.name for spec in CATALOGUE)

    fetch = commands.add_parser(
        "fetch", help="download and convert a model now, so that it runs offline later"
    )
    fetch.add_argument(
        "model", nargs="?", default=DEFAULT, help=f"one of {names}, or an id or a local folder"
    )

    _add_run(commands.add_parser("run", help="run a prompt token by token and print every choice"), names)
    for name, help_text in (
        ("verify", "check every identity that the app relies on"),
        ("bench", "measure the app's own cost as ratios"),
    ):
        command = commands.add_parser(name, help=help_text)
        _add_model(command, names)
        command.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    commands.add_parser("moe-recipe", add_help=False, help="make the Mixture-of-Experts asset anew")
    return top


def _add_model(command: argparse.ArgumentParser, names: str) -> None:
    command.add_argument(
        "--model", default=DEFAULT, help=f"one of {names}, or an id or a folder (default: {DEFAULT})"
    )


def _add_run(run: argparse.ArgumentParser, names: str) -> None:
    default = SamplingParams()
    run.add_argument("prompt", help="the text to continue; - reads it from the standard input")
    _add_model(run, names)
    run.add_argument("--tokens", type=_count, default=10, help="tokens to generate at most (default: 10)")
    run.add_argument(
        "--temperature", type=float, default=default.temperature, help="0 is greedy (default: 0.8)"
    )
    run.add_argument(
        "--top-k", type=int, default=default.top_k, help="keep the k likeliest; 0 is off (default: 0)"
    )
    run.add_argument(
        "--top-p", type=float, default=default.top_p, help="keep this mass; 1 is off (default: 0.95)"
    )
    run.add_argument(
        "--min-p", type=float, default=default.min_p, help="share of the highest; 0 is off (default: 0)"
    )
    run.add_argument("--repetition-penalty", type=float, default=default.repetition_penalty, help="1 is off")
    run.add_argument(
        "--seed", type=int, default=default.seed, help="the same seed repeats the run (default: 0)"
    )
    run.add_argument("--chat", action="store_true", help="put the prompt into the model's chat template")
    run.add_argument(
        "--specials-as-text", action="store_true", help="read typed control tokens as plain text"
    )
    run.add_argument("--top", type=_count, default=5, help="candidates to show per step (default: 5)")
    run.add_argument(
        "--layer", type=_count, help="show this layer too, from 0: shapes, norms, attention rows"
    )
    run.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value} is below 0")
    return value
