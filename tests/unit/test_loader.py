"""One shared copy of each model, freed when nobody needs it, refused when it cannot fit."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from core.engine import loader, memory, startup
from core.engine.gguf_convert import convert
from core.errors import UserError
from tests.unit.tiny_gguf import TOKENS, write_tiny_gguf


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A converted tiny llama."""
    folder = tmp_path_factory.mktemp("model")
    write_tiny_gguf(folder / "a.gguf")
    convert(folder / "a.gguf", folder)
    return folder


@pytest.fixture(autouse=True)
def _empty_shelf(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "_SHELF", loader._Shelf())


def copies(made: Path, root: Path, count: int) -> list[str]:
    """Folders with the same model under different names."""
    names = []
    for number in range(count):
        folder = root / f"model{number}"
        folder.mkdir()
        for file in made.iterdir():
            os.link(file, folder / file.name)
        names.append(str(folder))
    return names


def test_a_loaded_model_is_float32_in_evaluation_mode_and_predicts(made: Path) -> None:
    model = loader.load_model(str(made))
    assert {parameter.dtype for parameter in model.hf_model.parameters()} == {torch.float32}
    assert not model.hf_model.training
    assert not any(parameter.requires_grad for parameter in model.hf_model.parameters())
    tip = model.prefill(model.codec.encode("the 42"))
    with torch.no_grad():
        bare = model.hf_model(torch.tensor([model.codec.encode("the 42")])).logits[0, -1]
    assert tip.logits.shape == (len(TOKENS),)
    assert torch.equal(torch.from_numpy(tip.logits.copy()), bare)


def test_many_tabs_at_once_load_once(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[str] = []
    real = loader.load_weights
    together = threading.Barrier(8)

    def counted(folder: Path, title: str) -> Any:
        loads.append(title)
        return real(folder, title)

    def open_tab(_: int) -> int:
        together.wait()
        return id(loader.load_model(str(made)))

    monkeypatch.setattr(loader, "load_weights", counted)
    with ThreadPoolExecutor(8) as tabs:
        assert len(set(tabs.map(open_tab, range(8)))) == 1
    assert len(loads) == 1


def test_switching_models_keeps_two_and_frees_the_rest(made: Path, tmp_path: Path) -> None:
    seen = []
    for name in copies(made, tmp_path, 4):
        model = loader.load_model(name)
        seen.append(weakref.ref(model))
        startup.warm_and_freeze(model)  # what was frozen must go as well
        del model
    gc.unfreeze()
    gc.collect()
    assert [ref() is not None for ref in seen] == [False, False, True, True]


def test_a_model_in_use_is_never_loaded_a_second_time(made: Path, tmp_path: Path) -> None:
    names = copies(made, tmp_path, 4)
    first = loader.load_model(names[0])
    for name in names[1:]:
        loader.load_model(name)
    assert loader.load_model(names[0]) is first


def test_a_failed_load_can_be_tried_again(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(memory, "free_memory", lambda: 1000)
        with pytest.raises(UserError, match="GB of memory"):
            loader.load_model(str(made))
    assert loader.load_model(str(made)).name == str(made)


def test_size_is_the_float32_size_whatever_the_file_holds(made: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(10, 3, dtype=torch.bfloat16)}, tmp_path / "model.safetensors")
    assert loader.weight_bytes_float32(tmp_path) == 120
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 20)
    with pytest.raises(UserError, match="broken"):
        loader.weight_bytes_float32(tmp_path)


def test_pickled_weights_are_not_read(made: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((made / "config.json").read_text())
    torch.save({}, tmp_path / "pytorch_model.bin")
    with pytest.raises(UserError, match="safetensors"):
        loader.load_model(str(tmp_path))


def test_code_that_a_folder_brings_is_not_run(made: Path, tmp_path: Path) -> None:
    (name,) = copies(made, tmp_path, 1)
    config = json.loads((made / "config.json").read_text())
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.C", "AutoModelForCausalLM": "evil.M"}}
    (Path(name) / "config.json").unlink()  # a hard link: the original stays
    (Path(name) / "config.json").write_text(json.dumps(config))
    (Path(name) / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(UserError, match="cannot be loaded"):
        loader.load_model(name)
    assert not (tmp_path / "ran").exists()


def test_free_memory_never_exceeds_what_a_container_leaves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert 0 < memory.free_memory() < 2**46
    (tmp_path / "max").write_text("5000\n")
    (tmp_path / "current").write_text("2000\n")
    monkeypatch.setattr(memory, "_CGROUPS", ((str(tmp_path / "max"), str(tmp_path / "current")),))
    assert memory.free_memory() == 3000
    (tmp_path / "max").write_text("max\n")
    assert memory.free_memory() > 3000


def test_importing_the_loader_imports_no_torch_and_sets_waiting_threads_to_sleep() -> None:
    code = (
        "import os, sys; os.environ.pop('OMP_WAIT_POLICY', None); import core.engine.loader;"
        "print([name for name in ('torch', 'transformers', 'streamlit') if name in sys.modules],"
        " os.environ['OMP_WAIT_POLICY'])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] PASSIVE"


def test_usable_cores_is_between_one_and_what_there_is() -> None:
    assert 1 <= startup.usable_cores() <= (os.cpu_count() or 1)
