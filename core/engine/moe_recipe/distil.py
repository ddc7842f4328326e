"""Distillation: the student learns the dense model's distributions, its last hidden states and a sharp
router.

loss = KL(dense || student) over the commonest tokens + relative error of the final hidden states
     + load balance (Switch Transformer) + cross-entropy of the router with the experts' energies.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from core.engine.moe_recipe.checkpoint import load_tensors, save_tensors
from core.engine.moe_recipe.dataset import RowOrder, Rows
from core.engine.moe_recipe.settings import DistilSettings
from core.engine.moe_recipe.student import (
    Routed,
    SplitFFN,
    SplitState,
    norm_gains,
    split_layers,
    student_state,
)
from core.engine.moe_recipe.teacher import TeacherStates
from core.engine.moe_recipe.workers import Group

Log = Callable[[str], None]
EMA_DECAY = 0.98
EMA_POWER = 0.7  # how much of an expert's usual energy is divided out of the router's target
KL_DECAY = 0.95
BETAS = (0.9, 0.98)  # Adam
ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")


@dataclass
class Progress:
    """Where a training run stands; saved in its checkpoint."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    kl: float = 0.0  # running mean, over the commonest tokens only: not the KL of the evaluation


@dataclass
class Losses:
    """One micro-batch's parts of the loss."""

    kl: torch.Tensor
    hidden: torch.Tensor
    balance: torch.Tensor
    router: torch.Tensor
    sharpness: float

    def total(self, settings: DistilSettings) -> torch.Tensor:
        weighted = settings.hidden_weight * self.hidden + settings.balance_weight * self.balance
        return self.kl + weighted + settings.router_weight * self.router


def common_tokens(rows: Rows, vocabulary_size: int, count: int) -> torch.Tensor:
    """The ids of the ``count`` commonest tokens of the training rows (samples weigh four times)."""
    ids = torch.cat([rows.prose.reshape(-1), rows.sampled.reshape(-1).repeat(4)])
    return torch.bincount(ids, minlength=vocabulary_size).topk(min(count, vocabulary_size)).indices


def router_target(energy: torch.Tensor, usual: torch.Tensor, temperature: float) -> torch.Tensor:
    """(M, E) probabilities: which experts matter most for each token, against what they usually carry."""
    return ((energy + 1e-8).log() - EMA_POWER * (usual + 1e-8).log()).div(temperature).softmax(-1)


def load_balance(routed: Routed, n_experts: int) -> torch.Tensor:
    """E * sum_e (share of choices) * (mean probability): 1 when both are uniform (Fedus et al. 2021)."""
    share = torch.bincount(routed.chosen.reshape(-1), minlength=n_experts).float() / routed.chosen.numel()
    return n_experts * (share * routed.logits.softmax(-1).mean(0)).sum()


def learning_rate_scale(done: float, step: int, settings: DistilSettings) -> float:
    """Linear warm-up, then a cosine from 1 to ``floor`` over ``done`` in 0..1, all times ``rate_factor``."""
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    shape = cosine * (1 - settings.floor) + settings.floor
    return min(1.0, (step + 1) / settings.warm_up) * shape * settings.rate_factor


def _groups(student: Any, settings: DistilSettings) -> tuple[dict[str, list[nn.Parameter]], dict[str, float]]:
    layers = list(split_layers(student).values())
    groups = {
        "router": [layer.router for layer in layers],
        "scale": [p for layer in layers for p in (layer.expert_scale, layer.channel_scale)],
        "lora": [p for layer in layers for p in (*layer.a.values(), *layer.b.values())],
        "norm": norm_gains(student),
    }
    mean_router = sum(float(r.detach().abs().mean()) for r in groups["router"]) / len(layers)
    rates = {
        "router": mean_router * settings.router_rate,
        "scale": settings.scale_rate,
        "lora": settings.lora_rate,
        "norm": settings.norm_rate,
    }
    return groups, rates


class Distiller:
    """One training run: holds teacher, student, optimiser and the place in the data."""

    def __init__(
        self,
        teacher: TeacherStates,
        student: Any,
        rows: Rows,
        settings: DistilSettings,
        seed: int,
        group: Group | None = None,
    ) -> None:
        self.teacher, self.student, self.settings, self.rows = teacher, student, settings, rows
        self.group = group or Group()
        self.layers: list[SplitFFN] = list(split_layers(student).values())
        dense = teacher.model
        ids = common_tokens(rows, dense.config.vocab_size, settings.vocabulary)
        self.head = dense.lm_head.weight.data[ids].clone()  # (common, d)
        self.groups, self.rates = _groups(student, settings)
        for parameter in self._parameters():
            parameter.requires_grad_(True)
        groups = [{"params": self.groups[name], "lr": self.rates[name], "name": name} for name in self.groups]
        self.optimiser = torch.optim.Adam(groups, betas=BETAS)
        self.usual = torch.zeros(len(self.layers), self.layers[0].split.n_experts)
        self.prose_order = RowOrder(len(rows.prose), seed)
        self.sampled_order = RowOrder(len(rows.sampled), seed + 1)
        self.progress = Progress()
        for layer in self.layers:
            layer.energy_share = settings.energy_positions

    def _parameters(self) -> Iterator[nn.Parameter]:
        for group in self.groups.values():
            yield from group

    def run(self, seconds: float, file: Path, log: Log = print) -> Progress:
        """Train until ``seconds`` (earlier sittings included) or the settings' steps are used up.

        A checkpoint is written every ``checkpoint_every`` steps and at the end. A run bounded by steps
        repeats exactly; one bounded by time ends where the clock says.
        """
        began, before = time.monotonic(), self.progress.seconds
        while True:
            self.progress.seconds = self.group.agree(before + time.monotonic() - began)
            done = max(self.progress.seconds / seconds, self.progress.step / self.settings.steps)
            if done >= 1:
                break
            losses = self.step(done)
            if self.progress.step % self.settings.checkpoint_every == 0:
                self.save(file)
            if self.group.leads:
                log(self._line(losses))
        self.save(file)
        return self.progress

    def step(self, done: float) -> Losses:
        """One optimiser step over ``rows_per_step`` rows, in micro-batches shared out to the processes.
        Returns this process's last micro-batch.
        """
        scale = learning_rate_scale(done, self.progress.step, self.settings)
        for group in self.optimiser.param_groups:
            group["lr"] = self.rates[group["name"]] * scale
        for parameter in self._parameters():
            parameter.grad = torch.zeros_like(parameter)
        keys, ids = self._next_rows()
        micro = self.settings.micro_rows
        starts = range(0, len(keys), micro)
        energy, kl = torch.zeros_like(self.usual), torch.zeros(1)
        losses = None
        for start in starts[self.group.rank :: self.group.size]:
            losses = self._losses(keys[start : start + micro], ids[start : start + micro])
            (losses.total(self.settings) / len(starts)).backward()
            energy += self._energy() / len(starts)
            kl += losses.kl.detach() / len(starts)
        self.group.add_up([*(p.grad for p in self._parameters() if p.grad is not None), energy, kl])
        nn.utils.clip_grad_norm_(self.groups["lora"], self.settings.clip)
        nn.utils.clip_grad_norm_(self.groups["router"], self.settings.clip)
        self.optimiser.step()
        self._count(ids.numel(), float(kl), energy)
        assert losses is not None
        return losses

    def _count(self, n_tokens: int, kl: float, energy: torch.Tensor) -> None:
        first, progress = self.progress.step == 0, self.progress
        progress.kl = kl if first else KL_DECAY * progress.kl + (1 - KL_DECAY) * kl
        self.usual = energy if first else EMA_DECAY * self.usual + (1 - EMA_DECAY) * energy
        progress.step += 1
        progress.tokens += n_tokens

    def _energy(self) -> torch.Tensor:
        """(n_layers, E) mean energy of each expert in the last micro-batch."""
        return torch.stack([layer.routed.energy.mean(0) for layer in self.layers if layer.routed is not None])

    def _next_rows(self) -> tuple[list[int], torch.Tensor]:
        """Row keys and ids, prose and samples mixed so that every micro-batch has some of both."""
        total = self.settings.rows_per_step
        n_sampled = round(total * self.settings.sampled_share)
        prose = self.prose_order.take(total - n_sampled)
        sampled = self.sampled_order.take(n_sampled)
        keys = prose + [len(self.rows.prose) + i for i in sampled]
        ids = torch.cat([self.rows.prose[prose], self.rows.sampled[sampled]])
        micro = max(1, total // self.settings.micro_rows)
        order = [i for part in range(micro) for i in range(part, total, micro)]
        return [keys[i] for i in order], ids[order]

    def _losses(self, keys: list[int], ids: torch.Tensor) -> Losses:
        width = self.head.shape[1]
        goal = self.teacher.get(keys, ids).view(-1, width)  # (N, d)
        own = self.student.model(ids, use_cache=False).last_hidden_state.reshape(-1, width)
        with torch.no_grad():
            p = F.linear(goal, self.head).log_softmax(-1)
        q = F.linear(own, self.head).log_softmax(-1)
        kl = (p.exp() * (p - q)).sum(-1).mean()
        hidden = ((own - goal).pow(2).sum(-1) / goal.pow(2).sum(-1)).mean()
        balance, router, sharpness = own.new_zeros(()), own.new_zeros(()), 0.0
        for number, layer in enumerate(self.layers):
            routed = layer.routed
            assert routed is not None
            balance = balance + load_balance(routed, layer.split.n_experts)
            router = router + self._router_loss(number, routed)
            sharpness += float(routed.logits.detach().softmax(-1).amax(-1).mean())
        n = len(self.layers)
        return Losses(kl, hidden, balance / n, router / n, sharpness / n)

    def _router_loss(self, number: int, routed: Routed) -> torch.Tensor:
        usual = self.usual[number] if self.progress.step else routed.energy.mean(0)
        target = router_target(routed.energy, usual, self.settings.target_temperature)
        logits = routed.logits[routed.positions] / self.settings.router_softening
        return -(target * logits.log_softmax(-1)).sum(-1).mean()

    def _line(self, losses: Losses) -> str:
        p = self.progress
        return (
            f"step {p.step} tokens {p.tokens} {p.seconds:.0f} s kl {p.kl:.4f} "
            f"hidden {losses.hidden.item():.3f} "
            f"balance {losses.balance.item():.3f} router {losses.router.item():.3f} "
            f"sharp {losses.sharpness:.3f}"
        )

    def state(self) -> SplitState:
        """A copy of what was trained so far."""
        return student_state(self.student, self.layers[0].split)

    def save(self, file: Path) -> None:
        """Write the checkpoint in one move; of several processes the leader does."""
        if not self.group.leads:
            return
        tensors = {"usual": self.usual}
        for n, parameter in enumerate(self._parameters()):
            tensors[f"parameter.{n}"] = parameter
            for name, value in self.optimiser.state[parameter].items():
                tensors[f"{name}.{n}"] = value
        taken = [self.prose_order.taken, self.sampled_order.taken]
        save_tensors(tensors, file, {"taken": taken, "progress": vars(self.progress)})

    def load(self, file: Path) -> None:
        """Go on from a checkpoint of the same settings."""
        tensors, facts = load_tensors(file)
        with torch.no_grad():
            for n, parameter in enumerate(self._parameters()):
                parameter.copy_(tensors[f"parameter.{n}"])
                moments = {name: tensors[f"{name}.{n}"] for name in ADAM_STATE if f"{name}.{n}" in tensors}
                self.optimiser.state[parameter].update(moments)
        self.usual = tensors["usual"]
        self.prose_order.taken, self.sampled_order.taken = facts["taken"]
        self.progress = Progress(**facts["progress"])
