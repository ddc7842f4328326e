"""Texts that break careless tokenizer code, and a tiny real tokenizer trained on the spot."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

AWKWARD = (
    "",
    "Hello, how was your day?",
    "  Hello  World.\n\n",
    "👩‍👩‍👧‍👦🏳️‍🌈 ok",
    "عربى 漢字 ไทย",
    "e\u0301 \u0301 a\u0300\u0301",
    "a\r\n\tb\u00a0c\u200bd\ufeffe",
    "a<b<c \"><img src=x onerror=alert(1)>",
    "costs $5 or $6 *a* _b_ `c` :smile:",
    "<|im_end|> and <|im_start|>user",
    "\x00\x01\x7f",
    "x" * 300,
)

TEMPLATE = (
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content']"
    " + '<|im_end|>' + '\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def texts() -> st.SearchStrategy[str]:
    """Any text, with the characters that matter here more often than chance has them."""
    letters = st.one_of(
        st.characters(exclude_categories=("Cs",)),
        st.sampled_from(" \n\t\r\u00a0\u200b\u200d\u0301👩🏽漢عहไ<|>_▁Ġ'"),
    )
    return st.lists(st.one_of(letters, st.sampled_from(AWKWARD)), max_size=25).map("".join)


@cache
def _trained() -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    lines = ["the cat sat on the mat and the hat", "hello how was your day"] * 3
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer.to_str()


def tiny_tokenizer(begin: str | None = None) -> Tokenizer:
    """A byte-level BPE tokenizer of a few hundred tokens; ``begin`` is put in front of every text."""
    tokenizer = Tokenizer.from_str(_trained())
    if begin is not None:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A", special_tokens=[(begin, tokenizer.token_to_id(begin))]
        )
    return tokenizer
