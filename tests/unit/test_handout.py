"""The handout: one file that needs nothing else, with token text as text and the run's own numbers."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
import torch

from core.charts.palette import palette
from core.decoding.params import SamplingParams
from core.decoding.run import Run
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.lessons.handout import Handout, collect, handout
from core.ui.text import load
from tests.unit import tiny

ATTACK = "<img src=x onerror=alert(1)>"
SAFE = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "h1",
    "h2",
    "p",
    "pre",
    "div",
    "table",
    "thead",
    "tbody",
}
SAFE |= {"tr", "th", "td", "code", "span", "svg", "rect", "text"}


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return LoadedModel("tiny", None, tiny.build("llama"), TextCodec(tiny.tokenizer().backend_tokenizer))


def made(model: LoadedModel, prompt: str, steps: int = 2) -> Handout:
    params = SamplingParams(seed=3)
    run = Run.start(model, model.codec.encode(prompt))
    for _ in range(steps):
        run.next(params)
    last = len(run.prompt_ids) + steps - 1
    return collect(model, run, params, (1, 2, last), "Tiny <model>")


def written(facts: Handout) -> str:
    return handout(facts, load("journey").labels, palette("light").css_variables())


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def read(text: str) -> Tags:
    tags = Tags()
    tags.feed(text)
    return tags


@pytest.mark.parametrize("prompt", [ATTACK, '"><script>x</script>', "a&amp;b", "é the", "a"])
def test_token_text_is_only_ever_text(model: LoadedModel, prompt: str) -> None:
    tags = read(written(made(model, prompt)))
    assert {tag for tag, _ in tags.seen} <= SAFE
    assert not [a for _, attributes in tags.seen for a in attributes if a.startswith("on")]
    assert prompt in "".join(tags.words)


def test_it_asks_for_nothing_from_outside(model: LoadedModel) -> None:
    text = written(made(model, "the cat is on the hat"))
    assert not re.search(r"https?:|//|url\(|@import|<script|<link|\bsrc=|\bhref=", text)


def test_its_numbers_are_the_models_own(model: LoadedModel) -> None:
    facts = made(model, "the cat is on the hat")
    ids = [row.token_id for row in facts.rows]
    with torch.inference_mode():
        out = tiny.build("llama")(input_ids=torch.tensor([ids]), output_hidden_states=True)
    logits = out.logits[0].double()
    chances = torch.softmax(logits[-1], dim=-1)
    for _, candidate in facts.candidates:
        assert candidate.model_probability == pytest.approx(float(chances[candidate.token_id]), abs=1e-5)
    assert facts.candidates[0][1].token_id == int(logits[-1].argmax())
    assert facts.said[-1][1] == pytest.approx(float(chances.max()), abs=1e-5)
    assert sum(row.share for row in facts.rows) == pytest.approx(1, abs=1e-5)
    text = "".join(read(written(facts)).words)
    assert f"{facts.candidates[0][1].logit:.4f}" in text and f"{facts.u:.4f}" in text
    assert f"{facts.kv_bytes:,} bytes" in text


def test_a_long_text_draws_its_first_and_newest_columns(model: LoadedModel) -> None:
    tags = read(written(made(model, "the cat " * 16, steps=1)))
    cells = [attributes for tag, attributes in tags.seen if tag == "rect"]
    assert len(cells) == 24 * model.shape.n_layers
