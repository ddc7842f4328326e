"""Byte pair encoding played step by step, from the tokenizer's own merge table.

The algorithm: start from single letters; of all neighbouring pairs that the table holds, join the one with
the lowest rank (learned first), leftmost first; repeat until no pair is in the table. Sennrich, Haddow and
Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL 2016; over bytes in GPT-2.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.engine.text import TextCodec


@dataclass(frozen=True)
class Merge:
    """One merge: the pair ``left`` + ``right`` whose first letter is letter number ``place`` of the word.

    ``rank``: its row in the merge table; the smaller, the earlier it was learned.
    """

    rank: int
    left: str
    right: str
    place: int


@dataclass(frozen=True)
class Replay:
    """A word from letters to tokens. ``whole``: it is in the vocabulary and was taken without merging."""

    letters: tuple[str, ...]
    merges: tuple[Merge, ...]
    symbols: tuple[str, ...]
    token_ids: tuple[int, ...]
    whole: bool = False


@dataclass(frozen=True)
class Word:
    """A pre-token, ``raw`` in the vocabulary's letters; ``added``: the id, when it is an added token."""

    raw: str
    added: int | None = None


class BpeTable:
    """The vocabulary and merge table of a tokenizer. Raises ValueError when its model is not BPE."""

    def __init__(self, codec: TextCodec) -> None:
        model: Mapping[str, Any] = codec.description["model"]
        if model["type"] != "BPE":
            raise ValueError(f"This tokenizer's model is {model['type']}, not BPE.")
        self._codec = codec
        self.vocab: Mapping[str, int] = model["vocab"]
        self.ranks: dict[tuple[str, str], int] = {}
        for rank, (left, right) in enumerate(model["merges"]):
            self.ranks[left, right] = rank  # a pair listed twice: the library keeps the later row
        self._whole_words = bool(model.get("ignore_merges"))
        self._byte_fallback = bool(model.get("byte_fallback"))
        self._unknown: str | None = model.get("unk_token")

    def words(self, text: str, specials_as_text: bool = False) -> list[Word]:
        """The pre-tokens of ``text``, by the tokenizer's own normalizer and pre-tokenizer."""
        found: list[Word] = []
        place = 0
        for start, end, token_id in self._codec.added_in(text, specials_as_text):
            found += self._split(text[place:start])
            found.append(Word(text[start:end], token_id))
            place = end
        return found + self._split(text[place:])

    def words_of(self, ids: Sequence[int]) -> list[Word]:
        """The pre-tokens behind ids that ``encode`` or ``chat`` made; added tokens stand alone."""
        found: list[Word] = []
        text = ""
        for piece in self._codec.pieces(ids):
            if not self._codec.is_added(piece.token_id):
                text += piece.text
                continue
            found += [*self._split(text), Word(piece.text, piece.token_id)]
            text = ""
        return found + self._split(text)

    def replay(self, word: Word) -> Replay:
        """All merges of one word, in order."""
        if word.added is not None:
            return Replay((word.raw,), (), (word.raw,), (word.added,), whole=True)
        letters = self._letters(word.raw)
        if self._whole_words and word.raw in self.vocab:
            return Replay(letters, (), (word.raw,), (self.vocab[word.raw],), whole=True)
        merges, symbols = self._merge_all(letters)
        return Replay(letters, tuple(merges), tuple(symbols), tuple(self.vocab[symbol] for symbol in symbols))

    def encode(self, text: str, specials_as_text: bool = False) -> list[int]:
        """The ids of ``text`` by replay; equal to the library's, less the tokens that it adds at the ends."""
        words = self.words(text, specials_as_text)
        return [token_id for word in words for token_id in self.replay(word).token_ids]

    def _split(self, text: str) -> list[Word]:
        if not text:
            return []
        backend = self._codec.backend
        if backend.normalizer is not None:
            text = backend.normalizer.normalize_str(text)
        if backend.pre_tokenizer is None:
            return [Word(text)]
        return [Word(raw) for raw, _ in backend.pre_tokenizer.pre_tokenize_str(text)]

    def _letters(self, raw: str) -> tuple[str, ...]:
        """Single letters, each a vocabulary entry: unknown ones as byte tokens or as the unknown token."""
        letters: list[str] = []
        for letter in raw:
            if letter in self.vocab:
                letters.append(letter)
                continue
            codes = [f"<0x{byte:02X}>" for byte in letter.encode()]
            if self._byte_fallback and all(code in self.vocab for code in codes):
                letters += codes
            elif self._unknown is not None:
                letters.append(self._unknown)
        return tuple(letters)

    def _merge_all(self, letters: tuple[str, ...]) -> tuple[list[Merge], list[str]]:
        """A heap of candidate pairs over a linked list of symbols: O(n log n) for a word of n letters."""
        symbols: list[str] = list(letters)
        after = [*range(1, len(letters)), -1] if letters else []
        before = list(range(-1, len(letters) - 1))
        heap: list[tuple[int, int, str, str]] = []

        def offer(place: int) -> None:
            if place >= 0 and after[place] >= 0:
                pair = symbols[place], symbols[after[place]]
                rank = self.ranks.get(pair)
                if rank is not None:
                    heapq.heappush(heap, (rank, place, *pair))

        for place in range(len(letters)):
            offer(place)
        merges: list[Merge] = []
        while heap:
            rank, place, left, right = heapq.heappop(heap)
            follower = after[place]
            if follower < 0 or (symbols[place], symbols[follower]) != (left, right):
                continue  # one of the two has been merged into something else since
            merges.append(Merge(rank, left, right, place))
            symbols[place], symbols[follower] = left + right, ""
            after[place] = after[follower]
            if after[place] >= 0:
                before[after[place]] = place
            after[follower] = -1
            offer(place)
            offer(before[place])
        return merges, [symbol for symbol in symbols if symbol]
