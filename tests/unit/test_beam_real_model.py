"""Beam search with the default model gives what transformers gives, end-of-text handling included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from core.decoding.beam import BeamSettings, ScoreRule, beam_search
from core.decoding.tree import Tree

pytestmark = pytest.mark.real_model

CASES = [
    # chat: the answer ends by itself within the limit, so that finished beams count
    ("Say only the word yes.", True, 3, 8, "mean", 1.0),
    ("The capital of France is", False, 3, 6, "sum", 0.0),
    ("Dog bites", False, 2, 6, "length_penalty", 2.0),
]


@pytest.mark.parametrize(("prompt", "chat", "width", "tokens", "rule", "penalty"), CASES)
def test_results_equal_those_of_transformers(
    real_model: Any, prompt: str, chat: bool, width: int, tokens: int, rule: ScoreRule, penalty: float
) -> None:
    ids = real_model.codec.chat(prompt) if chat else real_model.codec.encode(prompt)
    end_ids = real_model.codec.eos_ids
    settings = BeamSettings(width, tokens, rule, penalty, frozenset(end_ids))
    steps = list(beam_search(Tree(real_model, ids), settings))
    with real_model.scheduler.turn():
        theirs = real_model.hf_model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=tokens,
            num_beams=width,
            num_return_sequences=width,
            length_penalty=penalty,
            do_sample=False,
            eos_token_id=list(end_ids),
            pad_token_id=end_ids[0],
            return_dict_in_generate=True,
            output_scores=True,
        )
    finished = steps[-1].finished
    assert len(finished) == width and len(end_ids) >= 1
    np.testing.assert_allclose([b.score for b in finished], theirs.sequences_scores.numpy(), atol=2e-4)
    for beam, row in zip(finished, theirs.sequences[:, len(ids) :].tolist(), strict=True):
        assert list(beam.token_ids) == row[: len(beam.token_ids)]
        assert set(row[len(beam.token_ids) :]) <= {end_ids[0]}
    if chat:
        assert any(beam.end == "end-of-text" for beam in finished)
