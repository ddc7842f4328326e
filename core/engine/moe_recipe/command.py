"""The command line of the recipe: sample, split, distil, evaluate, pack. Each stage leaves a file and is
resumable.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from core.engine.moe_recipe.checkpoint import load_tensors, save_state, save_tensors
from core.engine.moe_recipe.corpus import prose_documents
from core.engine.moe_recipe.dataset import Rows, build_rows
from core.engine.moe_recipe.evaluate import active_parameters, evaluate, randomise_routers
from core.engine.moe_recipe.initial import initial_state
from core.engine.moe_recipe.pack import pack, unpack
from core.engine.moe_recipe.promote import neuron_energies, promote
from core.engine.moe_recipe.settings import DistilSettings, RecipeSettings, SamplingSettings, SplitSettings
from core.engine.moe_recipe.student import make_student, sharpened, split_layers, with_rank
from core.engine.moe_recipe.train import Task, distil, load_dense, sample
from core.errors import UserError

DEFAULT_MODEL = "smollm2-135m"
CALIBRATION_ROWS = 32  # per kind of text, for the energies of promotion
Log = Callable[[str], None]


def say(line: str) -> None:
    """Print at once, also into a file."""
    print(line, flush=True)


class Recipe:
    """One run in a work folder. Whatever file a stage has left is taken as it is, so a second start goes
    on.
    """

    def __init__(
        self,
        dense: Path,
        work: Path,
        settings: RecipeSettings,
        prose: list[Path] | None = None,
        log: Log = say,
        workers: int = 1,
    ) -> None:
        self.dense, self.work, self.settings, self.log = dense, work, settings, log
        self.workers = workers
        self.prose_folders = prose or []
        work.mkdir(parents=True, exist_ok=True)
        from transformers import AutoTokenizer

        self.tokenizer: Any = AutoTokenizer.from_pretrained(dense)
        self.teacher = load_dense(dense)

    def task(self, seconds: float = 0.0) -> Task:
        """What the processes are told: this recipe's files and settings, and their time."""
        return Task(self.dense, self.work, self.settings, seconds)

    def rows(self, seconds: float) -> Rows:
        """Stage 1: sampled text and prose as rows of tokens."""
        task = self.task(seconds)
        if task.rows.exists():
            return Rows(**load_tensors(task.rows)[0])
        samples = sample(task, self.workers, self.log)
        rows = build_rows(self.tokenizer, prose_documents(self.prose_folders), samples, self.settings)
        save_tensors(vars(rows), task.rows)
        return rows

    def start_state(self, rows: Rows, asset: Path | None, promoted: int) -> None:
        """Stage 2: split the dense FFNs, or go on from an asset (with corrections of the settings' rank);
        then move ``promoted`` neurons per expert.
        """
        file = self.task().start
        if file.exists():
            return
        calibration = torch.cat([rows.prose, rows.sampled])
        mixed = torch.randperm(len(calibration), generator=torch.Generator().manual_seed(self.settings.seed))
        if asset:
            state = with_rank(unpack(asset), self.settings.split.lora_rank, self.settings.seed)
        else:
            state = initial_state(self.teacher, calibration[mixed], self.settings, self.log)
        if promoted:
            student = make_student(load_dense(self.dense), state)
            few = torch.cat([rows.prose[:CALIBRATION_ROWS], rows.sampled[:CALIBRATION_ROWS]])
            state = promote(state, neuron_energies(student, few), promoted)
        save_state(state, file)

    def score(self, rows: Rows, asset: Path) -> dict[str, Any]:
        """Stage 5: measure the packed asset, with its routers and with random ones."""
        report: dict[str, Any] = {}
        for name in ("own routers", "random routers"):
            student = make_student(load_dense(self.dense), unpack(asset))
            if name == "random routers":
                randomise_routers(student, self.settings.seed)
            else:
                total, active = active_parameters(student, split_layers(student))
                report |= {"total parameters": total, "active parameters": active}
            sets = {"prose": rows.prose_eval, "self-sampled": rows.sampled_eval}
            report[name] = {
                k: evaluate(self.teacher, student, ids).as_dict() for k, ids in sets.items() if len(ids)
            }
            self.log(f"{name}: {json.dumps(report[name])}")
        return report

    def run(self, minutes: float, asset: Path | None = None, promoted: int = 0, sharpen: float = 1.0) -> Path:
        """All stages. Returns the packed asset's path; ``report.json`` lies beside it."""
        rows = self.rows(minutes * 60 * self.settings.sampling_share)
        if not len(rows.sampled) or not len(rows.prose):
            what = "There is too little text to train on."
            raise UserError(what, "Give the recipe more minutes, or a folder of prose with --prose.")
        self.start_state(rows, asset, promoted)
        seconds = minutes * 60 * (1 - self.settings.sampling_share)
        state = distil(self.task(seconds), self.workers, self.log)
        out = self.work / "smollm2-135m-moe.safetensors"
        pack(sharpened(state, sharpen), out)
        report = self.score(rows, out)
        (self.work / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
        return out


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="moe-recipe", description="Make the asset of the default MoE model."
    )
    parser.add_argument(
        "--minutes", type=float, required=True, help="time for sampling and training together"
    )
    parser.add_argument("--work", type=Path, required=True, help="folder for checkpoints and the result")
    parser.add_argument("--resume", action="store_true", help="go on in a work folder that is not empty")
    parser.add_argument("--dense", type=Path, help="folder of the dense model (else the default model)")
    parser.add_argument(
        "--prose",
        type=Path,
        action="append",
        default=[],
        help="folder with more prose (text, Markdown or HTML)",
    )
    parser.add_argument(
        "--start-from", type=Path, help="an asset to go on training from, instead of splitting anew"
    )
    parser.add_argument(
        "--promote", type=int, default=0, help="neurons per expert to move to the shared part"
    )
    parser.add_argument(
        "--rank", type=int, default=SplitSettings.lora_rank, help="rank of the low-rank corrections"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes that work together")
    parser.add_argument("--rate-factor", type=float, default=1.0, help="all learning rates times this")
    parser.add_argument(
        "--sampled-share", type=float, default=DistilSettings.sampled_share, help="of each step's rows"
    )
    parser.add_argument(
        "--sample-dtype",
        choices=["float32", "bfloat16"],
        default=SamplingSettings.dtype,
        help="what the dense model samples in",
    )
    parser.add_argument("--sharpen", type=float, default=1.0, help="all routers times this, at the end")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--threads", type=int, default=0, help="torch threads; 0 leaves torch's own choice")
    return parser.parse_args(argv)


def _dense_folder() -> Path:
    from core.engine import weights

    return Path(weights.ensure(DEFAULT_MODEL))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 when the asset was written, 1 when something is in the way."""
    from dataclasses import replace

    args = _arguments(argv)
    if args.threads:
        torch.set_num_threads(args.threads)
    try:
        if args.work.exists() and any(args.work.iterdir()) and not args.resume:
            what = f"The work folder {args.work} is not empty."
            raise UserError(what, "Add --resume to go on there, or name another folder.")
        settings = RecipeSettings(seed=args.seed)
        most = settings.distil.rows_per_step // settings.distil.micro_rows
        if not 1 <= args.workers <= most:
            what = f"{args.workers} processes cannot share a step of {most} parts."
            raise UserError(what, f"Name 1 to {most} with --workers.")
        distil = replace(settings.distil, rate_factor=args.rate_factor, sampled_share=args.sampled_share)
        settings = replace(
            settings,
            distil=distil,
            split=replace(settings.split, lora_rank=args.rank),
            sampling=replace(settings.sampling, dtype=args.sample_dtype),
        )
        dense = args.dense or _dense_folder()
        recipe = Recipe(dense, args.work, settings, args.prose, workers=args.workers)
        file = recipe.run(args.minutes, args.start_from, args.promote, args.sharpen)
    except UserError as error:
        print(f"{error.what} {error.todo}", file=sys.stderr)
        return 1
    print(f"The asset is {file}; its measurements are in {file.parent / 'report.json'}.")
    return 0
