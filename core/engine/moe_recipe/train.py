"""Sampling and distillation as tasks for one or several processes, each of which reads the work folder's
files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from core.engine.moe_recipe.checkpoint import load_state, load_tensors, save_state
from core.engine.moe_recipe.dataset import Rows
from core.engine.moe_recipe.distil import Distiller
from core.engine.moe_recipe.sampling import Samples, load_samples, sample_text, together
from core.engine.moe_recipe.settings import RecipeSettings
from core.engine.moe_recipe.student import SplitState, make_student
from core.engine.moe_recipe.teacher import TeacherStates
from core.engine.moe_recipe.workers import Group, run_together

Log = Callable[[str], None]


@dataclass(frozen=True)
class Task:
    """What to do and where its files lie. The ``seconds`` of a distillation count all sittings together."""

    dense: Path
    work: Path
    settings: RecipeSettings
    seconds: float

    @property
    def rows(self) -> Path:
        return self.work / "rows.safetensors"

    @property
    def start(self) -> Path:
        return self.work / "start.safetensors"

    @property
    def checkpoint(self) -> Path:
        return self.work / "checkpoint.safetensors"

    @property
    def trained(self) -> Path:
        return self.work / "trained.safetensors"


def load_dense(folder: Path) -> Any:
    """A fresh float32 copy of the dense model."""
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def sample(task: Task, workers: int, log: Log) -> Samples:
    """Text sampled from the dense model; goes on from what as many processes have left."""
    run_together(workers, _sample_part, task, log)
    return together([load_samples(file) for file in sorted(task.work.glob(f"samples-*-of-{workers}.json"))])


def _sample_part(group: Group, task: Task, log: Log) -> None:
    from transformers import AutoTokenizer

    settings, file = task.settings, task.work / f"samples-{group.rank}-of-{group.size}.json"
    tokenizer: Any = AutoTokenizer.from_pretrained(task.dense)
    dense = load_dense(task.dense).to(getattr(torch, settings.sampling.dtype))
    turn = (group.rank, group.size)
    sample_text(dense, tokenizer, settings.sampling, settings.seed, task.seconds, file, log, turn)


def distil(task: Task, workers: int, log: Log) -> SplitState:
    """Train until the time is used up; goes on from the checkpoint if there is one."""
    run_together(workers, _distil_part, task, log)
    return load_state(task.trained)


def _distil_part(group: Group, task: Task, log: Log) -> None:
    """One process's part of the training; the leader leaves the trained state."""
    rows = Rows(**load_tensors(task.rows)[0])
    student = make_student(load_dense(task.dense), load_state(task.start))
    n_rows, length = len(rows.prose) + len(rows.sampled), rows.prose.shape[1]
    states = TeacherStates(load_dense(task.dense), n_rows, length, task.work / "teacher.states")
    settings = task.settings
    distiller = Distiller(states, student, rows, settings.distil, settings.seed, group)
    if task.checkpoint.exists():
        distiller.load(task.checkpoint)
    distiller.run(task.seconds, task.checkpoint, log)
    if group.leads:
        save_state(distiller.state(), task.trained)
