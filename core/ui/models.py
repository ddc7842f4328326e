"""The models that the picker offers, and which of them may be loaded without asking first."""

from __future__ import annotations

from collections.abc import Sequence

from core.charts.labels import byte_size
from core.engine import made_here
from core.engine.catalogue import CATALOGUE, find, is_local, looks_like_path
from core.ui.links import DEFAULT_MODEL
from core.ui.text import label

DEFAULT = DEFAULT_MODEL
_BY_NAME = {spec.name: spec for spec in CATALOGUE}


def offered(current: str, trained: Sequence[str] = ()) -> list[str]:
    """Names for the picker: the catalogue, what this learner trained (``trained``), and the one in use."""
    names = [*_BY_NAME, *(name for name in trained if made_here.find(name) is not None)]
    return names if current in names else [*names, current]


def title(name: str) -> str:
    """What the picker calls a model: its title in the catalogue or from its training, or the name itself."""
    made = made_here.find(name)
    if made is not None and made.spec is not None:
        return made.spec.title
    return _BY_NAME[name].title if name in _BY_NAME else name


def may_load(name: str) -> bool:
    """Whether a link alone may load it: the default, what is made from it, or one on this machine already."""
    return name == DEFAULT or (name in _BY_NAME and _BY_NAME[name].made_from == DEFAULT) or is_local(name)


def description(name: str) -> str:
    """Licence and sizes, to be read before agreeing to a download. Nothing is looked up for it.

    Raises UserError for a name that can be no model.
    """
    if looks_like_path(name):
        return label("shell", "model_folder")
    spec = find(name)
    sizes = []
    if spec.download_bytes:
        sizes.append(label("shell", "model_download", size=byte_size(spec.download_bytes)))
    if spec.memory_bytes:
        sizes.append(label("shell", "model_memory", size=byte_size(spec.memory_bytes)))
    return " ".join([spec.notice, *(sizes or [label("shell", "model_unknown_size")])])
