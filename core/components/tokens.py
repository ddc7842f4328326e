"""The Tokens page in the browser: words and their merges, tokens with bytes and offsets, a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.components.base import EventHandler, mount
from core.engine.text import Piece
from core.lessons.tokens import Count, Origin, WordStory


def merge_player(
    stories: Sequence[WordStory],
    *,
    position: int,
    table_rows: int,
    labels: Mapping[str, str],
    on_choose: EventHandler,
) -> Any:
    """The prompt's words; one of them opened, its merges played. ``on_choose`` gets ``{"position": int}``."""
    header = {
        "view": "words",
        "words": [_word(story) for story in stories],
        "position": position,
        "table_rows": f"{table_rows:,}",
        "labels": dict(labels),
    }
    return mount("tokens", key="nt_merge_player", header=header, on={"choose": on_choose})


def token_list(
    pieces: Sequence[Piece],
    origins: Sequence[Origin],
    *,
    position: int,
    labels: Mapping[str, str],
    on_choose: EventHandler,
) -> Any:
    """All tokens as chips, and a table of ids, bytes and offsets."""
    header = {
        "view": "list",
        "tokens": [token(piece) | {"origin": origin} for piece, origin in zip(pieces, origins, strict=True)],
        "position": position,
        "labels": dict(labels),
    }
    return mount("tokens", key="nt_token_list", header=header, on={"choose": on_choose})


def tokenizer_rows(counts: Sequence[Count], *, labels: Mapping[str, str]) -> Any:
    """The same text under several tokenizers, a row each."""
    header = {
        "view": "compare",
        "rows": [
            {
                "title": row.title,
                "vocabulary": f"{row.vocab_size:,}",
                "count": row.tokens,
                "per_token": f"{row.characters_per_token:.2f}",
                "tokens": [token(piece) for piece in row.pieces],
            }
            for row in counts
        ],
        "labels": dict(labels),
    }
    return mount("tokens", key="nt_tokenizer_rows", header=header)


def token(piece: Piece) -> dict[str, Any]:
    """A token as the browser gets it: bytes as a list of numbers."""
    return {
        "id": piece.token_id,
        "raw": piece.raw,
        "text": piece.text,
        "bytes": list(piece.data),
        "special": piece.special,
        "part": piece.part,
        "parts": piece.parts,
        "start": piece.start,
        "end": piece.end,
        "valid": piece.valid,
    }


def _word(story: WordStory) -> dict[str, Any]:
    return {
        "letters": [list(letter) for letter in story.letters],
        "merges": [[merge.rank, merge.place] for merge in story.replay.merges],
        "ids": list(story.replay.token_ids),
        "start": story.start,
        "added": story.word.added is not None,
        "whole": story.replay.whole,
    }
