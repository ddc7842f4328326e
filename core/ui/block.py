"""The sections of the Block page: what each one computes, shows and checks."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from core.charts.block import directions, part_bars, stream_sizes
from core.components.block import block_flow, gate_parts, neuron_lists, norm_parts
from core.lessons import block as lesson
from core.lessons import block_neurons as neurons
from core.lessons import block_norm
from core.lessons.generate import name_of
from core.ui import state
from core.ui.page import Page
from core.ui.text import load

TOLERANCE = 1e-5
BUDGET_S = 0.25
NEURONS = 12
PUSHED = 8
ERF_ERROR = 2e-6
_NEURON = "nt_block_neuron"
_PART_COLOURS = {
    "attention": "attention", "ffn": "ffn", "shared_expert": "ffn", "experts": "expert", "router": "expert",
    "embedding": "residual", "position": "residual", "lm_head": "logits",
}  # fmt: skip


def labels() -> Mapping[str, str]:
    """The page's short texts."""
    return load("block").labels


def flow_section(page: Page) -> None:
    """The block from left to right, with the chosen position's vectors."""
    place = page.selection
    view = page.trace.layer(place.layer)
    made = lesson.flow(page.model, view, place.position, place.head)
    st.markdown(page.label("kind_parallel" if made.parallel else "kind_sequential", layer=place.layer))
    block_flow(
        made,
        head=place.head,
        group=view.kv_head(place.head),
        tokens=page.tokens[: place.position + 1],
        dtype=page.model.shape.dtype,
        labels=labels(),
        on_head=_choose_head(page),
    )
    found = lesson.sums(view)
    vectors = {box.name: box.rows[0].values for box in made.boxes if box.lane == "stream"}
    first = {name: float(values[0]) for name, values in vectors.items()}
    parts = {
        "attn": float(view.attn_added[place.position][0]),
        "ffn": float(view.mlp_added[place.position][0]),
    }
    page.formula("parallel" if made.parallel else "sequential", **first, **parts)
    page.check("check_residual", found.residual, TOLERANCE * found.size)
    if found.feed_forward is not None:
        page.check("check_experts", found.feed_forward, TOLERANCE * found.size)


def norm_section(page: Page) -> None:
    """One of the block's norms, worked out on the chosen position's vector."""
    place = page.selection
    view = page.trace.layer(place.layer)
    places = block_norm.norm_places(view)
    if not places:
        st.info(page.label("norm_none"))
        return
    chosen = st.segmented_control(
        page.label("norm_which"),
        places,
        default=places[0],
        format_func=lambda name: page.label(f"box_{name}"),
        key=f"nt_block_norm_{'_'.join(places)}",
    )
    steps = block_norm.norm_steps(page.model, view, chosen or places[0], place.position)
    if steps is None:
        return
    page.section(f"norm {steps.kind}")
    norm_parts(steps, labels())
    index = int(np.abs(steps.out).argmax())
    values: dict[str, float] = {
        "spread": steps.spread,
        "eps": steps.eps,
        "root": float(np.sqrt(steps.spread + steps.eps)),
        "mean": steps.mean,
        "count": len(steps.x),
        "x": float(steps.x[index]),
        "scaled": float(steps.scaled[index]),
        "gain": 1.0 if steps.gain is None else float(steps.gain[index]),
        "bias": 0.0 if steps.bias is None else float(steps.bias[index]),
        "out": float(steps.out[index]),
    }
    page.formula(f"norm {steps.kind}", **values)
    if steps.weight is not None:
        page.tensor(steps.weight, steps.x.shape, page.model.shape.dtype)
    page.check("check_norm", steps.error, TOLERANCE * max(1.0, float(np.abs(steps.out).max())))


def stream_section(page: Page) -> None:
    """The stream's length through the layers, and what each part added. Filled within a budget of time."""
    page.section("stream")
    model, trace, at = page.model, page.trace, page.selection.position
    count, end = model.shape.n_layers, time.monotonic() + BUDGET_S
    found: list[lesson.Added | None] = []
    for layer in _nearest(page.selection.layer, count):
        if lesson.added_known(trace, layer) or time.monotonic() < end:
            lesson.added(model, trace, layer)
    for layer in range(count):
        found.append(lesson.added(model, trace, layer) if lesson.added_known(trace, layer) else None)
    missing = sum(one is None for one in found)
    if missing:
        st.caption(page.label("stream_missing", done=count - missing, count=count))
    stream = [float(value) for value in trace.residual_norms()[:, at]]
    columns = {
        name: [None if one is None else float(getattr(one, name)[at]) for one in found]
        for name in ("attention_size", "attention_cosine", "ffn_size", "ffn_cosine")
    }
    words = {
        name: page.label(f"line_{name}") for name in ("stream", "attention", "ffn", "layer", "size", "cosine")
    }
    table = ("layer", "stream", *columns)
    rows = [
        [
            layer,
            stream[layer],
            *("" if values[layer] is None else values[layer] for values in columns.values()),
        ]
        for layer in range(count)
    ]
    page.figure(
        stream_sizes(stream, columns["attention_size"], columns["ffn_size"], words, page.theme),
        "sizes",
        alt=page.label("sizes_alt", position=at),
        csv=(table, rows),
        height=320,
    )
    page.section("direction")
    page.figure(
        directions(columns["attention_cosine"], columns["ffn_cosine"], words, page.theme),
        "directions",
        alt=page.label("directions_alt", position=at),
        csv=(table, rows),
        height=280,
    )


def stream_fragment(page: Page) -> None:
    """``stream_section``, drawn again until every layer is there."""
    missing = any(not lesson.added_known(page.trace, layer) for layer in range(page.model.shape.n_layers))

    def draw() -> None:
        stream_section(page)
        done = all(lesson.added_known(page.trace, layer) for layer in range(page.model.shape.n_layers))
        if missing and done:
            state.rerun()  # ends the timer

    st.fragment(draw, run_every=0.5 if missing else None)()


def neuron_section(page: Page) -> None:
    """The feed-forward part neuron by neuron, and the tokens that one of them pushes."""
    place, model = page.selection, page.model
    view = page.trace.layer(place.layer)
    dense = neurons.dense_of(view)
    found = None if dense is None else neurons.down(model, view, dense, place.position)
    if dense is None or found is None:
        st.info(page.label("neurons_none"))
        return
    if view.dense is None:
        st.caption(page.label("neurons_shared"))
    function = neurons.activation(dense, place.position)
    page.section("gated" if function.gated else "plain")
    top = neurons.top_neurons(dense, found, place.position, function.name, NEURONS)
    wanted = st.session_state.get(_NEURON)
    chosen = next((one for one in top if one.index == wanted), top[0])
    _stripes(dense, place.position, function, chosen.index)
    pushed = neurons.pushed(model, place.layer, found, chosen, PUSHED)
    names = {token: name_of(model.codec, token) for token, _ in (*pushed.up, *pushed.down)}
    neuron_lists(top, chosen.index, pushed, names, function.name, labels=labels(), on_neuron=_choose_neuron)
    share = neurons.share_of(dense, found, place.position, NEURONS)
    st.caption(
        page.label("neurons_share", count=len(top), width=f"{dense.act.shape[1]:,}", share=f"{share:.0%}")
    )
    page.tensor(found.name, found.shape, model.shape.dtype)
    size = max(1.0, float(np.abs(dense.act[place.position]).max()))
    label = "check_gated" if function.gated else "check_plain"
    page.check(label, function.error, max(TOLERANCE, ERF_ERROR) * size)
    page.check(
        "check_down", found.error, TOLERANCE * max(1.0, float(np.abs(dense.out[place.position]).max()))
    )


def _stripes(dense: Any, position: int, function: neurons.Activation, chosen: int) -> None:
    up, act = dense.up[position], dense.act[position]
    if dense.gate is None:
        parts = [("part_hidden", up), ("part_act_plain", act)]
    else:
        gate = dense.gate[position]
        gated = neurons.FUNCTIONS[function.name](gate).astype(np.float32)
        parts = [("part_gate", gate), ("part_gated", gated), ("part_up", up), ("part_act", act)]
    gate_parts(parts, chosen, labels())


def beyond_the_block(page: Page) -> object:
    """What the page's last two sections depend on: in most models not the layer, whose blocks are alike."""
    return page.selection.position, lesson.part_counts(page.model, page.selection.layer)


def parameter_section(page: Page) -> None:
    """How many numbers each part of the model holds."""
    page.section("parameters")
    layer = page.selection.layer
    counts = lesson.part_counts(page.model, layer)
    alike = lesson.layers_like(page.model, layer)
    which = page.label(
        "layers_all" if len(alike) == page.model.shape.n_layers else "layers_like", layer=layer
    )
    here = [(role, count) for role, count, _ in counts if count]
    whole = [(role, count) for role, _, count in counts]
    words = {role: page.label(f"role_{role}") for role, _ in whole} | {"numbers": page.label("numbers_axis")}
    biggest, count = max(here, key=lambda one: one[1])
    block = sum(one for _, one in here)
    sizes = {
        "share": f"{count / block:.0%}",
        "block": f"{block:,}",
        "total": f"{sum(one for _, one in whole):,}",
    }
    st.markdown(page.label("parameters_say", part=words[biggest], layers=which, **sizes))
    for name, rows in (("block", here), ("model", whole)):
        st.markdown(page.label(f"parameters_{name}", layers=which))
        page.figure(
            part_bars(rows, _PART_COLOURS, words, page.theme),
            f"parameters-{name}",
            alt=page.label(f"parameters_{name}_alt", layers=which),
            csv=(("part", "numbers"), rows),
            height=90 + 34 * len(rows),
        )
    total = sum(row.count for row in page.model.parameters())
    page.check("check_parameters", abs(total - sum(c for _, c in whole)), 0)


def _nearest(layer: int, count: int) -> list[int]:
    return sorted(range(count), key=lambda other: (abs(other - layer), other))


def _choose_head(page: Page) -> Any:
    def handle(payload: Any) -> None:
        head = _whole(payload, "head")
        if head is not None and head < page.model.shape.n_heads:
            page.select(head=head)

    return handle


def _choose_neuron(payload: Any) -> None:
    st.session_state[_NEURON] = _whole(payload, "id")


def _whole(payload: Any, name: str) -> int | None:
    """A whole number that the browser sent, checked like any other input."""
    value = payload.get(name) if isinstance(payload, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
