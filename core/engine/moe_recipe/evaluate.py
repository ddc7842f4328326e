"""How good an MoE is: perplexity, distance from the dense model, use of the experts, sharpness of the
routers.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F

from core.engine.moe_recipe.student import SplitFFN, split_layers

ROWS_AT_A_TIME = 2
TINY = 1e-9


@dataclass(frozen=True)
class Quality:
    """One model on one set of texts. KL in nats per token; load entropy 1 = all experts used alike."""

    perplexity: float
    dense_perplexity: float
    kl: float
    agreement: float  # share of positions with the dense model's first choice
    load_entropy: float  # mean over layers, as a share of log E
    load_entropy_worst: float
    top_probability: float  # the router's mean highest probability; 1 / E would be flat
    positions: int

    def as_dict(self) -> dict[str, float | int]:
        return asdict(self)


class RouterTally:
    """Counts choices and sharpness in every split layer while a student runs."""

    def __init__(self, student: Any) -> None:
        self.layers = split_layers(student)
        n_experts = next(iter(self.layers.values())).split.n_experts
        self.counts = torch.zeros(len(self.layers), n_experts)
        self.top = torch.zeros(len(self.layers))
        self.seen = 0
        self.energy_shares = {i: layer.energy_share for i, layer in self.layers.items()}

    def __enter__(self) -> RouterTally:
        for layer in self.layers.values():
            layer.energy_share = 1e-4  # keep the router's logits, hardly any energies
        return self

    def __exit__(self, *_: object) -> None:
        for i, layer in self.layers.items():
            layer.energy_share = self.energy_shares[i]

    def add(self) -> None:
        """Take in what the last forward left."""
        tokens = 0
        for row, layer in enumerate(self.layers.values()):
            routed = layer.routed
            assert routed is not None
            self.counts[row] += torch.bincount(routed.chosen.reshape(-1), minlength=self.counts.shape[1])
            self.top[row] += routed.logits.softmax(-1).amax(-1).sum()
            tokens = len(routed.logits)
        self.seen += tokens

    def load_entropy(self) -> torch.Tensor:
        """(n_layers,) entropy of the load as a share of log E."""
        share = self.counts / self.counts.sum(1, keepdim=True)
        return -(share * (share + TINY).log()).sum(1) / math.log(self.counts.shape[1])


@torch.no_grad()
def evaluate(teacher: Any, student: Any, rows: torch.Tensor) -> Quality:
    """Score the student on ``rows`` (n, T): each position from the second on is predicted from those
    before.
    """
    loss = dense_loss = kl = 0.0
    agree = count = 0
    with RouterTally(student) as tally:
        for start in range(0, len(rows), ROWS_AT_A_TIME):
            ids = rows[start : start + ROWS_AT_A_TIME]
            p = teacher(ids, use_cache=False).logits[:, :-1].float().log_softmax(-1)  # (rows, T - 1, V)
            q = student(ids, use_cache=False).logits[:, :-1].float().log_softmax(-1)
            tally.add()
            target = ids[:, 1:, None]
            loss -= float(q.gather(-1, target).sum())
            dense_loss -= float(p.gather(-1, target).sum())
            kl += float(F.kl_div(q, p, reduction="sum", log_target=True))
            agree += int((p.argmax(-1) == q.argmax(-1)).sum())
            count += target.numel()
    entropy = tally.load_entropy()
    return Quality(
        math.exp(loss / count), math.exp(dense_loss / count), kl / count, agree / count,
        float(entropy.mean()), float(entropy.min()), float(tally.top.mean()) / tally.seen, count,
    )  # fmt: skip


def randomise_routers(student: Any, seed: int) -> None:
    """Replace every router by a random one of the same size: the control that shows what routing is worth."""
    generator = torch.Generator().manual_seed(seed)
    for layer in split_layers(student).values():
        router = layer.router.data
        layer.router.data = torch.randn(router.shape, generator=generator) * router.std()


def active_parameters(model: Any, layers: dict[int, SplitFFN]) -> tuple[int, int]:
    """(total, active per token), embeddings counted once, as the built model has them.

    Corrections, scales and norm factors are folded into weights, so they add nothing; routers do.
    """
    some = next(iter(layers.values()))
    width = some.gate.shape[1]
    config = model.config
    head = config.hidden_size // config.num_attention_heads
    attention = 2 * width * width + 2 * width * config.num_key_value_heads * head
    blocks = config.num_hidden_layers * (attention + 3 * width * len(some.order) + 2 * width)
    embeddings = config.vocab_size * width * (1 if config.tie_word_embeddings else 2)
    shared_gate = width
    total = embeddings + blocks + width + len(layers) * (some.split.n_experts * width + shared_gate)
    idle = (some.split.n_experts - some.k) * some.size * 3 * width
    return total, total - len(layers) * idle
