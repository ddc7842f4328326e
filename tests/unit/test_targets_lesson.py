"""Shifted targets: every loss against the library's own, and what must hold for any row of logits."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from core.engine import reference
from core.engine.chat_template import ChatTemplate
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.errors import UserError
from core.lessons import targets
from tests.unit import tiny

FAMILIES = [*tiny.CORE_FAMILIES, "gemma2", "cohere", "granite", "phi", "gpt_oss"]
PROMPT = tiny.prompt_ids(11)


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest) -> LoadedModel:
    return LoadedModel(request.param, None, tiny.build(request.param), None)


@pytest.fixture(scope="module")
def llama() -> LoadedModel:
    return LoadedModel("llama", None, tiny.build("llama"), None)


def scored(model: LoadedModel, ids: list[int], steps: int = 0) -> targets.Scores:
    """The scores of a text whose last ``steps`` tokens were decode steps."""
    tip = model.prefill(ids[: len(ids) - steps])
    for token in ids[len(ids) - steps :]:
        tip = model.step(tip, token)
    return targets.score(model, model.trace(tip))


def plain_losses(model: LoadedModel, ids: list[int], shift: int = 1) -> np.ndarray:
    """Torch's own cross-entropy of each position on the token ``shift`` places later."""
    with torch.inference_mode():
        logits = model.hf_model(input_ids=torch.tensor([ids])).logits[0, :-shift]
        labels = torch.tensor(ids[shift:])
        return torch.nn.functional.cross_entropy(logits, labels, reduction="none").numpy()


@pytest.mark.parametrize("steps", [0, 4])
def test_the_mean_loss_is_the_librarys_own_with_labels_shifted_once(model: LoadedModel, steps: int) -> None:
    found = scored(model, PROMPT, steps)
    everything = np.ones(len(PROMPT) - 1, dtype=bool)
    labels = targets.labels_of(PROMPT, everything)
    own = targets.summary(found, everything).mean
    assert own == pytest.approx(reference.loss(model, PROMPT, labels), abs=2e-5)
    assert own == pytest.approx(reference.loss(model, PROMPT, PROMPT), abs=2e-5)
    np.testing.assert_allclose(found.losses, plain_losses(model, PROMPT), atol=2e-4)
    twice = plain_losses(model, PROMPT, shift=2)  # another number for nearly every row
    assert np.abs(found.losses[:-1] - twice).max() > 0.05


def test_left_out_targets_are_left_out_by_the_library_too(llama: LoadedModel) -> None:
    found = scored(llama, PROMPT)
    some = np.array([True, False] * 5)
    own = targets.summary(found, some)
    labels = targets.labels_of(PROMPT, some)
    assert own.count == 5 and labels.count(targets.IGNORED) == 6
    assert own.mean == pytest.approx(reference.loss(llama, PROMPT, labels), abs=1e-5)


def test_the_end_of_text_is_one_more_target_of_the_same_pass(llama: LoadedModel) -> None:
    found = scored(llama, PROMPT)
    trace = llama.trace(llama.prefill(PROMPT))
    whole = targets.joined([found, targets.ending(trace, tiny.EOS_ID)])
    ids = [*PROMPT, tiny.EOS_ID]
    assert len(whole) == len(PROMPT)
    mean = targets.summary(whole, np.ones(len(whole), dtype=bool)).mean
    assert mean == pytest.approx(reference.loss(llama, ids, ids), abs=1e-5)


def test_no_row_depends_on_what_comes_after_its_target(llama: LoadedModel) -> None:
    longer = scored(llama, [*PROMPT, 5, 77, 9])
    changed = scored(llama, [*PROMPT, 90, 3, 41])
    count = len(PROMPT) - 1
    np.testing.assert_allclose(longer.log_p[:count], scored(llama, PROMPT).log_p, atol=1e-5)
    np.testing.assert_allclose(longer.log_p[:count], changed.log_p[:count], atol=1e-5)
    assert abs(longer.log_p[count] - changed.log_p[count]) > 1e-3


def test_blocks_of_rows_change_nothing(llama: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scored(llama, PROMPT)
    monkeypatch.setattr(targets, "BLOCK_LOGITS", 3 * tiny.VOCAB_SIZE)
    seen: list[tuple[int, int]] = []
    trace = llama.trace(llama.prefill(PROMPT))
    blocks = targets.score(llama, trace, lambda done, total: seen.append((done, total)))
    np.testing.assert_allclose(blocks.log_p, whole.log_p, atol=1e-5)
    np.testing.assert_array_equal(blocks.ranks, whole.ranks)
    assert seen == [(3, 10), (6, 10), (9, 10), (10, 10)]


def test_one_more_token_scores_one_more_row(llama: LoadedModel) -> None:
    tip = llama.prefill(PROMPT)
    targets.score(llama, llama.trace(tip))
    seen: list[int] = []
    longer = targets.score(llama, llama.trace(llama.step(tip, 9)), lambda done, _: seen.append(done))
    assert len(longer) == len(PROMPT) and not seen
    assert longer.log_p[-1] == targets.reduced(tip.logits[None], [9]).log_p[0]


def test_one_token_needs_another_one(llama: LoadedModel) -> None:
    with pytest.raises(UserError, match="at least two"):
        scored(llama, [7])


LOGITS = arrays(np.float32, (4, 9), elements=st.floats(-30, 30, width=32))


@settings(max_examples=60, deadline=None)
@given(logits=LOGITS, wanted=st.lists(st.integers(0, 8), min_size=4, max_size=4), lift=st.floats(-50, 50))
def test_what_holds_for_any_row(logits: np.ndarray, wanted: list[int], lift: float) -> None:
    found = targets.reduced(logits, wanted)
    assert (found.losses >= -1e-12).all() and (found.favourite_p >= found.probabilities - 1e-12).all()
    assert (found.ranks >= 1).all() and (found.ranks <= 9).all()
    assert ((found.ranks == 1) == (found.favourites == wanted)).all()
    moved = targets.reduced(logits.astype(np.float64) + lift, wanted)
    np.testing.assert_allclose(moved.log_p, found.log_p, atol=1e-9)
    everything = np.ones(4, dtype=bool)
    total = targets.summary(found, everything)
    assert found.losses.min() - 1e-9 <= total.mean <= found.losses.max() + 1e-9
    assert total.perplexity == pytest.approx(float(np.prod(found.probabilities)) ** -0.25, rel=1e-6)
    each = [targets.reduced(logits[row : row + 1], wanted[row : row + 1]) for row in range(4)]
    np.testing.assert_array_equal(targets.joined(each).log_p, found.log_p)


def test_nothing_scored_has_no_mean() -> None:
    found = targets.reduced(np.zeros((2, 4), dtype=np.float32), [1, 2])
    nothing = targets.summary(found, np.zeros(2, dtype=bool))
    assert nothing.count == 0 and math.isnan(nothing.mean) and math.isnan(nothing.perplexity)
    assert targets.summary(found, np.ones(2, dtype=bool)).perplexity == pytest.approx(4)


def test_the_chat_templates_own_words_are_told_from_the_message() -> None:
    codec = TextCodec(tiny.tokenizer().backend_tokenizer, template=ChatTemplate(tiny.CHAT_TEMPLATE, {}))
    ids = codec.chat("the cat")
    pieces = codec.pieces([*ids, *codec.encode(" is<eos>")])
    kinds = targets.kinds(pieces, len(ids), codec.message_span("the cat"))
    text = "".join(p.text for p, kind in zip(pieces, kinds, strict=True) if kind == "text")
    assert text == "the cat is"
    assert [p.text for p, kind in zip(pieces, kinds, strict=True) if kind == "control"] == [
        "<bos>", "<eos>", "<bos>", "<eos>",
    ]  # fmt: skip
    assert "template" in kinds
    assert targets.counted(kinds, specials=True).all()
    assert targets.counted(kinds, specials=False).sum() == kinds.count("text")


def test_without_a_template_only_control_tokens_are_special() -> None:
    pieces: list[Any] = [
        SimpleNamespace(special=s, start=i, end=i + 1) for i, s in enumerate([True, False, False])
    ]
    assert targets.kinds(pieces) == ["control", "text", "text"]
    assert targets.counted(targets.kinds(pieces), specials=False).tolist() == [True, True]


def test_a_long_text_is_checked_on_its_beginning() -> None:
    assert targets.check_length(7, 49152) == 7
    assert targets.check_length(500, 49152) == 128
    assert targets.check_length(500, 262144) == 61
    assert targets.check_length(2, 10**9) == 2


@pytest.mark.real_model
@pytest.mark.parametrize(
    "text",
    [
        "To be, or not to be, that is the question.",
        "a<b<c $5 *x*\n\n  e = mc² 🦜👩‍👩‍👧‍👦 مرحبا",
        "The cat sat on the mat. " * 12,
    ],
)
def test_the_real_models_loss_is_the_librarys(real_model: Any, text: str) -> None:
    ids = real_model.codec.encode(text)
    found = scored(real_model, ids)
    own = targets.summary(found, np.ones(len(found), dtype=bool)).mean
    logits = torch.from_numpy(reference.bare_logits(real_model, ids))[:-1].double()
    # The LM head runs on a block of rows here, on all rows there: some processors add up in another order.
    assert own == pytest.approx(float(F.cross_entropy(logits, torch.tensor(ids[1:]))), abs=1e-6)
    # The library adds up 49,152 exponentials in float32: on a processor with AVX2 alone it is 2e-5 off.
    assert own == pytest.approx(reference.loss(real_model, ids, ids), abs=5e-5)
