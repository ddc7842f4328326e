"""A text made ready for training: its two parts, a tokenizer trained on the first, and their token ids."""

from __future__ import annotations

from dataclasses import dataclass

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from core.engine.text import TextCodec
from core.errors import UserError

MIN_CHARACTERS = 400
MAX_CHARACTERS = 20_000
TRAIN_SHARE = 0.85
MIN_TRAIN_TOKENS = 64
MIN_HELD_TOKENS = 8
BYTES = 256
"""Every byte is a token of its own, so that any prompt can be cut, seen in training or not."""

_SEARCH = 200  # how far from the exact place the cut may go to fall between two lines or words


@dataclass(frozen=True)
class Merge:
    """One rule that the tokenizer learned: the texts of two tokens become one. Merges come in order."""

    left: bytes
    right: bytes


@dataclass(frozen=True)
class Corpus:
    """The training part and the held-out part of one text.

    Attributes:
        text: the whole text, as given. train_text, held_text: its two parts, in order.
        codec: the tokenizer, trained on the training part alone.
        train_ids, held_ids: the parts as token ids.
        merges: what the tokenizer learned, the first merge first.
    """

    text: str
    train_text: str
    held_text: str
    codec: TextCodec
    train_ids: tuple[int, ...]
    held_ids: tuple[int, ...]
    merges: tuple[Merge, ...]

    @property
    def vocab_size(self) -> int:
        """V: the bytes and the merges."""
        return self.codec.vocab_size


def make_corpus(text: str, vocabulary: int) -> Corpus:
    """Split ``text``, train a byte-level BPE tokenizer of at most ``vocabulary`` tokens, and cut both parts.

    Source of the method: Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units",
    2016; on bytes, as in GPT-2.

    Raises:
        UserError: the text is too short, too long, or has too few tokens.
    """
    text = text.replace("\r\n", "\n").encode("utf-8", "replace").decode("utf-8").strip()
    _check(text)
    cut = _cut(text)
    train_text, held_text = text[:cut], text[cut:]
    codec = TextCodec(_train_tokenizer(train_text, vocabulary))
    train_ids, held_ids = codec.encode(train_text), codec.encode(held_text)
    if len(train_ids) < MIN_TRAIN_TOKENS or len(held_ids) < MIN_HELD_TOKENS:
        raise UserError(
            f"This text repeats itself so much that it has only {len(train_ids)} tokens to train on "
            f"and {len(held_ids)} to test with.",
            "Use a text with more variety, or a smaller vocabulary.",
        )
    return Corpus(text, train_text, held_text, codec, tuple(train_ids), tuple(held_ids), _merges(codec))


def _check(text: str) -> None:
    if len(text) < MIN_CHARACTERS:
        raise UserError(
            f"This text has {len(text):,} characters; training needs at least {MIN_CHARACTERS}.",
            "Paste a longer one, or choose one of the texts offered.",
        )
    if len(text) > MAX_CHARACTERS:
        raise UserError(
            f"This text has {len(text):,} characters; the limit is {MAX_CHARACTERS:,}.",
            "Paste a part of it: a small model learns more from a few thousand characters than it can keep.",
        )


def _cut(text: str) -> int:
    """Where the held-out part begins: near the share, after a line break if one is close, else a space."""
    exact = int(len(text) * TRAIN_SHARE)
    for mark in ("\n", " "):
        at = text.rfind(mark, exact - _SEARCH, exact)
        if at > 0:
            return at + 1
    return exact


def _train_tokenizer(text: str, vocabulary: int) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=max(BYTES, vocabulary),
        min_frequency=2,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(text.splitlines(keepends=True), trainer)
    return tokenizer


def _merges(codec: TextCodec) -> tuple[Merge, ...]:
    data = codec.rule.data
    return tuple(Merge(data(left), data(right)) for left, right in codec.description["model"]["merges"])
