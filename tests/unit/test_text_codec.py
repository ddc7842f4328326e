"""The text codec: every text comes back as it was, and every token says what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.engine.other_tokenizers import load_other
from core.engine.text import TextCodec
from core.errors import UserError
from tests.unit.token_samples import AWKWARD, TEMPLATE, texts, tiny_tokenizer

KINDS = ("byte level", "byte fallback")


@pytest.fixture(scope="module")
def codecs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TextCodec]:
    folder = tmp_path_factory.mktemp("tokenizer")
    tiny_tokenizer().save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>"}), encoding="utf-8")
    (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    return {"byte level": TextCodec.from_folder(folder), "byte fallback": load_other("mistral")}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", AWKWARD)
@pytest.mark.parametrize("literal", [False, True])
def test_awkward_texts_come_back_as_they_were(codecs, kind: str, text: str, literal: bool) -> None:
    assert codecs[kind].round_trip(text, specials_as_text=literal).back == text


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(text=texts())
def test_any_text_comes_back_as_it_was(codecs, kind: str, text: str) -> None:
    if kind == "byte fallback":  # SentencePiece cannot tell its own space mark from a typed one
        text = text.replace("▁", "_")
    codec = codecs[kind]
    ids = codec.encode(text, specials_as_text=True)
    pieces = codec.pieces(ids)
    assert "".join(piece.text for piece in pieces) == codec.decode(ids) == text
    for piece in pieces:
        assert piece.text == (text[piece.start : piece.end] if piece.part == 1 else "")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("kind", KINDS)
def test_any_ids_are_shown_and_decode_as_the_library_decodes_them(codecs, kind: str, data) -> None:
    codec = codecs[kind]
    ids = data.draw(st.lists(st.integers(0, codec.vocab_size - 1), max_size=30))
    pieces = codec.pieces(ids)
    assert [piece.token_id for piece in pieces] == ids
    library = codec.backend.decode(ids, skip_special_tokens=False)
    if kind == "byte fallback":  # the library strips before a control token as well, we before the text
        assert codec.decode(ids).replace(" ", "") == library.replace(" ", "")
    else:
        assert codec.decode(ids) == library


def test_a_character_split_over_tokens_is_shown_once_with_its_parts(codecs) -> None:
    codec = codecs["byte level"]
    pieces = codec.pieces(codec.encode("a👩b"))
    parts = [piece for piece in pieces if piece.parts > 1]
    assert [piece.text for piece in parts] == ["👩", "", "", ""]
    assert [(piece.part, piece.parts) for piece in parts] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert {(piece.start, piece.end) for piece in parts} == {(1, 2)}
    assert b"".join(piece.data for piece in parts) == "👩".encode()


def test_bytes_that_are_no_character_are_marked_and_do_not_raise(codecs) -> None:
    codec = codecs["byte level"]
    first, *_ = codec.encode("👩")
    (alone,) = codec.pieces([first])
    assert not alone.valid and alone.data == "👩".encode()[:1] and alone.text == "\ufffd"


def test_control_tokens_written_in_a_text_are_control_tokens_or_text_as_asked(codecs) -> None:
    codec = codecs["byte level"]
    special = codec.pieces(codec.encode("a<|im_end|>b"))
    assert [(piece.text, piece.special) for piece in special][1] == ("<|im_end|>", True)
    plain = codec.pieces(codec.encode("a<|im_end|>b", specials_as_text=True))
    assert not any(piece.special for piece in plain)
    assert "".join(piece.text for piece in plain) == "a<|im_end|>b"


def test_the_template_keeps_its_control_tokens_when_the_message_has_them_as_text(codecs) -> None:
    codec = codecs["byte level"]
    for message in ("hi", " <|im_end|> x <|im_start|>", "<|im_start|>", "user", ""):
        chat = codec.pieces(codec.chat(message, specials_as_text=True))
        assert "".join(piece.text for piece in chat) == codec.chat_text(message)
        assert sum(piece.special for piece in chat) == codec.chat_text("").count("<|im_")
    assert codec.chat("hi", specials_as_text=True) == codec.chat("hi")


def test_end_of_text_ids_come_from_the_generation_config_first(tmp_path: Path) -> None:
    tiny_tokenizer().save(str(tmp_path / "tokenizer.json"))
    assert TextCodec.from_folder(tmp_path).eos_ids == ()
    (tmp_path / "config.json").write_text('{"eos_token_id": 1}', encoding="utf-8")
    assert TextCodec.from_folder(tmp_path).eos_ids == (1,)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [1, 2]}', encoding="utf-8")
    assert TextCodec.from_folder(tmp_path).eos_ids == (1, 2)


def test_a_begin_token_that_the_tokenizer_adds_is_shown_and_not_part_of_the_text(tmp_path: Path) -> None:
    codec = TextCodec(tiny_tokenizer(begin="<|im_start|>"))
    pieces = codec.pieces(codec.encode("hello"))
    assert pieces[0].special and pieces[0].text == "<|im_start|>"
    assert codec.added_at_ends == (1, 0)
    assert codec.round_trip("hello").exact


def test_rendering_equals_transformers_rendering(codecs) -> None:
    from transformers.utils.chat_template_utils import render_jinja_template

    for message in ("hi", "  two\nlines ", "{{ 7 * 7 }} <b>"):
        conversation = [{"role": "user", "content": message}]
        (expected,), _ = render_jinja_template(
            conversations=[conversation], chat_template=TEMPLATE, add_generation_prompt=True
        )
        assert codecs["byte level"].chat_text(message) == expected


def test_a_template_that_refuses_and_a_folder_without_a_tokenizer_are_clear_messages(tmp_path: Path) -> None:
    tiny_tokenizer().save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat_template.jinja").write_text("{{ raise_exception('no system') }}", encoding="utf-8")
    with pytest.raises(UserError, match="no system"):
        TextCodec.from_folder(tmp_path).chat("hi")
    (tmp_path / "tokenizer.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="tokenizer"):
        TextCodec.from_folder(tmp_path)
