"""Text for charts and tables: tokens made literal and visible, numbers written one way."""

from __future__ import annotations

import math

_VISIBLE = str.maketrans({" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍"})


def visible(text: str) -> str:
    """Spaces, line breaks and tabs as marks: ``" the\\n"`` → ``"·the↵"``. The same as ``visible`` in
    dom.js."""
    return text.translate(_VISIBLE)


def chart_text(text: str, limit: int | None = 24) -> str:
    """A token for a plotly label: visible, shortened to ``limit`` characters, and with no markup left in it.

    Plotly reads ``<b>``, ``&lt;`` and (with MathJax) ``$…$`` in labels, so these are written as entities.
    """
    shown = visible(text)
    if limit is not None and len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    for raw, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;")):
        shown = shown.replace(raw, entity)
    return shown or "∅"


def percent(share: float) -> str:
    """A probability for people: ``36.4%``, ``0.0021%``; never a false ``0%`` or ``100%``."""
    if share == 0 or not math.isfinite(share):
        return "0%" if share == 0 else "–"
    value = 100 * share
    if value >= 99.95 and share < 1:
        return ">99.9%"
    if value >= 1:
        return f"{value:.1f}%"
    if value >= 1e-4:
        return f"{value:.2g}%"
    return f"{value:.1e}%".replace("e-0", "e-")


def number(value: float, digits: int = 3) -> str:
    """A number with ``digits`` significant digits and a true minus sign; ``–`` when it is not finite."""
    if not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}g}" if value == 0 or 1e-4 <= abs(value) < 1e6 else f"{value:.{digits - 1}e}"
    if "e" in text and 1e-4 <= abs(value) < 1e6:
        text = f"{value:,.0f}"
    return text.replace("-", "−")


def byte_size(count: float) -> str:
    """``46.1 KB``: decimal units, three digits."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if abs(count) < 999.5 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    raise AssertionError("unreachable: the last unit always returns")


def seconds(value: float) -> str:
    """``52 ms``, ``1.3 s``, ``840 µs``."""
    if value < 1e-3:
        return f"{value * 1e6:.0f} µs"
    return f"{value * 1e3:.3g} ms" if value < 0.9995 else f"{value:.3g} s"
