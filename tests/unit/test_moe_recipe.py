"""The recipe, piece by piece and end to end, on a tiny random Llama."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.engine.moe_build import build
from core.engine.moe_recipe import command
from core.engine.moe_recipe.checkpoint import save_state, save_tensors
from core.engine.moe_recipe.clustering import assign_balanced, neuron_order
from core.engine.moe_recipe.corpus import _files
from core.engine.moe_recipe.dataset import RowOrder, Rows
from core.engine.moe_recipe.distil import Distiller
from core.engine.moe_recipe.initial import ffn_inputs, initial_state
from core.engine.moe_recipe.pack import balance, quantise_rows
from core.engine.moe_recipe.promote import neuron_energies, promote
from core.engine.moe_recipe.sampling import continue_batch
from core.engine.moe_recipe.settings import (
    DistilSettings,
    FitSettings,
    RecipeSettings,
    SamplingSettings,
    SplitSettings,
)
from core.engine.moe_recipe.student import (
    SplitState,
    make_student,
    sharpened,
    split_layers,
    student_state,
    with_rank,
)
from core.engine.moe_recipe.teacher import TeacherStates
from core.engine.moe_recipe.train import Task, distil, sample
from tests.unit import tiny

SETTINGS = RecipeSettings(
    seed=3,
    row_length=16,
    eval_length=16,
    eval_rows=2,
    prose_characters=4_000,
    split=SplitSettings(16, 4, 2, (0,), 3),
    sampling=SamplingSettings(max_tokens=400, batch=4, new_tokens=8, top_k=20),
    fit=FitSettings(calibration_tokens=128, cluster_tokens=96, router_steps=20, router_batch=64),
    distil=DistilSettings(rows_per_step=4, micro_rows=2, steps=4, vocabulary=64, checkpoint_every=2),
)


@pytest.fixture(scope="module")
def rows() -> Rows:
    ids = torch.randint(2, tiny.VOCAB_SIZE, (24, 16), generator=torch.Generator().manual_seed(1))
    return Rows(ids[:12], ids[12:20], ids[20:22], ids[22:])


@pytest.fixture(scope="module")
def start(rows: Rows) -> SplitState:
    return initial_state(tiny.build("llama"), torch.cat([rows.prose, rows.sampled]), SETTINGS, lambda _: None)


def test_balanced_assignment_fills_every_column_alike() -> None:
    gain = torch.randn(24, 4, generator=torch.Generator().manual_seed(0))
    assigned = assign_balanced(gain, 6)
    assert torch.bincount(assigned).tolist() == [6, 6, 6, 6]


def test_neurons_that_fire_together_share_an_expert() -> None:
    generator = torch.Generator().manual_seed(0)
    group = torch.arange(512) % 4
    inputs = torch.nn.functional.one_hot(group, 8).float() + 0.05 * torch.randn(512, 8, generator=generator)
    energy = 0.01 + torch.nn.functional.one_hot(group, 4).float().repeat(
        1, 5
    )  # neuron n fires for group n % 4
    energy = torch.cat([energy, torch.full((512, 4), 5.0)], 1)  # and four that always fire strongly
    order = neuron_order(energy, inputs, SplitSettings(4, 4, 1, ()), FitSettings(), 0)
    assert sorted(order[:4].tolist()) == [20, 21, 22, 23]
    for block in order[4:].view(4, 5).tolist():
        assert len({n % 4 for n in block}) == 1


def test_captured_inputs_are_the_same_positions_in_every_layer(rows: Rows) -> None:
    model = tiny.build("llama")
    captured = ffn_inputs(model, rows.prose, 40, 0)
    assert [tuple(x.shape) for x in captured] == [(40, 48)] * 3


def test_with_every_expert_chosen_equally_the_split_model_is_the_dense_one(
    start: SplitState, rows: Rows
) -> None:
    dense, student = tiny.build("llama"), make_student(tiny.build("llama"), start)
    for layer in split_layers(student).values():
        layer.k = 4
        layer.router.data.zero_()
        layer.expert_scale.data.fill_(1.0)
    with torch.no_grad():
        difference = (dense(rows.prose).logits - student(rows.prose).logits).abs().max()
    assert float(difference) < 1e-4


def test_promotion_changes_nothing_but_the_place_of_neurons(start: SplitState, rows: Rows) -> None:
    energy = neuron_energies(make_student(tiny.build("llama"), start), rows.prose)
    wider = promote(start, energy, 2)
    assert wider.split.shared == 24
    for i, layer in wider.layers.items():
        assert sorted(layer.order.tolist()) == list(range(80))
        assert torch.equal(layer.order[:16], start.layers[i].order[:16])
        assert torch.equal(layer.router, start.layers[i].router)
        old = dict(zip(start.layers[i].order.tolist(), start.layers[i].a["d"].T, strict=True))
        assert all(
            torch.equal(old[n], row) for n, row in zip(layer.order.tolist(), layer.a["d"].T, strict=True)
        )
        strongest = energy[i][16:32].topk(2).values.sum()  # of expert 0, which lost exactly these
        moved = [start.layers[i].order.tolist().index(n) for n in layer.order[16:18].tolist()]
        assert float(energy[i][moved].sum()) == pytest.approx(float(strongest))


def _distiller(start: SplitState, rows: Rows, settings: DistilSettings) -> Distiller:
    states = TeacherStates(tiny.build("llama"), len(rows.prose) + len(rows.sampled), rows.prose.shape[1])
    return Distiller(states, make_student(tiny.build("llama"), start), rows, settings, 5)


def test_training_brings_the_student_nearer_to_the_dense_model(
    start: SplitState, rows: Rows, tmp_path: Path
) -> None:
    distiller = _distiller(start, rows, replace(SETTINGS.distil, steps=30, warm_up=2))
    keys, ids = [0, 1], rows.prose[:2]
    before = distiller._losses(keys, ids).kl.item()
    distiller.run(600, tmp_path / "c.pt", lambda _: None)
    assert distiller._losses(keys, ids).kl.item() < 0.9 * before


def test_a_resumed_training_ends_like_an_uninterrupted_one(
    start: SplitState, rows: Rows, tmp_path: Path
) -> None:
    whole = _distiller(start, rows, SETTINGS.distil)
    whole.run(1e9, tmp_path / "whole.pt", lambda _: None)
    first = _distiller(start, rows, SETTINGS.distil)
    first.step(0.0)
    first.step(1 / 4)
    first.save(tmp_path / "half.pt")
    second = _distiller(start, rows, SETTINGS.distil)
    second.load(tmp_path / "half.pt")
    second.run(1e9, tmp_path / "half.pt", lambda _: None)
    for i, layer in student_state(whole.student, SETTINGS.split).layers.items():
        other = second.state().layers[i]
        assert torch.allclose(layer.router, other.router, atol=1e-6)
        assert torch.allclose(layer.b["d"], other.b["d"], atol=1e-6)


def _files_of_a_task(work: Path, rows: Rows, start: SplitState) -> Task:
    tiny.save(tiny.build("llama"), work / "dense")
    task = Task(work / "dense", work, SETTINGS, 1e9)
    save_tensors(vars(rows), task.rows)
    save_state(start, task.start)
    return task


def test_two_processes_train_what_one_trains(start: SplitState, rows: Rows, tmp_path: Path) -> None:
    states = []
    for workers in (1, 2):
        work = tmp_path / str(workers)
        work.mkdir()
        states.append(distil(_files_of_a_task(work, rows, start), workers, str))
    for i, layer in states[0].layers.items():
        assert not torch.equal(layer.router, start.layers[i].router)
        assert torch.allclose(layer.router, states[1].layers[i].router, atol=1e-5)
        assert torch.allclose(layer.b["d"], states[1].layers[i].b["d"], atol=1e-5)


def test_two_processes_sample_what_one_samples(tmp_path: Path) -> None:
    found = []
    for workers in (1, 2):
        work = tmp_path / str(workers)
        work.mkdir()
        dense = work / "dense"
        tiny.save(tiny.build("llama", max_position_embeddings=512), dense)
        task = Task(dense, work, SETTINGS, 1e9)
        found.append(sample(task, workers, str))
    texts = [{tuple(text) for text in (*samples.train, *samples.held_out)} for samples in found]
    assert found[1].batches >= found[0].batches > 1  # each of two goes on to its own half of the tokens
    assert texts[0] <= texts[1]


def test_text_can_be_sampled_in_bfloat16(tmp_path: Path) -> None:
    tiny.save(tiny.build("llama", max_position_embeddings=512), tmp_path / "dense")
    found = []
    for dtype in ("float32", "bfloat16"):
        work = tmp_path / dtype
        work.mkdir()
        settings = replace(SETTINGS, sampling=replace(SETTINGS.sampling, dtype=dtype))
        found.append(sample(Task(tmp_path / "dense", work, settings, 1e9), 1, str))
    assert min(samples.n_tokens for samples in found) >= 400
    assert found[0] != found[1], "another arithmetic draws other tokens somewhere"


def test_the_teachers_states_are_worked_out_once(rows: Rows, tmp_path: Path) -> None:
    model, file = tiny.build("llama"), tmp_path / "teacher.states"
    first = TeacherStates(model, len(rows.prose), rows.prose.shape[1], file).get([3, 5], rows.prose[[3, 5]])
    assert torch.allclose(first, model.model(rows.prose[[3, 5]]).last_hidden_state, atol=1e-2)
    later = TeacherStates(model, len(rows.prose), rows.prose.shape[1], file)
    later.model = None  # a row that is known needs no model
    assert torch.equal(later.get([5], rows.prose[[5]])[0], first[1])


def test_a_higher_rank_changes_nothing_before_training(start: SplitState, rows: Rows) -> None:
    wider = with_rank(start, 5, 0)
    assert wider.split.lora_rank == 5
    with torch.no_grad():
        logits = [make_student(tiny.build("llama"), s)(rows.prose[:2]).logits for s in (start, wider)]
    assert torch.allclose(logits[0], logits[1], atol=1e-6)


def test_sharper_routers_choose_the_same_experts_with_more_certainty(start: SplitState, rows: Rows) -> None:
    sharpness, choices = [], []
    for state in (start, sharpened(start, 1.5)):
        student = make_student(tiny.build("llama"), state)
        first = next(iter(split_layers(student).values()))
        first.energy_share = 1.0
        with torch.no_grad():
            student(rows.prose[:2])
        assert first.routed is not None
        sharpness.append(float(first.routed.logits.softmax(-1).amax(-1).mean()))
        choices.append(first.routed.chosen)
    assert sharpness[1] > sharpness[0]
    assert torch.equal(choices[0], choices[1])


def test_pages_are_read_as_running_text(tmp_path: Path) -> None:
    page = (
        "<head><title>no</title></head><nav>no</nav><main><p>One &amp; <b>two</b>.</p><pre>no</pre><p>Three"
    )
    (tmp_path / "a.html").write_text(page, encoding="utf-8")
    assert list(_files(tmp_path)) == ["One & two.\n\nThree"]


def test_rows_are_all_seen_once_before_any_is_seen_again() -> None:
    order = RowOrder(7, 0)
    taken = order.take(5) + order.take(9)
    assert sorted(taken[:7]) == sorted(taken[7:]) == list(range(7))
    again = RowOrder(7, 0)
    again.taken = 5
    assert again.take(9) == taken[5:]


def test_int8_rows_and_the_turned_factors_keep_the_product() -> None:
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(4, 30, generator=generator), torch.randn(20, 4, generator=generator)
    a2, b2 = balance(a, b)
    assert torch.allclose(b2 @ a2, b @ a, atol=1e-4)
    values, scale = quantise_rows(a2)
    assert float((values.float() * scale.float()[:, None] - a2).abs().max()) <= float(scale.max()) * 0.52


def test_sampling_repeats_by_seed_and_stops_at_the_end_of_text() -> None:
    model, settings = tiny.build("llama"), SETTINGS.sampling
    prompts = [[5, 6, 7], [9], [11, 12], [8, 8, 8, 8]]

    def run() -> list[list[int]]:
        return continue_batch(model, prompts, settings, {1}, torch.Generator().manual_seed(2))

    first = run()
    assert first == run()
    assert all(1 not in text[:-1] for text in first)


def test_the_whole_recipe_runs_resumes_and_its_asset_builds(tmp_path: Path) -> None:
    dense = tmp_path / "dense"
    tiny.save(tiny.build("llama", max_position_embeddings=512), dense)
    prose = tmp_path / "prose"
    prose.mkdir()
    for n in range(30):
        (prose / f"{n}.txt").write_text(f"the cat of {n} sat on the mat and the rest of the story is. " * 30)
    recipe = command.Recipe(dense, tmp_path / "work", SETTINGS, [prose], lambda _: None)
    file = recipe.run(5.0)
    assert {"rows.safetensors", "start.safetensors", "checkpoint.safetensors", "report.json"} <= {
        f.name for f in (tmp_path / "work").iterdir()
    }
    first = file.read_bytes()
    again = command.Recipe(dense, tmp_path / "work", SETTINGS, [prose], lambda _: None)
    assert again.run(5.0).read_bytes() == first  # every stage was done: nothing moves
    build(dense, tmp_path / "moe", asset_file=file)
    assert (tmp_path / "moe/model.safetensors").exists()


def test_a_work_folder_in_use_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "something").write_text("x")
    assert command.main(["--minutes", "1", "--work", str(tmp_path), "--dense", str(tmp_path)]) == 1
    assert "--resume" in capsys.readouterr().err


def test_more_processes_than_a_step_has_parts_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--minutes", "1", "--work", str(tmp_path), "--dense", str(tmp_path), "--workers", "3"]
    assert command.main(asked) == 1
    assert "1 to 2" in capsys.readouterr().err
