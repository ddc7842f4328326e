"""Downloads by id, against a small hub on this machine that answers as the real one does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from core.cache_dir import VARIABLE
from core.engine import catalogue, hub, memory
from core.engine.loader import load_model
from core.errors import UserError
from tests.unit import tiny

NAME = "someone/tiny-llama"
REVISION = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Serves a folder as one model; ``asked`` notes each path, ``broken`` names files that end too early."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        self.status = 200
        self.code = ""
        self.broken: set[str] = set()
        self.hidden: set[str] = set()
        handler = partial(_Handler, self)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def files(self) -> dict[str, int]:
        found = {file.name: file.stat().st_size for file in self.folder.iterdir()}
        return {name: size for name, size in found.items() if name not in self.hidden}


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, hub: Hub, *args: Any) -> None:
        self.hub = hub
        super().__init__(*args)

    def log_message(self, *_args: Any) -> None:
        """Nothing on the terminal."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        self.hub.asked.append(self.path)
        if self.hub.status != 200:
            return self._send(b"{}", self.hub.status)
        if self.path.startswith("/api/models/"):
            files = [{"rfilename": name, "size": size} for name, size in self.hub.files().items()]
            answer = {"id": NAME, "sha": REVISION, "siblings": files}
            return self._send(json.dumps(answer).encode(), 200)
        name = self.path.rsplit("/", 1)[-1]
        if name not in self.hub.files():
            return self._send(b"", 404)
        data = (self.hub.folder / name).read_bytes()
        if name in self.hub.broken:
            data = data[: len(data) // 2]
        return self._send(data, 200)

    def _send(self, data: bytes, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("X-Repo-Commit", REVISION)
        self.send_header("ETag", '"0123456789abcdef"')
        if self.hub.code:
            self.send_header("X-Error-Code", self.hub.code)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    from huggingface_hub import constants

    folder = tmp_path / "served"
    tiny.save(tiny.build("llama"), folder)
    (folder / "modeling_own.py").write_text("raise SystemExit('run')")
    (folder / "pytorch_model.bin").write_bytes(b"not to be read")
    found = Hub(folder)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)  # the rest of the tests must ask nobody
    monkeypatch.setattr(constants, "ENDPOINT", found.address)
    template = found.address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    yield found
    found.server.shutdown()


def test_a_model_is_downloaded_without_code_or_pickles_and_loads(served: Hub) -> None:
    seen: list[Any] = []
    folder = hub.download(catalogue.find(NAME), seen.append)
    names = {file.name for file in folder.iterdir() if file.is_file()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "complete.json"} <= names
    assert not {"modeling_own.py", "pytorch_model.bin"} & names
    assert not any("modeling_own" in path or ".bin" in path for path in served.asked)
    assert seen[0].stage == "download"
    model = load_model(NAME)
    assert model.shape.n_layers == tiny.build("llama").config.num_hidden_layers

    served.asked.clear()
    assert hub.download(catalogue.find(NAME)) == folder and not served.asked, "the second start asks nobody"


def test_a_model_too_large_for_the_memory_is_refused_before_its_weights_are_asked_for(
    served: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 1000)
    with pytest.raises(UserError, match="memory"):
        hub.download(catalogue.find(NAME))
    assert not any("resolve" in path for path in served.asked)


def test_a_model_without_safetensors_is_refused(served: Hub) -> None:
    served.hidden = {"model.safetensors"}
    with pytest.raises(UserError, match=r"no \.safetensors weights"):
        hub.download(catalogue.find(NAME))


def test_a_broken_download_says_so_and_the_next_one_recovers(served: Hub) -> None:
    served.broken = {"model.safetensors"}
    with pytest.raises(UserError):
        hub.download(catalogue.find(NAME))
    assert hub.cached(catalogue.find(NAME)) is None
    served.broken = set()
    assert hub.cached(catalogue.find(NAME)) is None
    assert (hub.download(catalogue.find(NAME)) / "model.safetensors").is_file()


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [(404, "RepoNotFound", "no public model"), (403, "GatedRepo", "accept its terms")],
)
def test_a_refusal_of_the_hub_says_what_to_do(served: Hub, status: int, code: str, words: str) -> None:
    served.status, served.code = status, code
    with pytest.raises(UserError, match=words):
        hub.download(catalogue.find(NAME))


def test_no_network_is_said_at_once(served: Hub) -> None:
    served.server.shutdown()
    served.server.server_close()
    with pytest.raises(UserError, match="cannot be reached"):
        hub.download(catalogue.find(NAME))
