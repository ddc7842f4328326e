"""The guided tour: its stops fit their pages and minutes, and every answer is what another sum gives."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from core.components.tour_bar import read_move
from core.decoding.run import Run, StopRules
from core.decoding.sampling import SamplingParams
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.lessons import tour
from core.lessons.questions import Question, Word
from core.lessons.tour import PLANS, WHOLE, all_stops
from core.lessons.tour_inside import SHIFT
from core.lessons.tour_questions import QUESTIONS, question
from core.lessons.tour_scene import Scene
from core.ui import text
from core.ui.links import format_link, parse
from core.ui.pages import ALL_PAGES
from core.ui.tour import stop_link
from tests.unit import tiny

STOPS = [stop.id for stop in all_stops()]
PAGES = {page.name for page in ALL_PAGES}
SENTENCE_END = re.compile(r"[.!?:](?:[”\"])?(?:\s|$)")
PARAMS = SamplingParams(temperature=1.0, top_p=0.5)
LAYER, HEAD, POSITION = 1, 1, 3


def scene_of(family: str, prompt: list[int], steps: int = 2) -> Scene:
    model = LoadedModel(family, None, tiny.build(family), TextCodec(tiny.tokenizer().backend_tokenizer))
    run = Run.start(model, prompt, PARAMS, StopRules())
    for _ in range(steps):
        run.next(SamplingParams(temperature=0.0))
    return Scene(model, run, PARAMS, LAYER, HEAD, min(POSITION, len(prompt) - 1))


@pytest.fixture(scope="module")
def dense() -> Scene:
    return scene_of("llama", tiny.prompt_ids(7))


@pytest.fixture(scope="module")
def moe() -> Scene:
    return scene_of("mixtral", tiny.prompt_ids(7))


# -- the data ------------------------------------------------------------------------------------------


def test_every_stop_has_a_page_a_question_and_its_words() -> None:
    words = text.load("tour").labels
    assert len(STOPS) == len(set(STOPS)) and set(STOPS) == set(QUESTIONS)
    for stop in all_stops():
        assert stop.page in PAGES
        assert {f"{kind}_{stop.id}" for kind in ("title", "ask", "why", "notes")} <= set(words)


@pytest.mark.parametrize("kind", ["why", "notes"])
@pytest.mark.parametrize("stop", STOPS)
def test_no_text_of_a_stop_is_longer_than_three_sentences(stop: str, kind: str) -> None:
    words = text.load("tour").labels[f"{kind}_{stop}"]
    assert 1 <= len(SENTENCE_END.findall(words)) <= 3 + words.count(":"), words


@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan != WHOLE])
def test_a_selection_keeps_to_its_minutes(plan: str) -> None:
    chosen = tour.stops(plan, PAGES)
    assert len(chosen) >= 6 and 0.7 * int(plan) <= tour.minutes(chosen) <= int(plan)


def test_a_longer_selection_holds_the_shorter_one() -> None:
    sizes = [{stop.id for stop in tour.stops(plan, PAGES)} for plan in PLANS]
    assert all(short < long or short == long for short, long in pairwise(sizes))
    assert sizes[-1] == set(STOPS)


def test_stops_of_pages_that_are_not_there_are_left_out() -> None:
    assert [stop.page for stop in tour.stops(WHOLE, {"tokens"})] == ["tokens"]


def test_every_idea_is_seen_at_a_stop() -> None:
    seen = {idea for stop in all_stops() for idea in stop.ideas}
    assert seen == set(range(1, 38))


@pytest.mark.parametrize("stop", STOPS)
def test_the_link_of_a_stop_is_read_back(stop: str) -> None:
    found = tour.find(stop)
    assert found is not None
    for plan in PLANS:
        link = stop_link(found, plan)
        assert parse(format_link(link)) == (link, ())
        assert format_link(link)["tour"] == stop


def test_an_unknown_stop_or_selection_is_refused() -> None:
    link, refused = parse({"tour": "nowhere", "plan": "20", "present": "yes"})
    assert (link.tour, link.plan, link.present) == ("", WHOLE, False)
    assert set(refused) == {"tour", "plan", "present"}


def test_only_known_moves_are_read() -> None:
    assert read_move({"to": "next", "answer": None}) == "next"
    assert [read_move(bad) for bad in (None, "next", {}, {"to": "home"}, {"to": ["next"]})] == [None] * 5


# -- the answers ---------------------------------------------------------------------------------------


def given_answer(asked: Question) -> str | int:
    """What is right, as text or as a number."""
    if asked.wants_number:
        return asked.answer
    choice = asked.choices[asked.answer]
    return choice.key if isinstance(choice, Word) else choice


def plain_logits(scene: Scene, ids: list[int] | None = None) -> np.ndarray:
    """(T, V) of the plain library, in one pass."""
    with torch.inference_mode():
        found = scene.model.hf_model(input_ids=torch.tensor([ids or list(scene.run.token_ids)])).logits[0]
    return np.asarray(found.double().numpy())


def attentions(scene: Scene, layer: int) -> np.ndarray:
    """(H, T, T) of the plain library, with its own eager attention."""
    model = tiny.build(scene.model.name, attention="eager")
    with torch.inference_mode():
        out = model(input_ids=torch.tensor([list(scene.run.token_ids)]), output_attentions=True)
    return np.asarray(out.attentions[layer][0].double().numpy())


def hidden(scene: Scene) -> tuple[np.ndarray, ...]:
    with torch.inference_mode():
        ids = torch.tensor([list(scene.run.token_ids)])
        found = scene.model.hf_model(input_ids=ids, output_hidden_states=True).hidden_states
    return tuple(np.asarray(state[0].double().numpy()) for state in found)


def chances(logits: np.ndarray) -> np.ndarray:
    return np.asarray(torch.softmax(torch.tensor(logits), dim=-1).numpy())


def nearest_row(scene: Scene) -> str:
    table = scene.model.hf_model.get_input_embeddings().weight.detach().double().numpy()
    token = scene.run.token_ids[scene.position]
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = unit @ unit[token]
    cosines[token] = -2
    return scene.name(int(cosines.argmax()))


def guessed_right(scene: Scene) -> int:
    ids = list(scene.run.prompt_ids)
    said = plain_logits(scene, ids).argmax(axis=-1)
    return int((said[:-1] == np.array(ids[1:])).sum())


def added_lengths(scene: Scene) -> str:
    """By hooks on the library's own sub-layers."""
    lengths: dict[str, float] = {}
    block = scene.model.hf_model.model.layers[LAYER]
    for name, part in (("attention", block.self_attn), ("ffn", block.mlp)):

        def note(_m: Any, _a: Any, out: Any, name: str = name) -> None:
            vector = (out[0] if isinstance(out, tuple) else out)[0, scene.position]
            lengths[name] = float(vector.norm())

        handle = part.register_forward_hook(note)
        plain_logits(scene)
        handle.remove()
    return max(lengths, key=lambda name: lengths[name])


def largest_part(scene: Scene) -> str:
    sums = {"attention": 0, "ffn": 0, "embedding": 0}
    for name, weight in scene.model.hf_model.named_parameters():
        part = "attention" if "self_attn" in name else "ffn" if "mlp" in name else "embedding"
        sums[part] += weight.numel() if "norm" not in name else 0
    return max(sums, key=lambda name: sums[name])


def lens_agrees(scene: Scene) -> str:
    model = scene.model.hf_model
    with torch.inference_mode():
        vector = torch.tensor(hidden(scene)[LAYER][-1]).float()
        early = int(model.lm_head(model.model.norm(vector)).argmax())
    return "yes" if early == int(plain_logits(scene)[-1].argmax()) else "no"


def third_is_removed(scene: Scene) -> str:
    row = chances(plain_logits(scene)[-1])
    before_third = np.sort(row)[::-1][:2].sum()
    return "yes" if before_third >= PARAMS.top_p else "no"


def entropy_moves(scene: Scene) -> str:
    row = plain_logits(scene)[-1]
    low, high = (-(p * np.log(p)).sum() for p in (chances(row), chances(row / 2)))
    return "rises" if high > low else "falls"


def same_after_swap(scene: Scene) -> str:
    ids = list(scene.run.token_ids)
    first, second = np.argsort(-plain_logits(scene)[-1])[:2]
    after = [int(plain_logits(scene, [*ids, int(token)])[-1].argmax()) for token in (first, second)]
    return "yes" if after[0] == after[1] else "no"


def same_without_layer(scene: Scene) -> str:
    before = int(plain_logits(scene)[-1].argmax())
    block = scene.model.hf_model.model.layers[LAYER]
    handle = block.register_forward_hook(
        lambda _m, args, out: (args[0], *out[1:]) if isinstance(out, tuple) else args[0]
    )
    after = int(plain_logits(scene)[-1].argmax())
    handle.remove()
    return "yes" if before == after else "no"


def faster(scene: Scene) -> str:
    prefill, *steps = scene.run.tip.path()
    each = [prefill.timing.total_s / prefill.end, np.mean([step.timing.total_s for step in steps])]
    return "prefill" if each[0] < each[1] else "decode"


def cache_growth(scene: Scene) -> str:
    config = scene.model.hf_model.config
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return f"{2 * config.num_hidden_layers * config.num_key_value_heads * size * 4:,}"


def heaviest_expert(scene: Scene) -> str:
    """By a hook on the library's own router."""
    found: list[Any] = []
    gate = scene.model.hf_model.model.layers[LAYER].mlp.gate
    handle = gate.register_forward_hook(lambda _m, _a, out: found.append(out))
    plain_logits(scene)
    handle.remove()
    logits = found[0][0] if isinstance(found[0], tuple) else found[0]
    return str(int(logits.reshape(-1, logits.shape[-1])[scene.position].argmax()))


def active_share(scene: Scene) -> str:
    total = active = 0.0
    config = scene.model.hf_model.config
    for name, weight in scene.model.hf_model.named_parameters():
        total += weight.numel()
        if "experts" in name:
            active += weight.numel() * config.num_experts_per_tok / config.num_local_experts
        elif "embed_tokens" in name and not config.tie_word_embeddings:
            active += config.hidden_size
        else:
            active += weight.numel()
    return f"{round(100 * active / total)}"


def prompt_losses(scene: Scene) -> np.ndarray:
    ids = list(scene.run.prompt_ids)
    rows = chances(plain_logits(scene, ids))
    return np.array([-math.log(rows[i, ids[i + 1]]) for i in range(len(ids) - 1)])


def worst_target(scene: Scene) -> str:
    at = int(prompt_losses(scene).argmax())
    return f"{at + 1}: {scene.at(at + 1)}"


EXPECTED: dict[str, Callable[[Scene], str | int]] = {
    "loop": lambda s: str(1 + s.run.cursor),
    "tokens": lambda s: len(s.run.prompt_ids),
    "rows": nearest_row,
    "order": lambda s: "same",
    "given": guessed_right,
    "mask": lambda s: str(s.position + 1),
    "heads": lambda s: str(
        int(np.argmax([np.diagonal(head, -1)[1:].mean() for head in attentions(s, LAYER)]))
    ),
    "adds": added_lengths,
    "parts": largest_part,
    "lens": lens_agrees,
    "scores": lambda s: f"{s.model.hf_model.config.vocab_size:,}",
    "next": lambda s: s.name(int(plain_logits(s)[-1].argmax())),
    "filter": third_is_removed,
    "temperature": entropy_moves,
    "branches": lambda s: f"{int((chances(plain_logits(s)[-1]) >= 0.01).sum()):,}",
    "swap": same_after_swap,
    "database": same_without_layer,
    "speed": faster,
    "cached": lambda s: "1",
    "bytes": cache_growth,
    "memory": lambda s: f"{sum(p.numel() for p in s.model.hf_model.parameters()) / 500:,.1f} KB",
    "router": heaviest_expert,
    "active": active_share,
    "targets": worst_target,
    "gradient": lambda s: f"{prompt_losses(s)[-1]:.2f}",
    "recap": lambda s: str(len(s.run.token_ids) - len(s.run.prompt_ids)),
    "zero": lambda s: f"{math.log(s.model.hf_model.config.vocab_size):.2f}",
}
NEEDS_EXPERTS = {"router", "active"}


@pytest.mark.parametrize("stop", STOPS)
def test_an_answer_is_what_an_independent_sum_gives(stop: str, dense: Scene, moe: Scene) -> None:
    scene = moe if stop in NEEDS_EXPERTS else dense
    asked = question(stop, scene)
    assert asked is not None and asked.kind == stop
    assert given_answer(asked) == EXPECTED[stop](scene)


@pytest.mark.parametrize("family", ["llama", "mixtral", "gpt2", "gemma3_text"])
@pytest.mark.parametrize("length", [1, 2, 9])
def test_every_question_can_be_put_into_words(family: str, length: int) -> None:
    scene = scene_of(family, tiny.prompt_ids(length), steps=1)
    words = text.load("tour")
    for stop in STOPS:
        asked = question(stop, scene)
        if asked is None:
            continue
        for kind in ("ask", "why"):
            assert "{" not in words.label(f"{kind}_{stop}", **asked.prompt_values)
        assert all(words.label(f"choice_{c.key}") for c in asked.choices if isinstance(c, Word))


def test_a_dense_model_has_no_question_about_its_router(dense: Scene) -> None:
    assert question("router", dense) is None and question("active", dense) is None


def test_without_rope_nothing_turns() -> None:
    scene = scene_of("gpt2", tiny.prompt_ids(5))
    assert question("order", scene) is None and SHIFT > 0
