"""One block of a model as a flow of captured vectors, and the sums that hold in it.

Symbols: T positions, d model width, H query and G key/value heads of hd numbers, F feed-forward width,
E experts, k chosen ones. Everything is read from a :class:`LayerView` and the model's own weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    from core.engine.layer_view import LayerView


@dataclass(frozen=True)
class Row:
    """One vector of a box. ``number`` tells rows apart (a head, an expert); ``share``: an expert's weight."""

    kind: str
    number: int
    values: np.ndarray
    share: float | None = None


@dataclass(frozen=True)
class Box:
    """One station of the flow.

    Attributes:
        name: which station, the key of its texts. colour: the meaning it is drawn in.
        lane: "stream", "attention" or "ffn". column: from the left.
        rows: its vectors at the chosen position. weights: (name in the model, shape) of what made it.
    """

    name: str
    colour: str
    lane: str
    column: int
    rows: tuple[Row, ...]
    weights: tuple[tuple[str, tuple[int, ...]], ...] = ()

    @property
    def width(self) -> int:
        """Numbers in the box."""
        return sum(len(row.values) for row in self.rows)


@dataclass(frozen=True)
class Flow:
    """A block at one position. ``parallel``: both parts read the same input and are added together.

    ``links``: (from, to) names of boxes; what leads into a box of the lane "stream" is added there.
    """

    boxes: tuple[Box, ...]
    links: tuple[tuple[str, str], ...]
    parallel: bool
    gated: bool
    n_experts: int

    @property
    def columns(self) -> int:
        return 1 + max(box.column for box in self.boxes)


@dataclass(frozen=True)
class Sums:
    """Largest differences when the block's sums are made again, over all positions."""

    residual: float
    feed_forward: float | None
    size: float


@dataclass(frozen=True)
class Added:
    """What the two parts of one layer added at each position.

    ``*_size`` (T,): lengths. ``*_cosine`` (T,): cosine with the stream that the part's output was added to.
    """

    attention_size: np.ndarray
    attention_cosine: np.ndarray
    ffn_size: np.ndarray
    ffn_cosine: np.ndarray


def flow(model: Any, view: LayerView, position: int, head: int) -> Flow:
    """The block's stations with the vectors of ``position``, in the order of the computation."""
    parallel = view.resid_mid is None
    boxes = [_vector("resid_in", "residual", "stream", 0, view.resid_in[position])]
    column = _attention(model, view, position, head, boxes, 1)
    if view.resid_mid is not None:
        boxes.append(_vector("resid_mid", "residual", "stream", column, view.resid_mid[position]))
        column += 1
    end = _feed_forward(model, view, position, boxes, 1 if parallel else column)
    boxes.append(_vector("resid_out", "residual", "stream", max(column, end), view.resid_out[position]))
    experts = view.router.logits.shape[-1] if view.router is not None else 0
    return Flow(tuple(boxes), _links(boxes, parallel), parallel, view.gate is not None, experts)


def _links(boxes: Sequence[Box], parallel: bool) -> tuple[tuple[str, str], ...]:
    """Which box feeds which: column by column, with the ways that skip a column put right."""
    stream = [box.name for box in boxes if box.lane == "stream"]
    found = list(pairwise(stream))
    for lane, start, end in (("attention", 0, 1), ("ffn", 0 if parallel else 1, -1)):
        own = [box for box in boxes if box.lane == lane]
        columns = sorted({box.column for box in own})
        steps = [[box.name for box in own if box.column == column] for column in columns]
        steps = [[stream[start]], *steps, [stream[end]]]
        found += [(a, b) for first, second in pairwise(steps) for a in first for b in second]
    names = {box.name for box in boxes}
    wrong = {("value", "weights"), ("router", "shared")}
    norm = "mlp_norm" if "mlp_norm" in names else stream[0 if parallel else 1]
    added = [("value", "heads"), *([(norm, "experts")] if "experts" in names else [])]
    added += [(norm, "shared")] if "shared" in names else []
    return tuple(link for link in found if link not in wrong) + tuple(added)


def _attention(model: Any, view: LayerView, position: int, head: int, boxes: list[Box], column: int) -> int:
    def put(name: str, colour: str, rows: tuple[Row, ...], words: Sequence[str] = ()) -> None:
        weights = weight_names(model, view.layer, "attention", words)
        boxes.append(Box(name, colour, "attention", column, rows, weights))

    if view.attn_norm is not None:
        boxes.append(_vector("attn_norm", "muted", "attention", column, view.attn_norm[position]))
        column += 1
    fused = ("qkv_proj", "c_attn", "query_key_value")
    put("query", "query", _heads("head", view.q[:, position]), ("q_proj", "q_a_proj", "q_b_proj", *fused))
    put("key", "key", _heads("kv_head", view.k[:, position]), ("k_proj", "kv_a_proj", "kv_b_proj", *fused))
    put("value", "value", _heads("kv_head", view.v[:, position]), ("v_proj", "kv_b_proj", *fused))
    column += 1
    weights = view.weights(head)[position, : position + 1]
    boxes.append(Box("weights", "attention", "attention", column, (Row("weights", head, weights),)))
    column += 1
    put("heads", "value", _heads("head", view.all_head_out[:, position]))
    column += 1
    put(
        "attn_out",
        "attention",
        (Row("vector", 0, view.attn_out[position]),),
        ("o_proj", "out_proj", "c_proj", "dense"),
    )
    column += 1
    if view.attn_post_norm is not None:
        row = Row("vector", 0, view.attn_post_norm[position])
        boxes.append(Box("attn_post_norm", "muted", "attention", column, (row,)))
        column += 1
    return column


def _feed_forward(model: Any, view: LayerView, position: int, boxes: list[Box], column: int) -> int:
    def put(
        name: str, colour: str, rows: tuple[Row, ...], role: str = "ffn", words: Sequence[str] = ()
    ) -> None:
        boxes.append(Box(name, colour, "ffn", column, rows, weight_names(model, view.layer, role, words)))

    if view.mlp_norm is not None:
        put("mlp_norm", "muted", (Row("vector", 0, view.mlp_norm[position]),))
        column += 1
    if view.router is not None:
        router = view.router
        put("router", "expert", (Row("router", 0, router.probabilities[position]),), "router", ("",))
        column += 1
        made = view.expert_out(position)
        chosen = zip(router.indices[position], router.weights[position], made, strict=True)
        put(
            "experts",
            "expert",
            tuple(Row("expert", int(i), out, float(w)) for i, w, out in chosen),
            "experts",
            ("",),
        )
        if router.shared is not None:
            share = 1.0 if router.shared_gate is None else float(router.shared_gate[position])
            row = Row("shared", 0, router.shared.out[position] * np.float32(share), share)
            put("shared", "ffn", (row,), "shared_expert", ("",))
        column += 1
    elif view.dense is not None:
        gate = view.dense.gate
        if gate is not None:
            put("gate", "ffn", (Row("vector", 0, gate[position]),), words=("gate_proj", "gate_up_proj", "w1"))
        name = "up" if gate is not None else "hidden"
        ups = ("up_proj", "gate_up_proj", "c_fc", "fc_in", "fc1", "dense_h_to_4h")
        put(name, "ffn", (Row("vector", 0, view.dense.up[position]),), words=ups)
        column += 1
        put("act" if gate is not None else "act_plain", "ffn", (Row("vector", 0, view.dense.act[position]),))
        column += 1
    words = ("down_proj", "c_proj", "fc_out", "fc2", "dense_4h_to_h") if view.router is None else ()
    put("mlp_out", "ffn", (Row("vector", 0, view.mlp_out[position]),), words=words)
    column += 1
    if view.mlp_post_norm is not None:
        put("mlp_post_norm", "muted", (Row("vector", 0, view.mlp_post_norm[position]),))
        column += 1
    return column


def weight_names(
    model: Any, layer: int, role: str, words: Sequence[str]
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """(name, shape) of the layer's matrices with this role whose module is one of ``words`` ("": any)."""
    rows = layer_rows(model, layer)
    return tuple(
        (row.name, row.shape)
        for row in rows
        if row.role == role and len(row.shape) > 1 and ("" in words or row.name.split(".")[-2] in words)
    )


def sums(view: LayerView) -> Sums:
    """The residual sums and the feed-forward product, made again from what is shown."""
    if view.resid_mid is None:
        residual = np.abs(view.resid_in + view.attn_added + view.mlp_added - view.resid_out).max()
    else:
        first = np.abs(view.resid_in + view.attn_added - view.resid_mid).max()
        residual = max(first, np.abs(view.resid_mid + view.mlp_added - view.resid_out).max())
    size = max(1.0, float(np.abs(view.resid_out).max()))
    return Sums(float(residual), _expert_sum(view), size)


def _expert_sum(view: LayerView) -> float | None:
    """Chosen experts plus the shared one against the layer's output, at the last position."""
    if view.router is None:
        return None
    last = view.n_positions - 1
    total = view.expert_out(last).sum(axis=0)
    if view.router.shared is not None:
        gate = 1.0 if view.router.shared_gate is None else view.router.shared_gate[last]
        total = total + view.router.shared.out[last] * gate
    return float(np.abs(total - view.mlp_out[last]).max())


def added(model: Any, trace: Any, layer: int) -> Added:
    """Sizes and directions of what one layer added, kept with each pass."""
    parts = [_added_by(model, trace, made, layer) for made in trace.passes]
    joined = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
    return Added(*joined)


def added_known(trace: Any, layer: int) -> bool:
    """``added`` for this layer costs nothing any more."""
    return all(layer in _ADDED.get(made, {}) for made in trace.passes)


def part_counts(model: Any, layer: int) -> list[tuple[str, int, int]]:
    """(role, numbers in this block, in the whole model) for every role; tied weights once."""
    totals: dict[str, list[int]] = {}
    for row in _all_rows(model):
        entry = totals.setdefault(row.role, [0, 0])
        entry[1] += row.count
        if row.layer == layer:
            entry[0] += row.count
    return sorted(((role, here, all_) for role, (here, all_) in totals.items()), key=lambda one: -one[2])


def layers_like(model: Any, layer: int) -> list[int]:
    """The layers whose block has as many numbers in each part as that of ``layer``, itself included."""
    here = part_counts(model, layer)
    return [other for other in range(model.shape.n_layers) if part_counts(model, other) == here]


def _added_by(model: Any, trace: Any, made: Any, layer: int) -> tuple[np.ndarray, ...]:
    kept = _ADDED.setdefault(made, {})
    if layer not in kept:
        # Here and not above: a page is imported while another thread still imports the model's libraries.
        from core.engine.layer_view import LayerView

        view = LayerView(layer, [trace.record(made, layer)], model.run_experts)
        before_ffn = view.resid_in if view.resid_mid is None else view.resid_mid
        kept[layer] = (
            np.linalg.norm(view.attn_added, axis=1),
            cosines(view.resid_in, view.attn_added),
            np.linalg.norm(view.mlp_added, axis=1),
            cosines(before_ffn, view.mlp_added),
        )
    return kept[layer]


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n,) cosines between the rows of two (n, d) arrays; 0 where one row is zero."""
    dots = np.einsum("nd,nd->n", a, b, dtype=np.float64)
    lengths = np.linalg.norm(a, axis=1).astype(np.float64) * np.linalg.norm(b, axis=1)
    return np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)


def _vector(name: str, colour: str, lane: str, column: int, values: np.ndarray) -> Box:
    return Box(name, colour, lane, column, (Row("vector", 0, values),))


def _heads(kind: str, values: np.ndarray) -> tuple[Row, ...]:
    return tuple(Row(kind, number, row) for number, row in enumerate(values))


def _all_rows(model: Any) -> list[Any]:
    if model not in _ROWS:
        _ROWS[model] = model.parameters()
    return _ROWS[model]


def layer_rows(model: Any, layer: int) -> list[Any]:
    """The parameters of one layer, read once per model."""
    return [row for row in _all_rows(model) if row.layer == layer]


_ROWS: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()
_ADDED: WeakKeyDictionary[Any, dict[int, tuple[np.ndarray, ...]]] = WeakKeyDictionary()
