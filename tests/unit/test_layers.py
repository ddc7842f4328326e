"""Who may import whom: the arrows of docs/ARCHITECTURE.md, by reading every import, deferred ones too."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# An arrow points from a higher to a lower number; parts with the same number do not know each other.
LEVEL = {
    "core.errors": -1,
    "core.cache_dir": 0,
    "core.engine": 1,
    "core.decoding": 2,
    "core.lessons": 3,
    "core.charts": 4,
    "core.components": 5,
    "core.ui": 6,
    "pages": 7,
    "app": 7,
    "core.cli": 8,
    "core.__main__": 9,
}

# Library -> the parts that may import it.
HOMES = {
    "torch": {"core.engine"},
    "transformers": {"core.engine"},
    "safetensors": {"core.engine"},
    "tokenizers": {"core.engine"},
    "gguf": {"core.engine"},
    "streamlit": {"core.ui", "core.components", "pages", "app"},
    "starlette": {"core.ui", "app"},
    "plotly": {"core.charts", "core.ui"},
    "playwright": {"core.cli"},
}

# (module, library): why the rule does not hold there.
EXCEPTIONS: dict[tuple[str, str], str] = {}


def source_files() -> list[Path]:
    return [ROOT / "app.py", *sorted(ROOT.glob("core/**/*.py")), *sorted(ROOT.glob("pages/**/*.py"))]


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def part_of(module: str) -> str | None:
    """The part that a module belongs to, the longest name first; None for anything else."""
    names = (name for name in sorted(LEVEL, key=len, reverse=True))
    return next((name for name in names if module == name or module.startswith(name + ".")), None)


def imports(tree: ast.AST, module: str, is_package: bool = False) -> list[tuple[int, str]]:
    """(line, dotted name) of every import at any depth, type-checking blocks and functions included."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")
                keep = len(parents) - node.level + is_package
                base = ".".join(filter(None, [*parents[:keep], base]))
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
        elif isinstance(node, ast.Call) and _is_import_call(node):
            found.append((node.lineno, str(node.args[0].value)))  # type: ignore[attr-defined]
    return found


def _is_import_call(call: ast.Call) -> bool:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    literal = (
        bool(call.args) and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str)
    )
    return name in {"import_module", "__import__"} and literal


def violations(module: str, tree: ast.AST, is_package: bool = False) -> list[str]:
    """What this module imports against the rules, one line each."""
    part = part_of(module)
    problems = []
    for line, name in imports(tree, module, is_package):
        library = name.split(".")[0]
        if library in HOMES and part not in HOMES[library] and (module, library) not in EXCEPTIONS:
            problems.append(f"{module}:{line} imports {library}, which belongs to {sorted(HOMES[library])}")
        other = part_of(name)
        if other and part and other != part and LEVEL[other] >= LEVEL[part]:
            problems.append(f"{module}:{line} ({part}) imports {name} ({other}), against the arrows")
        if library == "tests":
            problems.append(f"{module}:{line} imports the tests")
    return problems


@pytest.mark.parametrize("file", source_files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_follow_the_arrows(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    assert not violations(module_name(file), tree, file.name == "__init__.py")


@pytest.mark.parametrize("file", source_files(), ids=lambda file: str(file.relative_to(ROOT)))
def test_every_module_belongs_to_a_known_part(file: Path) -> None:
    module = module_name(file)
    assert module == "core" or part_of(module), f"{module} is in no part that ARCHITECTURE.md names"


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("core.lessons.x", "import streamlit as st"),
        ("core.decoding.x", "def f():\n    import torch"),
        ("core.engine.x", "from core.ui import page"),
        ("core.engine.x", "from core import decoding"),
        ("core.engine.x", "from ..decoding import run"),
        ("core.lessons.x", "import importlib\nimportlib.import_module('plotly.graph_objects')"),
        ("core.decoding.x", "from core.lessons.costs import flops"),
        ("pages.x", "from transformers import AutoConfig"),
    ],
)
def test_a_forbidden_import_is_noticed(module: str, code: str) -> None:
    assert violations(module, ast.parse(code))


def test_allowed_imports_pass() -> None:
    code = (
        "import numpy as np\nfrom core.engine.model import LoadedModel\nfrom core.errors import UserError"
    )
    assert not violations("core.lessons.x", ast.parse(code))


def test_only_the_state_draws_the_page_anew() -> None:
    """``state.rerun`` writes the address first; after ``st.rerun`` alone an old one might be read again."""
    callers = [
        module_name(file) for file in source_files() if "st.rerun(" in file.read_text(encoding="utf-8")
    ]
    assert callers == ["core.ui.state"]
