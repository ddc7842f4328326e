"""The house colours, one accent per meaning, in a light and a dark variant.

The same values stand in ``assets/css/tokens.css`` for browser components; a test keeps the two equal.
The accents come from a palette made for colour-blind eyes (Okabe and Ito), darkened or lightened until
each one reads on its ground.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

ThemeName = Literal["light", "dark"]


@dataclass(frozen=True)
class Palette:
    """All colours of one theme as ``#rrggbb``."""

    query: str
    key: str
    value: str
    attention: str
    ffn: str
    expert: str
    residual: str
    logits: str
    accent: str
    ink: str
    muted: str
    paper: str
    surface: str
    line: str
    ramp: tuple[str, str, str, str, str]
    """Sequential, from "nothing" to "most". ``diverging`` has its middle in the paper's tone."""
    diverging: tuple[str, str, str, str, str]

    def colorscale(self) -> list[list[float | str]]:
        """The sequential ramp as a plotly colour scale."""
        return _scale(self.ramp)

    def diverging_colorscale(self) -> list[list[float | str]]:
        """The diverging ramp (negative, zero, positive) as a plotly colour scale."""
        return _scale(self.diverging)

    def css_variables(self) -> dict[str, str]:
        """``{"--nt-query": "#d55e00", ..., "--nt-ramp-0": ...}``."""
        variables: dict[str, str] = {}
        for field in fields(self):
            colour = getattr(self, field.name)
            if isinstance(colour, tuple):
                variables |= {f"--nt-{field.name}-{i}": step for i, step in enumerate(colour)}
            else:
                variables[f"--nt-{field.name}"] = colour
        return variables


def _scale(steps: tuple[str, ...]) -> list[list[float | str]]:
    return [[i / (len(steps) - 1), step] for i, step in enumerate(steps)]


LIGHT = Palette(
    query="#d55e00",
    key="#0072b2",
    value="#00805d",
    attention="#a8457e",
    ffn="#6b6a1f",
    expert="#6a4fb3",
    residual="#145c78",
    logits="#946800",
    accent="#bf3f14",
    ink="#1b2230",
    muted="#5d6676",
    paper="#fcfaf6",
    surface="#ffffff",
    line="#e4e0d8",
    ramp=("#f3f1eb", "#c3d3d6", "#86acb8", "#4a8399", "#145c78"),
    diverging=("#9c3d0b", "#e0a27c", "#f3f1eb", "#7fb0cc", "#0a5f93"),
)

DARK = Palette(
    query="#ff9549",
    key="#5eb4ee",
    value="#3fcb9b",
    attention="#e68abf",
    ffn="#c6c35a",
    expert="#ad97f2",
    residual="#5cc4e4",
    logits="#e3b341",
    accent="#ff8a5c",
    ink="#e9edf3",
    muted="#9aa5b5",
    paper="#12161c",
    surface="#1a2029",
    line="#2c3542",
    ramp=("#1e2530", "#244655", "#32708a", "#4699b6", "#5cc4e4"),
    diverging=("#ff9a5a", "#96603f", "#1e2530", "#34688f", "#63b8f2"),
)


def palette(theme: str | None) -> Palette:
    """The palette of ``"light"`` or ``"dark"``; anything else is light."""
    return DARK if theme == "dark" else LIGHT


def with_alpha(colour: str, alpha: float) -> str:
    """``#rrggbb`` as ``rgba(r,g,b,alpha)``, with alpha between 0 and 1."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"
