"""Read a GGUF file's header: its metadata and where each tensor lies.

The ``gguf`` package makes numpy views of each of some 100,000 vocabulary strings and needs many seconds for
it; this reader follows the same format (ggml's docs/gguf.md, versions 2 and 3, little-endian) in one pass.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_STEP_BYTES = 32 * 1024 * 1024


class BadGgufError(ValueError):
    """The bytes are not a GGUF file that this reader knows."""


@dataclass(frozen=True)
class GgufTensor:
    """One tensor: ``shape`` as torch writes it (rows first), ``offset`` in bytes from the file's start."""

    name: str
    shape: tuple[int, ...]
    kind: gguf.GGMLQuantizationType
    offset: int
    n_bytes: int


class GgufFile:
    """A GGUF file, mapped into memory; a context manager.

    ``metadata`` holds plain Python values, ``tensors`` the entries by name.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._at = 0
        try:
            self._read_header()
        except (struct.error, UnicodeDecodeError, KeyError, ValueError) as error:
            self.close()
            raise BadGgufError(f"{path.name}: {error}") from error

    def __enter__(self) -> GgufFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._map.close()

    def _read_header(self) -> None:
        magic, version, n_tensors, n_values = self._take("4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            raise BadGgufError("not a GGUF file of version 2 or 3")
        self.metadata: dict[str, Any] = {}
        for _ in range(n_values):
            key = self._string()
            self.metadata[key] = self._value(self._take("I")[0])
        entries = [self._tensor_entry() for _ in range(n_tensors)]
        alignment = int(self.metadata.get("general.alignment", 32))
        start = -(-self._at // alignment) * alignment
        self.tensors = {
            entry.name: GgufTensor(entry.name, entry.shape, entry.kind, entry.offset + start, entry.n_bytes)
            for entry in entries
        }
        if any(entry.offset + entry.n_bytes > len(self._map) for entry in self.tensors.values()):
            raise BadGgufError("the file ends before its tensors do")

    def _take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self._map, self._at)
        self._at += struct.calcsize("<" + form)
        return values

    def _string(self) -> str:
        length = self._take("Q")[0]
        end = self._at + length
        if end > len(self._map):
            raise BadGgufError("a text runs past the end of the file")
        text = self._map[self._at : end].decode("utf-8")
        self._at = end
        return text

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._take(_SCALARS[kind])[0]
        inner, length = self._take("IQ")
        if length > len(self._map):
            raise BadGgufError("a list is longer than the file")
        if inner in _SCALARS:
            return list(self._take(f"{length}{_SCALARS[inner]}"))
        return [self._value(inner) for _ in range(length)]

    def _tensor_entry(self) -> GgufTensor:
        name = self._string()
        (n_dims,) = self._take("I")
        shape = tuple(reversed(self._take(f"{n_dims}Q")))  # the file writes the fastest axis first
        number, offset = self._take("IQ")
        kind = gguf.GGMLQuantizationType(number)
        block, type_bytes = gguf.GGML_QUANT_SIZES[kind]
        if not shape or shape[-1] % block:
            raise BadGgufError(f"{name} has a shape that does not fit its type")
        return GgufTensor(name, shape, kind, offset, int(np.prod(shape)) // block * type_bytes)

    def rows(self, tensor: GgufTensor) -> list[slice]:
        """Slices of the first axis, each some 32 MB of float32 at most."""
        row_bytes = 4 * int(np.prod(tensor.shape[1:]))
        step = max(1, _STEP_BYTES // row_bytes)
        return [slice(at, min(at + step, tensor.shape[0])) for at in range(0, tensor.shape[0], step)]

    def dequantized(self, tensor: GgufTensor, rows: slice | None = None) -> np.ndarray:
        """The tensor's values, or some rows of it, as float32 of the shape (rows, ...)."""
        start, stop = (0, tensor.shape[0]) if rows is None else (rows.start, rows.stop)
        row_bytes = tensor.n_bytes // tensor.shape[0]
        raw = self._map[tensor.offset + start * row_bytes : tensor.offset + stop * row_bytes]
        block, type_bytes = gguf.GGML_QUANT_SIZES[tensor.kind]
        if len(tensor.shape) > 1:
            values = np.frombuffer(raw, np.uint8).reshape(-1, tensor.shape[-1] // block * type_bytes)
        else:
            values = np.frombuffer(raw, np.uint8).reshape(1, -1)
        if tensor.kind == gguf.GGMLQuantizationType.F32:
            values = values.view(np.float32)
        elif tensor.kind == gguf.GGMLQuantizationType.F16:
            values = values.view(np.float16)
        floats = np.asarray(gguf.dequantize(values, tensor.kind), dtype=np.float32)
        return floats.reshape(stop - start, *tensor.shape[1:])
