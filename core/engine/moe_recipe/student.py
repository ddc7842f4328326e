"""The model in training: a Llama whose FFNs are split into a shared part and routed experts.

Only small things are trained: routers, low-rank corrections, scales and RMSNorm factors. The dense weights
stay
frozen. The forward computes the chosen experts alone, so a step costs what the finished model's step costs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from core.engine.moe_recipe.settings import SplitSettings

KINDS = ("g", "u", "d")


@dataclass
class LayerState:
    """The trained tensors of one split layer. E experts, F neurons, d width, r rank."""

    order: torch.Tensor  # (F,) int64
    router: torch.Tensor  # (E, d)
    expert_scale: torch.Tensor  # (E,)
    channel_scale: torch.Tensor  # (d,)
    a: dict[str, torch.Tensor]  # g, u: (r, d); d: (r, F)
    b: dict[str, torch.Tensor]  # g, u: (F, r); d: (d, r)


@dataclass
class SplitState:
    """Everything that the recipe makes: what the asset holds, in float32."""

    split: SplitSettings
    layers: dict[int, LayerState]
    norms: torch.Tensor  # (2 * n_layers + 1, d)


def fresh_layer(
    order: torch.Tensor, router: torch.Tensor, expert_scale: torch.Tensor, width: int, rank: int, seed: int
) -> LayerState:
    """A layer before distillation: corrections that are zero because B is."""
    generator = torch.Generator().manual_seed(seed)
    inputs = {"g": width, "u": width, "d": len(order)}
    outputs = {"g": len(order), "u": len(order), "d": width}
    a = {n: torch.randn(rank, inputs[n], generator=generator) / inputs[n] ** 0.5 for n in KINDS}
    b = {n: torch.zeros(outputs[n], rank) for n in KINDS}
    return LayerState(order, router, expert_scale, torch.ones(width), a, b)


def with_rank(state: SplitState, rank: int, seed: int) -> SplitState:
    """The state with corrections of a higher rank: what is added changes nothing before it is trained."""
    extra = rank - state.split.lora_rank
    if extra <= 0:
        return state
    generator = torch.Generator().manual_seed(seed)
    layers = {}
    for i, layer in state.layers.items():
        fresh = {n: torch.randn(extra, t.shape[1], generator=generator) for n, t in layer.a.items()}
        a = {n: torch.cat([t, fresh[n] / t.shape[1] ** 0.5]) for n, t in layer.a.items()}
        b = {n: F.pad(t, (0, extra)) for n, t in layer.b.items()}
        layers[i] = replace(layer, a=a, b=b)
    return SplitState(replace(state.split, lora_rank=rank), layers, state.norms)


def sharpened(state: SplitState, factor: float) -> SplitState:
    """The state with all routers times ``factor``: choices stay, the weights of the chosen move apart."""
    layers = {i: replace(layer, router=layer.router * factor) for i, layer in state.layers.items()}
    return SplitState(state.split, layers, state.norms)


@dataclass
class Routed:
    """What one forward left for the losses. N tokens, E experts, M sampled tokens."""

    logits: torch.Tensor  # (N, E)
    chosen: torch.Tensor  # (N, k)
    positions: torch.Tensor  # (M,) indices of the tokens whose energies were computed
    energy: torch.Tensor  # (M, E) no gradient: sum over an expert's neurons of (h_i |W_down_i|)^2


class SplitFFN(nn.Module):
    """Shared + top-k routed SwiGLU over the permuted dense neurons, with low-rank corrections."""

    def __init__(self, mlp: Any, state: LayerState, split: SplitSettings) -> None:
        super().__init__()
        order = state.order
        self.order, self.split, self.k = order, split, split.experts_per_token
        self.gate = mlp.gate_proj.weight.data[order].clone()  # (F, d)
        self.up = mlp.up_proj.weight.data[order].clone()
        self.down = mlp.down_proj.weight.data[:, order].clone()  # (d, F)
        self.router = nn.Parameter(state.router.clone())
        self.expert_scale = nn.Parameter(state.expert_scale.clone())
        self.channel_scale = nn.Parameter(state.channel_scale.clone())
        self.a = nn.ParameterDict({n: nn.Parameter(t.clone()) for n, t in state.a.items()})
        self.b = nn.ParameterDict({n: nn.Parameter(t.clone()) for n, t in state.b.items()})
        self.energy_share = 0.0  # share of tokens whose expert energies are kept for the router's target
        self.routed: Routed | None = None
        self.random_choice: torch.Generator | None = None  # evaluation only: ignore the router

    @property
    def size(self) -> int:
        """Neurons per expert."""
        return (len(self.order) - self.split.shared) // self.split.n_experts

    def block(self, expert: int) -> slice:
        """Where the expert's neurons lie in the permuted order."""
        start = self.split.shared + expert * self.size
        return slice(start, start + self.size)

    def state(self) -> LayerState:
        """A copy of what was trained."""
        a = {n: p.detach().clone() for n, p in self.a.items()}
        b = {n: p.detach().clone() for n, p in self.b.items()}
        router, scale = self.router.detach().clone(), self.expert_scale.detach().clone()
        return LayerState(self.order, router, scale, self.channel_scale.detach().clone(), a, b)

    def _hidden(self, x: torch.Tensor, ag: torch.Tensor, au: torch.Tensor, block: slice) -> torch.Tensor:
        """silu(gate) * up of some neurons: x (n, d), ag and au (n, r) its low-rank halves -> (n, neurons)."""
        gate = torch.addmm(F.linear(ag, self.b["g"][block]), x, self.gate[block].T)
        up = torch.addmm(F.linear(au, self.b["u"][block]), x, self.up[block].T)
        return F.silu(gate) * up

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        shape = hidden_states.shape
        x = hidden_states.reshape(-1, shape[-1])  # (N, d)
        ag, au = F.linear(x, self.a["g"]), F.linear(x, self.a["u"])  # (N, r)
        logits = F.linear(x, self.router)  # (N, E)
        scores = logits if self.random_choice is None else self._random_scores(logits)
        value, chosen = scores.topk(self.k, -1)
        weight = value.softmax(-1) * self.k * self.expert_scale[chosen]  # (N, k)
        shared = slice(0, self.split.shared)
        h = self._hidden(x, ag, au, shared)
        y, low = F.linear(h, self.down[:, shared]), F.linear(h, self.a["d"][:, shared])
        for expert in range(self.split.n_experts):
            token, rank = (chosen == expert).nonzero(as_tuple=True)
            if len(token) == 0:
                continue
            block = self.block(expert)
            h = self._hidden(x[token], ag[token], au[token], block) * weight[token, rank, None]
            y = y.index_add(0, token, F.linear(h, self.down[:, block]))
            low = low.index_add(0, token, F.linear(h, self.a["d"][:, block]))
        if self.energy_share > 0:
            self._keep(x, ag, au, logits, chosen)
        return ((y + F.linear(low, self.b["d"])) * self.channel_scale).view(shape)

    def _random_scores(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.rand(logits.shape, generator=self.random_choice) * 0.02

    @torch.no_grad()
    def _energies(self, x: torch.Tensor, ag: torch.Tensor, au: torch.Tensor) -> torch.Tensor:
        routed = slice(self.split.shared, len(self.order))
        h = self._hidden(x, ag, au, routed)  # (M, E * size)
        strength = self.down[:, routed].pow(2).sum(0)  # |W_down_i|^2
        return (h.pow(2) * strength).view(len(x), self.split.n_experts, self.size).sum(-1)

    def _keep(self, x: torch.Tensor, ag: torch.Tensor, au: torch.Tensor, logits: torch.Tensor,
              chosen: torch.Tensor) -> None:  # fmt: skip
        step = max(1, round(1 / self.energy_share))
        positions = torch.arange(0, len(x), step)
        energy = self._energies(x[positions], ag[positions], au[positions])
        self.routed = Routed(logits, chosen, positions, energy)


class GainNorm(nn.Module):
    """RMSNorm whose frozen weight is multiplied by a trained factor."""

    def __init__(self, norm: Any, gain: torch.Tensor) -> None:
        super().__init__()
        self.frozen = norm.weight.data
        self.eps = float(norm.variance_epsilon)
        self.gain = nn.Parameter(gain.clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(x, (x.shape[-1],), self.frozen * self.gain, self.eps)


def _norm_places(model: Any) -> list[tuple[Any, str]]:
    places: list[tuple[Any, str]] = []
    for layer in model.model.layers:
        places += [(layer, "input_layernorm"), (layer, "post_attention_layernorm")]
    return [*places, (model.model, "norm")]


def make_student(model: Any, state: SplitState) -> Any:
    """Turn ``model`` (a Llama, changed in place and frozen) into the student that ``state`` describes."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for i, layer in state.layers.items():
        model.model.layers[i].mlp = SplitFFN(model.model.layers[i].mlp, layer, state.split)
    for row, (owner, name) in enumerate(_norm_places(model)):
        setattr(owner, name, GainNorm(getattr(owner, name), state.norms[row]))
    return model


def split_layers(model: Any) -> dict[int, SplitFFN]:
    """The split FFNs of a student by layer number."""
    layers = enumerate(model.model.layers)
    return {i: layer.mlp for i, layer in layers if isinstance(layer.mlp, SplitFFN)}


def norm_gains(model: Any) -> list[nn.Parameter]:
    """The trained RMSNorm factors of a student, in the order of the asset's ``norms`` rows."""
    return [getattr(owner, name).gain for owner, name in _norm_places(model)]


def student_state(model: Any, split: SplitSettings) -> SplitState:
    """A copy of everything that was trained."""
    layers = {i: mlp.state() for i, mlp in split_layers(model).items()}
    return SplitState(split, layers, torch.stack([gain.detach() for gain in norm_gains(model)]))
