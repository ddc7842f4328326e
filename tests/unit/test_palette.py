"""The colours: the same in Python and in CSS, readable on their ground, told apart by colour-blind eyes."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import pytest

from core.charts.palette import DARK, LIGHT, Palette, palette, with_alpha
from core.components.versions import ASSETS

THEMES = {"light": LIGHT, "dark": DARK}
MEANINGS = ("query", "key", "value", "attention", "ffn", "expert", "residual", "logits")

# Linear RGB as seen with one kind of cone missing (Viénot, Brettel and Mollon 1999).
CONES = {
    "normal": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protan": ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0)),
    "deutan": ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0)),
}


def linear(colour: str) -> tuple[float, ...]:
    shares = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)


def luminance(colour: str) -> float:
    r, g, b = linear(colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(colour: str, eyes: str) -> tuple[float, float, float]:
    rgb = linear(colour)
    r, g, b = (max(0.0, sum(w * c for w, c in zip(row, rgb, strict=True))) for row in CONES[eyes])
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, eyes: str) -> float:
    return sum((a - b) ** 2 for a, b in zip(lab(one, eyes), lab(other, eyes), strict=True)) ** 0.5


@pytest.mark.parametrize("theme", THEMES)
def test_the_style_sheet_holds_the_same_colours(theme: str) -> None:
    sheet = (ASSETS / "css" / "tokens.css").read_text()
    light, dark = sheet.split('.nt-root[data-nt-theme="dark"]')
    found = dict(re.findall(r"(--nt-[\w-]+): (#[0-9a-f]{6});", light if theme == "light" else dark))
    assert found == THEMES[theme].css_variables()


@pytest.mark.parametrize("theme", THEMES)
def test_streamlit_gets_the_same_ground_and_ink(theme: str) -> None:
    config = (ASSETS.parent / ".streamlit" / "config.toml").read_text()
    section = config.split(f"[theme.{theme}]\n")[1].split("[")[0]
    colours = THEMES[theme]
    assert f'primaryColor = "{colours.accent}"' in section
    assert f'backgroundColor = "{colours.paper}"' in section
    assert f'textColor = "{colours.ink}"' in section
    assert f'borderColor = "{colours.line}"' in section


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", [*MEANINGS, "ink", "muted", "accent"])
def test_colours_read_as_text_on_paper_and_panels(theme: str, name: str) -> None:
    colours = THEMES[theme]
    wanted = 3.0 if name == "query" else 4.5  # the sketch's orange is for marks and large type
    for ground in (colours.paper, colours.surface):
        assert contrast(getattr(colours, name), ground) >= wanted


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eyes", CONES)
def test_query_key_value_and_logits_are_told_apart(theme: str, eyes: str) -> None:
    for one, other in combinations(("query", "key", "value"), 2):
        assert distance(getattr(THEMES[theme], one), getattr(THEMES[theme], other), eyes) >= 20


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eyes", CONES)
def test_ramps_run_steadily_in_lightness(theme: str, eyes: str) -> None:
    steps = [lab(colour, eyes)[0] for colour in THEMES[theme].ramp]
    falling = [b - a for a, b in pairwise(steps)]
    assert all(step < -8 for step in falling) if theme == "light" else all(step > 8 for step in falling)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eyes", CONES)
def test_the_ends_of_the_diverging_ramp_differ(theme: str, eyes: str) -> None:
    ends = THEMES[theme].diverging
    assert distance(ends[0], ends[-1], eyes) >= 40


def test_an_unknown_theme_is_light() -> None:
    assert palette(None) is LIGHT and palette("dark") is DARK and isinstance(LIGHT, Palette)
    assert with_alpha("#ff8000", 0.5) == "rgba(255,128,0,0.5)"
