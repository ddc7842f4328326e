"""Our own playing of the merges ends in the tokens that the library makes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from core.engine.bpe import BpeTable, Replay, Word
from core.engine.other_tokenizers import load_other
from core.engine.text import TextCodec
from tests.unit.token_samples import AWKWARD, texts, tiny_tokenizer


@pytest.fixture(scope="module")
def codecs() -> dict[str, TextCodec]:
    return {"tiny": TextCodec(tiny_tokenizer()), "gpt2": load_other("gpt2"), "mistral": load_other("mistral")}


@pytest.fixture(scope="module")
def tables(codecs) -> dict[str, BpeTable]:
    return {name: BpeTable(codec) for name, codec in codecs.items()}


@pytest.mark.parametrize("name", ["tiny", "gpt2", "mistral"])
@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("text", AWKWARD)
def test_the_replay_of_awkward_texts_equals_the_library(codecs, tables, name, literal, text) -> None:
    assert tables[name].encode(text, literal) == codecs[name].encode(text, literal)


@pytest.mark.parametrize("name", ["tiny", "gpt2", "mistral"])
@settings(max_examples=150, deadline=None)
@given(text=texts())
def test_the_replay_of_any_text_equals_the_library(codecs, tables, name, text) -> None:
    assert tables[name].encode(text, True) == codecs[name].encode(text, True)


def test_the_merges_of_hello_are_rows_of_the_merge_table_and_end_in_the_known_id(tables) -> None:
    table = tables["gpt2"]
    replay = table.replay(Word("Hello"))
    assert replay.token_ids == (15496,)
    assert replay.letters == tuple("Hello")
    assert all(table.ranks[merge.left, merge.right] == merge.rank for merge in replay.merges)
    assert len(replay.merges) == len(replay.letters) - len(replay.symbols)


def test_merges_applied_one_by_one_give_the_symbols(tables) -> None:
    for word in tables["gpt2"].words(" unbelievable tokenization of antidisestablishmentarianism"):
        replay = tables["gpt2"].replay(word)
        assert applied(replay) == list(replay.symbols)


def applied(replay: Replay) -> list[str]:
    """The way the browser plays it: the symbol at ``place`` takes in the next one."""
    symbols = dict(enumerate(replay.letters))
    for merge in replay.merges:
        follower = min(place for place in symbols if place > merge.place)
        assert (symbols[merge.place], symbols[follower]) == (merge.left, merge.right)
        symbols[merge.place] += symbols.pop(follower)
    return list(symbols.values())


def test_an_added_token_is_one_word_that_nothing_is_merged_into(tables) -> None:
    words = tables["tiny"].words("hat<|im_end|>hat")
    assert [word.raw for word in words] == ["hat", "<|im_end|>", "hat"]
    assert tables["tiny"].replay(words[1]).merges == ()


def test_another_kind_of_model_is_refused() -> None:
    from tokenizers import Tokenizer, models

    with pytest.raises(ValueError, match="Unigram"):
        BpeTable(TextCodec(Tokenizer(models.Unigram([("a", -1.0)], unk_id=0))))
