"""Rules of the house that hold for every file, so that nobody has to remember them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = ROOT / "assets" / "text" / "en"
MAX_LINES = 400
MAX_PAGE_BYTES = 6000

# What app code must not hold, and why.
FORBIDDEN = {
    r"unsafe_allow_html\s*=\s*True": "text of a learner would be read as HTML",
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write)\b": "text of a token would be read as HTML",
    r"trust_remote_code\s*=\s*True": "runs a stranger's code",
    r"\b(import pickle|pickle\.loads?|torch\.load)\b": "a file could run code; safetensors only",
    r"\b(np|numpy)\.random\b|\btorch\.rand": "every number on the screen is the model's own",
    r"\bMath\.random\b": "every number on the screen is the model's own",
    r"\b(TODO|FIXME|XXX)\b": "finish it or leave it out",
    r"(?<![\w./])/(work|tmp|home|root|Users)/\w": "a path of one machine",
    r"\beval\(|\bnew Function\(": "runs text as code",
}

# (file, rule): why it may.
EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "core/engine",
        r"\beval\(|\bnew Function\(",
    ): "torch's module.eval() puts a model into inference mode; nothing is evaluated as code",
    (
        "core/engine/moe_recipe/",
        r"\b(np|numpy)\.random\b|\btorch\.rand",
    ): "training draws batches and first weights from a seeded generator; none of it is shown as a run",
    (
        "core/engine/training/from_zero.py",
        r"\b(np|numpy)\.random\b|\btorch\.rand",
    ): "first weights and the order of the batches are drawn from a seed; every number shown is trained",
}


def app_files() -> list[Path]:
    patterns = ["app.py", "core/**/*.py", "pages/**/*.py", "assets/js/**/*.js", "assets/css/**/*.css"]
    return sorted(file for pattern in patterns for file in ROOT.glob(pattern))


def own_files() -> list[Path]:
    """Everything that people wrote: app, tests, tools."""
    more = [file for folder in ("tests", "tools") for file in ROOT.glob(f"{folder}/**/*.py")]
    return sorted({*app_files(), *more})


def name(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def excused(file_name: str, rule: str) -> bool:
    return any(rule == other and file_name.startswith(start) for start, other in EXCEPTIONS)


def found(rule: str, file_name: str, text: str) -> list[str]:
    """The places in `text` where `rule` is broken, as "file:line"."""
    if excused(file_name, rule):
        return []
    return [f"{file_name}:{text.count(chr(10), 0, hit.start()) + 1}" for hit in re.finditer(rule, text)]


@pytest.mark.parametrize("rule", FORBIDDEN, ids=lambda rule: FORBIDDEN[rule][:40])
def test_app_code_holds_nothing_forbidden(rule: str) -> None:
    texts = {name(file): file.read_text("utf-8") for file in app_files()}
    places = [place for file, text in texts.items() for place in found(rule, file, text)]
    assert not places, FORBIDDEN[rule]


@pytest.mark.parametrize(
    "line",
    [
        "st.markdown(x, unsafe_allow_html=True)",
        "node.innerHTML = token",
        "x = np.random.rand(3)",
        "import pickle",
        "# TODO later",
        "p = '/home/me/model'",
        "const x = Math.random()",
    ],
)
def test_a_broken_rule_is_noticed(line: str) -> None:
    assert any(found(rule, "core/ui/x.py", line) for rule in FORBIDDEN)


def test_no_module_is_too_long() -> None:
    lengths = {name(file): len(file.read_text("utf-8").splitlines()) for file in own_files()}
    assert not {file: lines for file, lines in lengths.items() if lines > MAX_LINES}


def test_no_page_is_too_long() -> None:
    sizes = {name(file): file.stat().st_size for file in ROOT.glob("pages/*.py")}
    assert not {file: size for file, size in sizes.items() if size > MAX_PAGE_BYTES}


def test_browser_code_loads_nothing_from_elsewhere() -> None:
    """Namespaces of SVG are names, not addresses; nothing else may start with a scheme or `//host`."""
    outside = r"(?:https?:)//(?!www\.w3\.org/)[\w.-]+|url\(\s*['\"]?//"
    files = [file for file in app_files() if file.suffix in {".js", ".css"}]
    loading = [place for file in files for place in found(outside, name(file), _without_comments(file))]
    assert not loading


def _without_comments(file: Path) -> str:
    return re.sub(r"/\*.*?\*/|^\s*//[^\n]*", "", file.read_text("utf-8"), flags=re.S | re.M)


@pytest.mark.parametrize("page", sorted(ROOT.glob("pages/*.py")), ids=lambda file: file.stem)
def test_every_page_has_its_text_with_an_introduction(page: Path) -> None:
    text = TEXT / f"{page.stem}.md"
    assert text.exists(), f"{name(text)} is missing"
    assert re.search(r"^## intro\s*\n+\S", text.read_text("utf-8"), flags=re.M), (
        f"{name(text)} has no ## intro"
    )


def test_third_party_data_says_where_it_comes_from_and_under_which_licence() -> None:
    """A folder of fonts or of data under assets holds a LICENSE, NOTICE or SOURCE file, or a README."""
    ours = {"js", "css", "text", "images"}
    folders = [
        folder for folder in (ROOT / "assets").iterdir() if folder.is_dir() and folder.name not in ours
    ]
    note = re.compile(r"^(LICENSE|NOTICE|SOURCE|README)", flags=re.I)
    silent = [name(folder) for folder in folders if not any(note.match(f.name) for f in folder.rglob("*"))]
    assert not silent


def test_every_exception_is_needed() -> None:
    """An exception that no file needs any more is taken out."""
    for (start, rule), reason in EXCEPTIONS.items():
        files = [file for file in app_files() if name(file).startswith(start)]
        assert any(re.search(rule, file.read_text("utf-8")) for file in files), (
            f"not needed: {start}, {reason}"
        )


def test_browser_code_and_components_hold_no_prose() -> None:
    """What a learner reads stands in assets/text, so that another language is a folder."""
    sentence = r"""(["'`])[A-Z][a-z]+ [a-z]+ [a-z]+[^"'`\n]*\1"""
    files = [*(ROOT / "assets" / "js").rglob("*.js"), *(ROOT / "core" / "components").glob("*.py")]
    texts = {name(file): _code_of(file) for file in files}
    prose = [place for file, text in texts.items() for place in found(sentence, file, text)]
    assert [place for place in prose if "core/components/base.py" not in place] == [], "errors of programmers"
    assert re.search(sentence, 'const x = "Choose a token first"')


def _code_of(file: Path) -> str:
    return (
        _without_comments(file)
        if file.suffix == ".js"
        else re.sub(r'"""[\s\S]*?"""', "", file.read_text("utf-8"))
    )
