"""The numbers of the Tokens page against plain counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from core.charts.tokens import language_heatmap
from core.components.tokens import token
from core.engine.bpe import BpeTable
from core.engine.chat_template import ChatTemplate
from core.engine.other_tokenizers import load_other
from core.engine.text import TextCodec
from core.lessons.tokens import MEASURES, count, language_table, origins, replay_errors, samples, word_stories
from tests.unit.token_samples import AWKWARD, TEMPLATE, tiny_tokenizer


@pytest.fixture(scope="module")
def codec() -> TextCodec:
    return TextCodec(tiny_tokenizer(), template=ChatTemplate(TEMPLATE, {}))


@pytest.mark.parametrize("text", [text for text in AWKWARD if text])
def test_the_words_of_a_chat_prompt_lead_to_its_tokens(codec: TextCodec, text: str) -> None:
    ids = codec.chat(text, specials_as_text=True)
    stories = word_stories(codec, BpeTable(codec), ids)
    assert replay_errors(stories, ids) == 0
    assert b"".join(story.data for story in stories).decode() == codec.chat_text(text)
    assert [story.start for story in stories][-1] == len(ids) - len(stories[-1].replay.token_ids)


def test_replay_errors_count_the_positions_that_differ(codec: TextCodec) -> None:
    ids = codec.encode("the cat sat")
    stories = word_stories(codec, BpeTable(codec), ids)
    assert replay_errors(stories, [*ids[:-1], ids[-1] + 1]) == 1
    assert replay_errors(stories, [*ids, 5]) == 1


def test_each_token_says_who_put_it_there(codec: TextCodec) -> None:
    ids = codec.chat("the cat")
    found = origins(codec, "the cat", [*ids, 40], len(ids), chat=True)
    typed = [token_id for token_id, origin in zip(ids, found, strict=False) if origin == "prompt"]
    assert codec.decode(typed) == "the cat"
    assert found[-1] == "generated" and found[0] == "template"
    begun = TextCodec(tiny_tokenizer(begin="<|im_start|>"))
    ids = begun.encode("cat")
    assert origins(begun, "cat", ids, len(ids), chat=False) == ["tokenizer", *["prompt"] * (len(ids) - 1)]


def test_known_ids_of_published_tokenizers() -> None:
    greeting = "Hello, how was your day?"
    gpt2 = count("gpt2", "GPT-2", load_other("gpt2"), greeting)
    assert [piece.token_id for piece in gpt2.pieces][:3] == [15496, 11, 703]
    assert gpt2.tokens == 7 and gpt2.characters_per_token == len(greeting) / 7


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [  # as sentencepiece 0.2 and bpe-openai 0.1.4 give them
        ("mistral", "a  b", [264, 28705, 287]),
        ("mistral", "   trailing   ", [2287, 27166, 2287]),
        ("mistral", "x" + " " * 33, [1318, 359, 359, 28705]),
        ("cl100k", "naïve 12345 👩", [3458, 38672, 588, 220, 4513, 1774, 62904, 102]),
    ],
)
def test_ids_equal_those_of_the_original_implementations(name: str, text: str, ids: list[int]) -> None:
    assert load_other(name).encode(text) == ids


def test_language_numbers_are_the_counts_divided(codec: TextCodec) -> None:
    codecs = {"tiny": codec, "gpt2": load_other("gpt2")}
    tokens, per_word, per_character = (language_table(codecs, measure) for measure in MEASURES)
    for row, sample in enumerate(samples()):
        assert tokens[row, 1] == len(codecs["gpt2"].encode(sample.text))
        assert per_word[row, 1] == pytest.approx(tokens[row, 1] / sample.words)
        assert per_character[row, 1] == pytest.approx(tokens[row, 1] / len(sample.text))
    english = [sample.name for sample in samples()].index("English")
    assert tokens[english, 1] == tokens[:, 1].min()


def test_the_heatmap_holds_the_table_with_numeric_axes() -> None:
    table = np.array([[1, 2], [3, 40]], dtype=np.float32)
    figure = language_heatmap(table, ["same", "same"], ["a (x)", "b<c"], "%{z}", "light")
    assert np.array_equal(figure.data[0].z, table)
    assert list(figure.layout.yaxis.tickvals) == [0, 1]
    assert figure.layout.xaxis.ticktext[1] == "b&lt;c"
    assert [note.text for note in figure.layout.annotations] == ["1", "2", "3", "40"]


def test_a_token_reaches_the_browser_with_its_bytes(codec: TextCodec) -> None:
    pieces = codec.pieces(codec.encode("👩"))
    sent = [token(piece) for piece in pieces]
    assert bytes(byte for item in sent for byte in item["bytes"]).decode() == "👩"
    assert [item["text"] for item in sent] == ["👩", *[""] * (len(sent) - 1)]


def test_every_table_has_its_source_and_licence() -> None:
    from core.engine.other_tokenizers import FOLDER, other_tokenizers

    assert len(other_tokenizers()) >= 3
    notes = (FOLDER / "README.md").read_text(encoding="utf-8")
    for info in other_tokenizers():
        assert Path(FOLDER / f"{info.name}.xz").is_file()
        assert info.source and info.licence in {"MIT", "Apache-2.0"} and f"{info.name}.xz" in notes
