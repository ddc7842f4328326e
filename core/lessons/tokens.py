"""The numbers of the Tokens page: words and their merges, where each token comes from, and comparisons."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from core.engine.bpe import BpeTable, Replay, Word
from core.engine.text import Piece, TextCodec

SAMPLES_FILE = Path(__file__).resolve().parents[2] / "assets" / "samples" / "languages.toml"

Origin = Literal["tokenizer", "template", "prompt", "generated"]
Measure = Literal["tokens", "per_word", "per_character"]
MEASURES: tuple[Measure, ...] = ("tokens", "per_word", "per_character")


@dataclass(frozen=True)
class WordStory:
    """A pre-token of the prompt and how it became tokens.

    ``letters``: the bytes of each symbol that merging starts from; ``start``: position of the first token.
    """

    word: Word
    replay: Replay
    letters: tuple[bytes, ...]
    start: int

    @property
    def data(self) -> bytes:
        return b"".join(self.letters)


def word_stories(codec: TextCodec, table: BpeTable, prompt_ids: Sequence[int]) -> list[WordStory]:
    """Every pre-token behind the prompt's ids, in order. Their tokens joined are ``prompt_ids``."""
    stories: list[WordStory] = []
    start = 0
    for word in table.words_of(prompt_ids):
        replay = table.replay(word)
        if word.added is not None:
            letters: tuple[bytes, ...] = (word.raw.encode(),)
        else:
            letters = tuple(codec.rule.data(letter) for letter in replay.letters)
        stories.append(WordStory(word, replay, letters, start))
        start += len(replay.token_ids)
    return stories


def replay_errors(stories: Iterable[WordStory], prompt_ids: Sequence[int]) -> int:
    """Positions at which the merges that we played and the tokenizer's own tokens differ."""
    ours = [token_id for story in stories for token_id in story.replay.token_ids]
    differing = sum(a != b for a, b in zip(ours, prompt_ids, strict=False))
    return differing + abs(len(ours) - len(prompt_ids))


def origins(codec: TextCodec, text: str, ids: Sequence[int], prompt_length: int, chat: bool) -> list[Origin]:
    """Who put each token there: the tokenizer, the chat template, the learner's text, or the model."""
    generated: list[Origin] = ["generated"] * (len(ids) - prompt_length)
    if not chat:
        before, after = codec.added_at_ends
        own = range(before, prompt_length - after)
        typed: list[Origin] = ["prompt" if place in own else "tokenizer" for place in range(prompt_length)]
        return typed + generated
    first, last = codec.message_span(text)
    found: list[Origin] = [
        "prompt" if piece.start < last and piece.end > first else "template"
        for piece in codec.pieces(ids[:prompt_length])
    ]
    return found + generated


@dataclass(frozen=True)
class Count:
    """One text under one tokenizer."""

    name: str
    title: str
    vocab_size: int
    pieces: tuple[Piece, ...]
    characters: int

    @property
    def tokens(self) -> int:
        return len(self.pieces)

    @property
    def characters_per_token(self) -> float:
        return self.characters / self.tokens if self.tokens else 0.0


def count(name: str, title: str, codec: TextCodec, text: str) -> Count:
    """``text`` under a tokenizer, read as plain text and without the tokens that the tokenizer adds."""
    ids = codec.encode(text, specials_as_text=True)
    before, after = codec.added_at_ends
    ids = ids[before : len(ids) - after]
    return Count(name, title, codec.vocab_size, tuple(codec.pieces(ids)), len(text))


@dataclass(frozen=True)
class Sample:
    """A sentence in one language. ``words``: counted by spaces, or by hand where there are none."""

    name: str
    text: str
    words: int


@cache
def samples() -> tuple[Sample, ...]:
    """The sentences of ``assets/samples/languages.toml``."""
    with SAMPLES_FILE.open("rb") as file:
        entries = tomllib.load(file)["sample"]
    return tuple(Sample(e["name"], e["text"], e.get("words", len(e["text"].split()))) for e in entries)


def language_table(codecs: Mapping[str, TextCodec], measure: Measure) -> np.ndarray:
    """(languages, tokenizers): tokens of each sample sentence, or tokens per word or per character of it."""
    rows = [[count("", "", codec, s.text).tokens for codec in codecs.values()] for s in samples()]
    table = np.array(rows, dtype=np.float32)
    divisors = {
        "tokens": [1] * len(samples()),
        "per_word": [sample.words for sample in samples()],
        "per_character": [len(sample.text) for sample in samples()],
    }
    return table / np.array(divisors[measure], dtype=np.float32)[:, None]
