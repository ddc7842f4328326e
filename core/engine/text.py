"""Text to token ids and back, with what each token is: bytes, characters, offsets, control token or not.

Only the ``tokenizers`` library is needed; the files are those of a Hugging Face model folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer

from core.engine.chat_template import ChatTemplate
from core.engine.token_bytes import ByteRule, Span, byte_rule, byte_run_characters, characters
from core.errors import UserError

_NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token")

_STAND_IN = "\ue0a1"  # a private-use character, to find where a template puts the message


@dataclass(frozen=True)
class Piece:
    """One token of a text.

    ``raw``: the vocabulary's own string (``Ġthe``, ``▁the``, ``<0xF0>``), "" for an id without one.
    ``text``: what the token adds to the text; the texts of all pieces joined are the decoded text.
    ``data``: its bytes. ``special``: a control token. A character can be spread over several tokens: they are
    then ``part`` 1, 2, … of ``parts``, the first carries the text and the others carry "".
    ``start``, ``end``: characters [start, end) of the decoded text, the same for all parts.
    ``valid``: False when the bytes are no UTF-8; ``text`` then holds U+FFFD.
    """

    token_id: int
    raw: str
    text: str
    data: bytes
    special: bool
    part: int = 1
    parts: int = 1
    start: int = 0
    end: int = 0
    valid: bool = True


@dataclass(frozen=True)
class RoundTrip:
    """A text sent through the tokenizer and back: ``exact`` when nothing was lost."""

    text: str
    back: str

    @property
    def exact(self) -> bool:
        return self.text == self.back

    @property
    def errors(self) -> int:
        """How many characters differ, counted place by place."""
        differing = sum(a != b for a, b in zip(self.text, self.back, strict=False))
        return differing + abs(len(self.text) - len(self.back))


class TextCodec:
    """The tokenizer of a model. Safe to use from several threads."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        template: ChatTemplate | None = None,
        eos_ids: Iterable[int] = (),
    ) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.backend = tokenizer
        self.eos_ids: tuple[int, ...] = tuple(eos_ids)
        self._template = template
        self._added: dict[int, AddedToken] = tokenizer.get_added_tokens_decoder()
        self.rule: ByteRule = byte_rule(_decoder(tokenizer))

    @classmethod
    def from_folder(cls, folder: str | Path) -> TextCodec:
        """Read ``tokenizer.json`` and, where they exist, the chat template and the end-of-text ids.

        Raises UserError when the folder holds no tokenizer that can be read.
        """
        folder = Path(folder)
        tokenizer = _read_tokenizer(folder)
        config = _read_json(folder / "tokenizer_config.json")
        specials = {
            name: _content(config[name])
            for name in _NAMED_TOKENS
            if config.get(name) is not None
        }
        return cls(
            tokenizer,
            template=ChatTemplate.from_folder(folder, config, specials),
            eos_ids=_eos_ids(folder, tokenizer, specials),
        )

    @classmethod
    def from_description(cls, description: str) -> TextCodec:
        """From the text of a ``tokenizer.json``."""
        return cls(Tokenizer.from_str(description))

    # -- encode and decode ---------------------------------------------------------------------------

    def encode(self, text: str, specials_as_text: bool = False) -> list[int]:
        """The token ids of ``text``, with the tokens that the tokenizer itself adds (Gemma's ``<bos>``).

        Control tokens written in the text (``<|im_end|>``) become control tokens or, with
        ``specials_as_text``, ordinary text.
        """
        return list(self._backend(specials_as_text).encode(_encodable(text)).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``, control tokens included. Raises ValueError for a negative id."""
        return "".join(piece.text for piece in self.pieces(ids))

    def round_trip(self, text: str, specials_as_text: bool = False) -> RoundTrip:
        """``text`` encoded and decoded, without the tokens that the tokenizer added at its ends."""
        text = _encodable(text)
        ids = self.encode(text, specials_as_text)
        before, after = self.added_at_ends
        pieces = self.pieces(ids)
        return RoundTrip(text, "".join(piece.text for piece in pieces[before : len(ids) - after]))

    @cached_property
    def added_at_ends(self) -> tuple[int, int]:
        """How many tokens ``encode`` puts before and after every text by itself."""
        with_added = self.backend.encode("a")
        mask = list(with_added.special_tokens_mask)
        before = next((n for n, added in enumerate(mask) if not added), len(mask))
        after = next((n for n, added in enumerate(reversed(mask)) if not added), 0)
        return before, after

    # -- tokens --------------------------------------------------------------------------------------

    @property
    def vocab_size(self) -> int:
        """Number of tokens that the tokenizer has a string for (a model's table may have more rows)."""
        return self.backend.get_vocab_size(with_added_tokens=True)

    def piece(self, token_id: int) -> Piece:
        """One token by itself."""
        return self._one(token_id)

    def pieces(self, ids: Sequence[int]) -> list[Piece]:
        """What each of ``ids`` is in the text that they make. Raises ValueError for a negative id."""
        found: list[Piece] = []
        for run in self._runs([int(token) for token in ids]):
            found += self._run_pieces(run, found)
        return found

    def is_special(self, token_id: int) -> bool:
        """Whether the id is a control token."""
        token = self._added.get(token_id)
        return token is not None and token.special

    def is_added(self, token_id: int) -> bool:
        """Whether the id was added beside the vocabulary proper; control tokens are, and a few others."""
        return token_id in self._added

    # -- chat ----------------------------------------------------------------------------------------

    @property
    def has_chat_template(self) -> bool:
        return self._template is not None

    def chat(self, text: str, system: str | None = None, specials_as_text: bool = False) -> list[int]:
        """The ids of ``text`` as a user's message in the model's chat template, ready for the answer.

        With ``specials_as_text`` control tokens in the message stay text while the template's own keep their
        meaning. Raises UserError when the model has no template or refuses the messages.
        """
        rendered = self.chat_text(text, system)
        if not specials_as_text:
            return list(self.backend.encode(rendered, add_special_tokens=False).ids)
        first, last = self.message_span(text, system)
        ids: list[int] = []
        start = 0
        for begin, end, token_id in self.added_in(rendered):
            if self.is_special(token_id) and not first <= begin < last:
                ids += [*self._plain_ids(rendered[start:begin]), token_id]
                start = end
        return ids + self._plain_ids(rendered[start:])

    def chat_text(self, text: str, system: str | None = None) -> str:
        """The chat template filled in, as text, before it is cut into tokens."""
        if self._template is None:
            raise UserError("This model has no chat template.", "Send the text without it.")
        messages = [{"role": "user", "content": _encodable(text)}]
        if system is not None:
            messages.insert(0, {"role": "system", "content": _encodable(system)})
        return self._template.render(messages)

    def message_span(self, text: str, system: str | None = None) -> tuple[int, int]:
        """Characters [start, end) of ``chat_text`` that are the message itself; some templates trim it."""
        text, rendered = _encodable(text), self.chat_text(text, system)
        start = max(0, self.chat_text(_STAND_IN, system).find(_STAND_IN))
        shown = text if rendered.startswith(text, start) else text.strip()
        return start, start + len(shown)

    def added_in(self, text: str, specials_as_text: bool = False) -> list[tuple[int, int, int]]:
        """Added tokens written in a text, (start, end, id) in order: they are matched before all else."""
        encoding = self._backend(specials_as_text).encode(_encodable(text), add_special_tokens=False)
        return [
            (start, end, token_id)
            for token_id, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
            if token_id in self._added and not (specials_as_text and self.is_special(token_id))
        ]

    def _plain_ids(self, text: str) -> list[int]:
        return list(self._backend(True).encode(text, add_special_tokens=False).ids) if text else []

    # -- inside --------------------------------------------------------------------------------------

    @cached_property
    def description(self) -> dict[str, Any]:
        """The tokenizer as its ``tokenizer.json`` describes it: normalizer, pre-tokenizer, model, decoder."""
        return json.loads(self.backend.to_str())

    @cached_property
    def _literal(self) -> Tokenizer:
        """A second copy that reads control tokens as text: the switch is a property of the whole object."""
        copy = Tokenizer.from_str(self.backend.to_str())
        copy.encode_special_tokens = True
        return copy

    def _backend(self, specials_as_text: bool) -> Tokenizer:
        return self._literal if specials_as_text else self.backend

    def _one(self, token_id: int) -> Piece:
        if token_id < 0:
            raise ValueError(f"{token_id} is no token id")
        found = self._cache.get(token_id)
        if found is None:
            raw = self.backend.id_to_token(token_id) or ""
            literal = token_id in self._added and (self.rule.byte_level or self.is_special(token_id))
            data = raw.encode() if literal else self.rule.data(raw)
            spans = characters(data)
            text = "".join(span.text for span in spans)
            valid = all(span.valid for span in spans)
            found = Piece(token_id, raw, text, data, self.is_special(token_id), 1, 1, 0, len(text), valid)
            self._cache[token_id] = found
        return found

    @cached_property
    def _cache(self) -> dict[int, Piece]:
        return {}

    def _runs(self, ids: list[int]) -> list[list[Piece]]:
        """Neighbours that may share a character; added tokens never do."""
        runs: list[list[Piece]] = []
        previous = ""
        for token_id in ids:
            piece = self._one(token_id)
            kind = self._kind(piece)
            if kind == previous and kind in ("bytes", "byte tokens"):
                runs[-1].append(piece)
            else:
                runs.append([piece])
            previous = kind
        return runs

    def _kind(self, piece: Piece) -> str:
        if piece.token_id in self._added:
            return "added"
        if self.rule.byte_level:
            return "bytes"
        return "byte tokens" if self.rule.is_byte(piece.raw) else "text"

    def _run_pieces(self, run: list[Piece], before: list[Piece]) -> list[Piece]:
        offset = before[-1].end if before else 0
        data = b"".join(piece.data for piece in run)
        spans = byte_run_characters(data) if self.rule.byte_tokens else characters(data)
        groups = _grouped(run, spans, offset)
        if self.rule.strip and all(piece.special for piece in before):
            groups = _stripped(groups, self.rule.strip)
        return groups


def _grouped(run: list[Piece], spans: list[Span], offset: int) -> list[Piece]:
    """Tokens that share a character become parts of one group, which shows its text on its first token."""
    edges = {span.end for span in spans} | {0}
    groups: list[list[Piece]] = [[]]
    place = 0
    for piece in run:
        groups[-1].append(piece)
        place += len(piece.data)
        if place in edges:
            groups.append([])
    found: list[Piece] = []
    last_byte, next_span = 0, 0
    for group in (group for group in groups if group):
        last_byte += sum(len(piece.data) for piece in group)
        first_span = next_span
        while next_span < len(spans) and spans[next_span].end <= last_byte:
            next_span += 1
        inside = spans[first_span:next_span]
        text, valid = "".join(span.text for span in inside), all(span.valid for span in inside)
        shared = Piece(0, "", text, b"", False, 1, len(group), offset, offset + len(text), valid)
        found += [_as_part(piece, n, shared) for n, piece in enumerate(group)]
        offset += len(text)
    return found


def _as_part(piece: Piece, number: int, group: Piece) -> Piece:
    """``piece`` as part ``number`` (from 0) of its group; the text is on the first part."""
    return replace(
        piece,
        text="" if number else group.text,
        part=number + 1,
        parts=group.parts,
        start=group.start,
        end=group.end,
        valid=group.valid,
    )


def _stripped(run: list[Piece], count: int) -> list[Piece]:
    """Without the spaces, ``count`` at most, that the tokenizer itself put in front of the text."""
    first = run[0].text
    shorter = min(count, len(first) - len(first.lstrip(" ")))
    if run[0].special or not shorter:
        return run
    return [
        replace(
            piece,
            text=piece.text if n else first[shorter:],
            start=max(run[0].start, piece.start - shorter),
            end=piece.end - shorter,
        )
        for n, piece in enumerate(run)
    ]


def _decoder(tokenizer: Tokenizer) -> dict[str, Any] | None:
    """The decoder's part of ``tokenizer.json``, without writing out the whole vocabulary."""
    return None if tokenizer.decoder is None else json.loads(tokenizer.decoder.__getstate__())


def _encodable(text: str) -> str:
    """Without lone surrogates, which no UTF-8 text can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_tokenizer(folder: Path) -> Tokenizer:
    file = folder / "tokenizer.json"
    try:
        if file.is_file():
            return Tokenizer.from_file(str(file))
        from transformers import AutoTokenizer  # older folders hold only SentencePiece's own file

        return AutoTokenizer.from_pretrained(folder, local_files_only=True).backend_tokenizer
    except Exception as error:  # the library raises bare Exception for a damaged file
        raise UserError(
            f"The tokenizer in {folder.name} could not be read ({type(error).__name__}).",
            "The folder needs a tokenizer.json that is complete; fetch the model again.",
        ) from error


def _read_json(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _content(token: Any) -> str:
    return token["content"] if isinstance(token, dict) else str(token)


def _eos_ids(folder: Path, tokenizer: Tokenizer, specials: dict[str, str]) -> tuple[int, ...]:
    for name in ("generation_config.json", "config.json"):
        value = _read_json(folder / name).get("eos_token_id")
        if value is not None:
            return tuple(value) if isinstance(value, list) else (int(value),)
    found = tokenizer.token_to_id(specials["eos_token"]) if "eos_token" in specials else None
    return () if found is None else (found,)
