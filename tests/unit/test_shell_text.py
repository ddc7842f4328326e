"""The frame's own text: everything that the code asks for is there, and tokens stay literal in Markdown."""

from __future__ import annotations

import re

import pytest

from core.charts.labels import byte_size, chart_text, number, percent, seconds, visible
from core.ui import formulas, text
from core.ui.pages import ALL_PAGES
from core.ui.presets import presets
from core.ui.text import MissingTextError, literal, parse


def test_every_label_named_in_the_shell_exists() -> None:
    folder = text.TEXT_FOLDER.parents[1] / "core" / "ui"
    shell = text.load("shell")
    asked = {
        key
        for file in folder.glob("*.py")
        for key in re.findall(
            r"""label\(\s*["']shell["'],\s*["'](\w+)["']""", file.read_text(encoding="utf-8")
        )
    }
    assert len(asked) > 25 and asked <= set(shell.labels)


def test_every_page_has_a_title_a_section_and_an_address_of_its_own() -> None:
    shell = text.load("shell")
    for page in ALL_PAGES:
        assert shell.label(f"page_{page.name}") and shell.label(f"section_{page.section}")
    assert len({page.path for page in ALL_PAGES}) == len(ALL_PAGES)


def test_missing_text_is_an_error() -> None:
    page = parse("x", "## intro\nHi.\n\n## labels\n- a: {n} tokens\n")
    assert page.section("intro") == "Hi." and page.label("a", n=3) == "3 tokens"
    with pytest.raises(MissingTextError):
        page.section("outro")
    with pytest.raises(MissingTextError):
        page.label("b")
    with pytest.raises(MissingTextError):
        text.load("no-such-page")


def test_presets_cover_what_a_lesson_needs() -> None:
    prompts = [preset.prompt for preset in presets()]
    assert len(prompts) >= 10 and len({preset.label for preset in presets()}) == len(prompts)
    assert {"Hello, how was your day?", "The capital of France is", "Dog bites man"} <= set(prompts)
    assert any("\n" in prompt for prompt in prompts), "one is code"
    assert any(ord(char) > 0x1F000 for prompt in prompts for char in prompt), "one has an emoji"
    assert any("Ͱ" <= char <= "Ͽ" for prompt in prompts for char in prompt), "one is in another script"
    assert any(preset.chat for preset in presets())


def test_formulas_take_numbers_and_nothing_else() -> None:
    assert formulas.fill(r"\frac{<<a>>}{<<b>>}", {"a": 1.5, "b": 49152}) == r"\frac{1.5}{49{,}152}"
    assert formulas.fill("<<a>>", {"a": 1.2e-7}) == r"1.200\cdot 10^{-7}"
    assert formulas.fill("<<a>>", {"a": [1.0, -2.0]}) == r"1,\ -2"
    with pytest.raises(TypeError):
        formulas.fill("<<a>>", {"a": r"\href{x}"})  # type: ignore[dict-item]


def test_token_text_is_literal_in_charts_and_markdown() -> None:
    assert chart_text(" a<b>\n") == "·a&lt;b&gt;↵"
    assert chart_text("$x$ &lt;") == "&#36;x&#36;·&amp;lt;"
    assert literal("*a* $5 `x` :smile:") == r"\*a\* \$5 \`x\` \:smile\:"
    assert visible("\t\r") == "⇥␍"


def test_numbers_are_written_one_way() -> None:
    assert [percent(p) for p in (0.364, 0.05, 0.0031, 2e-5, 0.9999, 1.0, 0.0)] == [
        "36.4%",
        "5.0%",
        "0.31%",
        "0.002%",
        ">99.9%",
        "100.0%",
        "0%",
    ]
    assert number(-1234.5) == "−1,234" and number(float("nan")) == "–" and number(0.000012) == "1.20e−05"
    assert byte_size(46_080) == "46.1 KB" and byte_size(12) == "12 bytes" and seconds(0.0523) == "52.3 ms"
