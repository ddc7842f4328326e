"""Mounting of the browser components: one message of bytes down, named events back up.

The message is ``uint32 header length | JSON header | padding | arrays``, little-endian, each array starting
at a multiple of eight bytes, so that the browser views the numbers in place (``assets/js/lib/loader.js`` is
the reading side). The bytes travel as one top-level value: inside a dict Streamlit would turn them into text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager

from core.components.lines import Line
from core.components.versions import asset_version

Arrays = Sequence[np.ndarray] | Mapping[str, np.ndarray]
Message = tuple[Mapping[str, Any], Arrays]
"""Header and arrays."""
EventHandler = Callable[[Any], None]

_ALIGNMENT = 8
_WIRE_TYPES: dict[str, str] = {
    "float64": "float32",
    "float16": "float32",
    "float32": "float32",
    "int64": "int32",
    "int32": "int32",
    "int16": "int16",
    "int8": "int8",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "bool": "uint8",
}

# Sent with every message, hence small; the modules themselves come from /assets and stay in the browser's
# cache.
# The version is a folder of the address, so the modules that a module imports carry it too.
_LOADER = """export default function (component) {
  const root = new URL("assets/@VERSION@/", document.baseURI).href
  const loader = import(root + "js/lib/loader.js")
  loader.then((module) => module.mount("@NAME@", root, component))
  return () => loader.then((module) => module.unmount(component.parentElement))
}
"""


def mount(
    name: str,
    *,
    key: str,
    header: Mapping[str, Any],
    arrays: Arrays = (),
    height: int | None = None,
    on: Mapping[str, EventHandler] | Sequence[str] = (),
    line: Line | None = None,
) -> Any:
    """Show the component ``assets/js/<name>.js``.

    ``arrays`` is a list, or a mapping when the browser side shall reach them by name as well. ``height`` is
    in pixels; None follows the content. ``on`` names the events that the component may emit: with a mapping
    the handler is called with the event's payload before the page is drawn again; with plain names the
    payload is read from the returned object, ``result.<event>``. An event of ``line`` is asked there first
    and comes here when the line has no answer.
    """
    handlers: Mapping[str, EventHandler] = on if isinstance(on, Mapping) else dict.fromkeys(on, _ignore)
    callbacks: dict[str, Callable[[], None]] = {
        f"on_{event}_change": _callback(key, event, handler) for event, handler in handlers.items()
    }
    return _renderer(name)(
        key=key,
        data=pack(header, arrays, line),
        height=height if height is not None else "content",
        **callbacks,
    )


def pack(
    header: Mapping[str, Any],
    arrays: Arrays = (),
    line: Line | None = None,
    address: Mapping[str, Any] | None = None,
) -> bytes:
    """The message as bytes. ``address``: what the browser shall write into its address, for answers on a
    line, which Streamlit does not see (``{"names": [...], "query": {...}}``; None: nothing).

    Raises TypeError for an array type without a counterpart in the browser.
    """
    named = isinstance(arrays, Mapping)
    items: list[tuple[str | None, np.ndarray]] = (
        list(arrays.items()) if isinstance(arrays, Mapping) else [(None, array) for array in arrays]
    )
    table: list[dict[str, Any]] = []
    chunks: list[bytes] = []
    offset = 0
    for array_name, array in items:
        wire = _to_wire(array)
        raw = wire.tobytes()
        entry: dict[str, Any] = {"type": wire.dtype.name, "shape": list(wire.shape), "offset": offset}
        if named:
            entry["name"] = array_name
        table.append(entry)
        padding = -len(raw) % _ALIGNMENT
        chunks += [raw, b"\0" * padding]
        offset += len(raw) + padding
    message: dict[str, Any] = {"header": header, "arrays": table}
    if line is not None:
        message |= {"line": line.header(), "address": address}
    text = json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    start = 4 + len(text)
    return b"".join([len(text).to_bytes(4, "little"), text, b"\0" * (-start % _ALIGNMENT), *chunks])


def _to_wire(array: np.ndarray) -> np.ndarray:
    wire = _WIRE_TYPES.get(array.dtype.name)
    if wire is None:
        raise TypeError(f"An array of {array.dtype} cannot be sent to the browser.")
    if array.dtype.name == "int64" and array.size and np.abs(array).max() > np.iinfo(np.int32).max:
        raise TypeError("An int64 array with values beyond 32 bits cannot be sent to the browser.")
    return np.ascontiguousarray(array, dtype=np.dtype(wire).newbyteorder("<"))


def _ignore(_payload: Any) -> None:
    """Events asked for by name only are read from the result."""


def _callback(key: str, event: str, handler: EventHandler) -> Callable[[], None]:
    def call() -> None:
        # An event may still be on its way when the component's page has been left, and its state with it.
        payload = getattr(st.session_state.get(key), event, None)
        if payload is not None:
            handler(payload)

    return call


def _renderer(name: str) -> Callable[..., Any]:
    """The mount function of a component, registered with the running server once per name."""
    renderer = _RENDERERS.get(name)
    if renderer is None or get_bidi_component_manager().get(name) is None:
        script = _LOADER.replace("@VERSION@", asset_version()).replace("@NAME@", name)
        renderer = _RENDERERS[name] = st.components.v2.component(name, js=script)
    return renderer


_RENDERERS: dict[str, Callable[..., Any]] = {}
