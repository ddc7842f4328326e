"""The message to the browser: read back as the browser does, byte by byte."""

from __future__ import annotations

import json

import numpy as np
import pytest

from core.components.base import pack
from core.components.small_grid import shades
from core.components.versions import ASSETS, asset_version


def unpack(message: bytes) -> tuple[dict, list[np.ndarray]]:
    length = int.from_bytes(message[:4], "little")
    head = json.loads(message[4 : 4 + length])
    start = -(-(4 + length) // 8) * 8
    arrays = []
    for entry in head["arrays"]:
        count = int(np.prod(entry["shape"]))
        at = start + entry["offset"]
        assert at % 8 == 0
        arrays.append(np.frombuffer(message, entry["type"], count, at).reshape(entry["shape"]))
    return head, arrays


@pytest.mark.parametrize("dtype", ["float32", "int32", "int16", "int8", "uint8", "uint16", "uint32"])
def test_arrays_arrive_bit_for_bit(dtype: str) -> None:
    array = np.arange(7, dtype=dtype).reshape(1, 7)
    head, (first, second) = unpack(pack({"t": "é🍕<b>"}, [array, array.T]))
    assert head["header"] == {"t": "é🍕<b>"}
    np.testing.assert_array_equal(first, array)
    np.testing.assert_array_equal(second, array.T)


def test_wide_types_are_narrowed_and_bools_become_bytes() -> None:
    head, arrays = unpack(pack({}, {"f": np.ones(2), "i": np.array([3, -4]), "b": np.array([True, False])}))
    assert [entry["type"] for entry in head["arrays"]] == ["float32", "int32", "uint8"]
    assert [entry["name"] for entry in head["arrays"]] == ["f", "i", "b"]
    np.testing.assert_array_equal(arrays[1], [3, -4])


def test_what_the_browser_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError):
        pack({}, [np.array(["text"])])
    with pytest.raises(TypeError):
        pack({}, [np.array([2**40])])
    with pytest.raises(ValueError, match="JSON"):
        pack({"x": float("nan")})


def test_shades_rise_with_the_size_and_survive_odd_numbers() -> None:
    found = shades(np.array([[1.0, 2.0, 4.0], [8.0, np.inf, np.nan]]))
    assert found.dtype == np.uint8 and found[0, 0] == 0
    assert found[0, 0] < found[0, 1] < found[0, 2] <= found[1, 0]
    assert found[1, 1] == found[1, 2] == 0
    assert shades(np.full((2, 2), np.nan)).tolist() == [[0, 0], [0, 0]]
    assert shades(np.ones((2, 3))).max() == 0


def test_the_version_names_the_served_files() -> None:
    assert len(asset_version()) == 10 and asset_version() == asset_version()
    assert (ASSETS / "js" / "lib" / "loader.js").is_file()
