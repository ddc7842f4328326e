"""Which bytes a token stands for, read from the tokenizer's own decoder, and how bytes become characters.

Two families cover the causal language models: byte-level vocabularies (GPT-2, SmolLM, Llama 3, Tekken), in
which 256 printable characters stand for the 256 bytes, and SentencePiece-style ones (Llama 2, Gemma,
Mistral), in which ``▁`` stands for a space and ``<0xF0>`` for a byte that no other token covers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
REPLACEMENT = "\ufffd"


@cache
def byte_alphabet() -> dict[str, int]:
    """The byte-level alphabet of GPT-2: the character that stands for each of the 256 bytes, and its byte.

    Printable Latin-1 characters stand for themselves, the others for ``chr(256)``, ``chr(257)``, … in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(hidden)}


@cache
def byte_letters() -> tuple[str, ...]:
    """The inverse of ``byte_alphabet``: the character for byte 0, 1, … 255."""
    letters = {byte: letter for letter, byte in byte_alphabet().items()}
    return tuple(letters[byte] for byte in range(256))


@dataclass(frozen=True)
class ByteRule:
    """How vocabulary strings become bytes.

    ``byte_level``: the GPT-2 alphabet. ``space``: the character that stands for a space, "" when none does.
    ``byte_tokens``: ``<0xF0>`` is a byte. ``strip``: spaces dropped at the start of the text, because the
    tokenizer put them there.
    """

    byte_level: bool = False
    space: str = ""
    byte_tokens: bool = False
    strip: int = 0

    def data(self, raw: str) -> bytes:
        """The bytes of one ordinary vocabulary string."""
        if self.byte_level:
            alphabet = byte_alphabet()
            if all(letter in alphabet for letter in raw):
                return bytes(alphabet[letter] for letter in raw)
            return raw.encode()
        if self.is_byte(raw):
            return bytes([int(raw[3:5], 16)])
        return (raw.replace(self.space, " ") if self.space else raw).encode()

    def is_byte(self, raw: str) -> bool:
        """Whether ``raw`` is a token for a single byte of a SentencePiece-style vocabulary."""
        return self.byte_tokens and _BYTE_TOKEN.fullmatch(raw) is not None


def byte_rule(decoder: Mapping[str, Any] | None) -> ByteRule:
    """The rule that the ``decoder`` part of a ``tokenizer.json`` describes."""
    steps = _steps(decoder)
    kinds = {step["type"] for step in steps}
    space, strip = "", 0
    for step in steps:
        if step["type"] == "Replace" and step.get("content") == " ":
            space = step["pattern"].get("String", "")
        elif step["type"] == "Strip" and step.get("content") == " ":
            strip = int(step.get("start", 0))
        elif step["type"] == "Metaspace":
            space = step.get("replacement", "▁")
            strip = 0 if step.get("prepend_scheme", "always") == "never" else 1
    return ByteRule("ByteLevel" in kinds, space, "ByteFallback" in kinds, strip)


def _steps(decoder: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if not decoder:
        return []
    return list(decoder["decoders"]) if decoder["type"] == "Sequence" else [decoder]


@dataclass(frozen=True)
class Span:
    """A character of decoded bytes: bytes [start, end), its text, and whether they were valid UTF-8."""

    start: int
    end: int
    text: str
    valid: bool


def characters(data: bytes) -> list[Span]:
    """Every character of ``data`` with its byte range; invalid bytes become U+FFFD, as decoders agree to.

    The texts joined equal ``data.decode("utf-8", "replace")``.
    """
    spans: list[Span] = []
    position = 0
    while position < len(data):
        try:
            good, bad = data[position:].decode(), None
        except UnicodeDecodeError as error:
            good, bad = data[position : position + error.start].decode(), (error.start, error.end)
        start = position
        for letter in good:
            end = start + len(letter.encode())
            spans.append(Span(start, end, letter, True))
            start = end
        if bad is None:
            break
        spans.append(Span(position + bad[0], position + bad[1], REPLACEMENT, False))
        position += bad[1]
    return spans


def byte_run_characters(data: bytes) -> list[Span]:
    """Characters of a run of byte tokens: all valid, or else one U+FFFD a byte, as ``tokenizers`` has it."""
    spans = characters(data)
    if all(span.valid for span in spans):
        return spans
    return [Span(place, place + 1, REPLACEMENT, False) for place in range(len(data))]
