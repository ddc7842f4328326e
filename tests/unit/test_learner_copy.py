"""A learner's copy: HF's losses, true gradients, torch's steps; the original stays, memory returns."""

from __future__ import annotations

import gc
import hashlib
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from core.engine.measure import Stopped
from core.engine.model import LoadedModel
from core.engine.scheduler import INTERACTIVE, SerialScheduler
from core.engine.training.learner_copy import LearnerCopy, bytes_needed
from core.engine.training.optimiser import WEIGHT_DECAY, Kind, Optimiser, row_pieces
from core.engine.training.weights import SCOPES, Scope, places, trained_names
from tests.unit import tiny

FAMILIES = ["llama", "gpt2", "gemma3_text", "gemma2", "cohere", "granite", "phi", "mixtral", "qwen2_moe"]
DIFFERENCE = 1e-6


class InDouble(TorchFunctionMode):
    """float64 throughout: norms and softmaxes that ask for float32 get float64 instead."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.float:
            return args[0].double()
        wide = [torch.float64 if a is torch.float32 else a for a in args]
        named = {k: torch.float64 if v is torch.float32 else v for k, v in (kwargs or {}).items()}
        return func(*wide, **named)


SIZED = [*FAMILIES, "deepseek_v3", "gpt_oss"]


def loaded(family: str, dtype: torch.dtype = torch.float32, **overrides: Any) -> LoadedModel:
    hf_model = tiny.build(family, **overrides).to(dtype).requires_grad_(False)
    if dtype == torch.float64 and hasattr(hf_model, "set_experts_implementation"):
        hf_model.set_experts_implementation("eager")  # the grouped product knows single precision only
    return LoadedModel("tiny", None, hf_model, None, SerialScheduler())


def digest(model: LoadedModel) -> str:
    made = hashlib.sha256()
    for name, tensor in model.hf_model.state_dict().items():
        made.update(name.encode() + tensor.numpy().tobytes())
    return made.hexdigest()


def hf_loss(hf_model: Any, ids: list[int]) -> torch.Tensor:
    tensor = torch.tensor([ids])
    return hf_model(input_ids=tensor, labels=tensor).loss


@pytest.mark.parametrize("family", SIZED)
@pytest.mark.parametrize("scope", SCOPES)
def test_the_loss_is_hf_s_own(family: str, scope: Scope) -> None:
    model = loaded(family)
    for length in (2, 9, 40):
        ids = tiny.prompt_ids(length)
        with LearnerCopy(model, scope) as copy, torch.no_grad():
            reading = copy.read(ids)
            expected = float(hf_loss(model.hf_model, ids))
            assert copy.loss(reading) == pytest.approx(expected, rel=1e-5)
            assert copy.gradient(reading).loss == pytest.approx(expected, rel=1e-5)
            assert np.abs(copy.logits(reading) - model.prefill(ids).logits).max() < 1e-4


@pytest.mark.parametrize("family", SIZED)
@pytest.mark.parametrize("scope", SCOPES)
def test_gradients_are_those_of_one_undivided_backward_pass(family: str, scope: Scope) -> None:
    model, ids = loaded(family), tiny.prompt_ids(12)
    reference = tiny.build(family)
    hf_loss(reference, ids).backward()
    expected = {name: p.grad for name, p in reference.named_parameters()}
    with LearnerCopy(model, scope) as copy:
        made = copy.gradient(copy.read(ids))
        assert set(copy.gradients) <= set(trained_names(model, scope))
        for name, gradient in copy.gradients.items():
            scale = float(expected[name].abs().max())
            assert torch.allclose(gradient, expected[name], rtol=1e-3, atol=1e-4 * scale + 1e-8), name
            assert made.squared[name] == pytest.approx(float(expected[name].square().sum()), rel=1e-3)
        looked = copy.look(copy.read(ids))
        for name, want in expected.items():
            size = 0.0 if want is None else float(want.square().sum())
            assert looked.squared[name] == pytest.approx(size, rel=1e-3, abs=1e-9), name


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scope", SCOPES)
def test_gradients_equal_finite_differences(family: str, scope: Scope) -> None:
    """Along the gradient, and for the steepest weight of every tensor."""
    with InDouble():
        model, ids = loaded(family, torch.float64), tiny.prompt_ids(7)
        copy = LearnerCopy(model, scope)
        reading = copy.read(ids)
        squared = sum(copy.gradient(reading).squared.values())
        losses = []
        for step in (-DIFFERENCE, DIFFERENCE):
            copy.nudge(step / squared**0.5)
            losses.append(copy.loss(reading))
            copy.restore()
        slope = (losses[1] - losses[0]) / (2 * DIFFERENCE)
        assert slope == pytest.approx(squared**0.5, rel=1e-5)
        for name, (at, value, gradient) in copy.steepest().items():
            losses = []
            for moved in (value - DIFFERENCE, value + DIFFERENCE):
                copy.weights[name][at] = moved
                losses.append(copy.loss(reading))
            copy.weights[name][at] = value
            measured = (losses[1] - losses[0]) / (2 * DIFFERENCE)
            assert measured == pytest.approx(gradient, rel=1e-5, abs=1e-8), name
        copy.close()


@pytest.mark.parametrize("kind", ["sgd", "adamw"])
@pytest.mark.parametrize("shape", [(7,), (300, 20), (5, 30, 20)])
def test_the_optimisers_are_torch_s_own(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, shape: tuple[int, ...]
) -> None:
    monkeypatch.setattr("core.engine.training.optimiser.PIECE_NUMBERS", 64)
    numbers = torch.Generator().manual_seed(0)
    start = torch.randn(shape, generator=numbers)
    weights, theirs = {"w": start.clone()}, torch.nn.Parameter(start.clone())
    between: list[None] = []
    ours = Optimiser(kind, 0.02, lambda: between.append(None))
    reference: Any = torch.optim.SGD([theirs], lr=0.02)
    if kind == "adamw":
        reference = torch.optim.AdamW([theirs], lr=0.02, weight_decay=WEIGHT_DECAY)
    for _ in range(5):
        gradient = torch.randn(shape, generator=numbers)
        theirs.grad = gradient.clone()
        reference.step()
        ours.step(weights, {"w": gradient})
        assert torch.allclose(weights["w"], theirs.detach(), rtol=1e-5, atol=1e-6)
    assert len(between) == 5 * len(list(row_pieces(start)))


@pytest.mark.parametrize("kind", ["sgd", "adamw"])
@pytest.mark.parametrize("family", ["llama", "gpt2", "qwen2_moe"])
def test_the_losses_of_a_run_are_those_of_torch_s_training_loop(family: str, kind: Kind) -> None:
    model, ids = loaded(family), tiny.prompt_ids(12)
    reference = tiny.build(family)
    theirs: Any = torch.optim.SGD(reference.parameters(), lr=1e-3)
    if kind == "adamw":
        theirs = torch.optim.AdamW(reference.parameters(), lr=1e-3, weight_decay=WEIGHT_DECAY)
    with LearnerCopy(model, "all") as copy:
        reading, ours, losses = copy.read(ids), copy.optimiser(kind, 1e-3), []
        for _ in range(4):
            theirs.zero_grad()
            loss = hf_loss(reference, ids)
            loss.backward()
            theirs.step()
            losses.append(copy.gradient(reading).loss)
            assert losses[-1] == pytest.approx(float(loss.detach()), rel=1e-3)
            copy.step(ours)
    assert losses == sorted(losses, reverse=True)


@pytest.mark.parametrize("family", ["llama", "gpt2", "gemma3_text", "qwen2_moe"])
@pytest.mark.parametrize("scope", SCOPES)
def test_the_model_in_use_is_never_touched(family: str, scope: Scope) -> None:
    model, ids = loaded(family), tiny.prompt_ids(9)
    before, logits = digest(model), model.prefill(ids).logits.copy()
    with LearnerCopy(model, scope) as copy:
        reading = copy.read(ids)
        copy.look(reading)
        for kind in ("sgd", "adamw"):
            copy.gradient(reading)
            copy.step(copy.optimiser(kind, 0.1))  # type: ignore[arg-type]
        moved = copy.moved()
        assert all(change > 0 for change, _ in moved.values()) and set(moved) == set(copy.weights)
        assert copy.loss(reading) != pytest.approx(float(hf_loss(model.hf_model, ids)), rel=1e-3)
        copy.restore()
        assert copy.loss(reading) == pytest.approx(float(hf_loss(model.hf_model, ids)), rel=1e-5)
    assert digest(model) == before
    assert np.array_equal(model.prefill(ids).logits, logits)
    assert not any(parameter.requires_grad for parameter in model.hf_model.parameters())
    assert all(parameter.grad is None for parameter in model.hf_model.parameters())
    for module in model.hf_model.modules():
        assert not module._forward_hooks and not module._forward_pre_hooks


@pytest.mark.parametrize("scope", SCOPES)
def test_only_what_is_trained_is_copied(scope: Scope) -> None:
    model = loaded("llama")
    own = {p.data_ptr() for p in model.hf_model.parameters()}
    with LearnerCopy(model, scope) as copy:
        assert not own & {weight.data_ptr() for weight in copy.weights.values()}
        shared = {p.data_ptr() for n, p in copy._parameters.items() if n not in copy.weights}
        assert shared <= own


def test_a_tied_head_moves_the_embedding_with_it_and_an_untied_one_does_not() -> None:
    tied, untied = loaded("gpt2"), loaded("llama")
    assert trained_names(tied, "head") == ["transformer.wte.weight"]
    assert trained_names(untied, "head") == ["lm_head.weight"]
    ids = tiny.prompt_ids(9)
    with LearnerCopy(tied, "head") as copy:
        before = copy.logits(copy.read(ids))
        copy.gradient(copy.read(ids))
        copy.step(copy.optimiser("sgd", 0.5))
        after = copy.logits(copy.read(ids))
        moved = copy.weights["transformer.wte.weight"]
        hf_model = tiny.build("gpt2")
        hf_model.get_input_embeddings().weight.data.copy_(moved)
        with torch.no_grad():
            expected = hf_model(torch.tensor([ids])).logits[0, -1].numpy()
        assert np.abs(after - expected).max() < 1e-4 < np.abs(after - before).max()


def test_memory_returns_when_a_copy_is_closed() -> None:
    model, ids = loaded("llama"), tiny.prompt_ids(9)
    with LearnerCopy(model, "all") as copy:
        copy.gradient(copy.read(ids))
        optimiser = copy.optimiser("adamw", 1e-3)
        copy.step(optimiser)
        tensors = [weakref.ref(t) for t in (*copy.weights.values(), *copy.gradients.values())]
        module = weakref.ref(copy._hf)
        del optimiser
    gc.collect()
    assert module() is None
    assert not [ref for ref in tensors if ref() is not None]


def test_stopping_ends_a_backward_pass_and_leaves_the_turn_free() -> None:
    model, ids = loaded("llama"), tiny.prompt_ids(9)
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls > limit

    limit = 10**9
    with LearnerCopy(model, "all", stop) as copy:
        reading = copy.read(ids)
        copy.gradient(reading)
        whole = calls
        calls = 0
        copy.gradient(reading)
        limit = calls - 2
        calls = 0
        with pytest.raises(Stopped):
            copy.gradient(reading)
        assert whole > limit
    assert model.prefill(ids).end == len(ids)


def test_another_learner_passes_between_two_pieces() -> None:
    """While a gradient is taken, a learner who asks gets a turn before the gradient is done."""
    model, ids = loaded("llama"), tiny.prompt_ids(30)
    passed, done = [], threading.Event()
    with LearnerCopy(model, "all") as copy:
        reading = copy.read(ids)

        def learner() -> None:
            while not done.is_set():
                with model.scheduler.turn(INTERACTIVE):
                    passed.append(done.is_set())

        other = threading.Thread(target=learner)
        other.start()
        copy.gradient(reading)
        done.set()
        other.join(60)
    assert passed.count(False) >= 2 * model.shape.n_layers


def test_the_bytes_that_are_asked_for_cover_weights_gradients_and_moments() -> None:
    model = loaded("llama")
    numbers = sum(place.count for place in places(model))
    assert bytes_needed(model, "all", "sgd", 8) > 4 * 2 * numbers
    assert bytes_needed(model, "all", "adamw", 8) - bytes_needed(model, "all", "sgd", 8) == 4 * 2 * numbers
    assert bytes_needed(model, "last_block", "adamw", 8) < bytes_needed(model, "all", "adamw", 8)


@pytest.mark.parametrize("family", SIZED)
def test_every_weight_has_one_place_and_parts_of_a_block_have_their_own_names(family: str) -> None:
    model = loaded(family)
    rows = places(model)
    assert [row.name for row in rows] == [name for name, _ in model.hf_model.named_parameters()]
    keys = [(row.layer, row.part, row.name.rsplit(".", 1)[-1]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert {row.layer for row in rows} == {None, *range(model.shape.n_layers)}
