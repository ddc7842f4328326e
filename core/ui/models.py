"""The models that the picker offers, and which of them may be loaded without asking."""

from __future__ import annotations

from core.ui.links import DEFAULT_MODEL

DEFAULT = DEFAULT_MODEL


def offered(current: str) -> list[str]:
    """Names for the picker: the catalogue, and the one in use when it is not in there."""
    from core.engine.catalogue import CATALOGUE

    names = [spec.name for spec in CATALOGUE]
    return names if current in names else [*names, current]


def title(name: str) -> str:
    """What the picker calls a model: its title in the catalogue, or the name itself."""
    from core.engine.catalogue import CATALOGUE

    return next((spec.title for spec in CATALOGUE if spec.name == name), name)


def may_load(name: str) -> bool:
    """Whether a link alone may load it: the default model, or one that is on this machine already."""
    from core.engine.catalogue import is_local

    return name == DEFAULT or is_local(name)
