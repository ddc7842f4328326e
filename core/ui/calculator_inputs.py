"""What a learner sets on the Calculators page: the model's shape and the workload, checked before use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core.lessons.calculators import MAX_BATCH, MAX_CONTEXT_TOKENS, Workload, from_shape, presets
from core.lessons.costs import KV_BYTES, WEIGHT_BYTES, CostShape
from core.ui import state
from core.ui.page import Page

OWN = "own"
_DEFAULT_CONTEXT = 4096
_EXAMPLES: dict[str, dict[str, str | int]] = {
    "example_moe": {"model": "mixtral-8x7b", "context": 4096, "batch": 1},
    "example_long": {"model": "llama-3.1-8b", "context": 131_072, "batch": 8},
    "example_latent": {"model": "deepseek-v3", "context": 32_768, "batch": 16},
    "example_worked": {"model": "worked-example", "context": 1024, "batch": 1},
}
# Smallest and largest value that the fields accept; the largest are far beyond any published model.
_FIELDS: dict[str, tuple[int, int]] = {
    "n_layers": (1, 500),
    "d_model": (1, 100_000),
    "n_heads": (1, 1024),
    "n_kv_heads": (1, 1024),
    "head_dim": (1, 4096),
    "d_ff": (0, 1_000_000),
    "vocab_size": (1, 10_000_000),
    "n_experts": (0, 4096),
    "experts_per_token": (0, 4096),
    "d_expert": (0, 1_000_000),
    "d_shared": (0, 1_000_000),
    "window": (0, MAX_CONTEXT_TOKENS),
    "window_layers": (0, 500),
}


def field_row() -> Any:
    """Fields side by side, wrapped where the screen is narrow."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="small")


def small(line: str) -> None:
    """A small line in full ink: Streamlit's own captions are too pale to read at this size."""
    st.markdown(f":small[{line}]")


@dataclass(frozen=True)
class Choice:
    """A shape with where it comes from. ``own``: the loaded model, unchanged."""

    shape: CostShape
    max_context: int
    own: bool
    published_total: str = ""
    published_active: str = ""


def choose(page: Page) -> tuple[Choice, Workload]:
    """Draw the fields; stop the page with a plain sentence when they contradict each other."""
    _examples(page)
    with st.container(border=True, key="calc_inputs"):
        with field_row():
            choice = _model(page)
            load = _workload(page)
        _source(page, choice, load)
        choice = _edited(page, choice)
    return choice, load


def _examples(page: Page) -> None:
    """One click sets the model and the workload."""
    with st.container(key="calc_examples", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(page.label("examples"), width="content")
        for label, values in _EXAMPLES.items():
            st.button(page.label(label), key=f"calc_{label}", on_click=_set, args=(values,))


def _set(values: dict[str, str | int]) -> None:
    for name, value in values.items():
        st.session_state[f"calc_{name}"] = value


def _model(page: Page) -> Choice:
    known = {row.key: row for row in presets()}
    own = from_shape(page.model.shape, page.model.name)
    keys = ([OWN] if own else []) + list(known)
    names = {key: row.name for key, row in known.items()}
    names[OWN] = page.label("own_model", name=page.model.name)
    key = st.selectbox(
        page.label("model"),
        keys,
        format_func=names.__getitem__,
        key="calc_model",
        width=296,
        persist_state="session",
    )
    if key == OWN and own:
        return Choice(own, page.model.shape.max_positions, own=True)
    row = known[key]
    return Choice(row.shape, row.max_context, False, row.published_total, row.published_active)


def _workload(page: Page) -> Workload:
    context = st.number_input(
        page.label("context"),
        1,
        MAX_CONTEXT_TOKENS,
        _DEFAULT_CONTEXT,
        1024,
        key="calc_context",
        help=page.label("range", low=1, high=f"{MAX_CONTEXT_TOKENS:,}"),
        width=196,
        persist_state="session",
    )
    batch = st.number_input(
        page.label("batch"),
        1,
        MAX_BATCH,
        1,
        key="calc_batch",
        help=page.label("range", low=1, high=f"{MAX_BATCH:,}"),
        width=132,
        persist_state="session",
    )
    weights = _dtype(page, "weights_dtype", list(WEIGHT_BYTES), "calc_weights")
    cache = _dtype(page, "kv_dtype", list(KV_BYTES), "calc_kv")
    overhead = st.number_input(
        page.label("overhead"), 0.0, 100.0, 1.5, 0.5, key="calc_overhead", width=124, persist_state="session"
    )
    return Workload(context, batch, weights, KV_BYTES[cache], overhead)


def _dtype(page: Page, label: str, options: list[str], key: str) -> str:
    """A type to store numbers in; 16 bits unless chosen otherwise."""
    return st.selectbox(
        page.label(label),
        options,
        index=options.index("bf16"),
        format_func=lambda option: page.label(f"dtype_{option}"),
        key=key,
        width=132,
        persist_state="session",
    )


def _source(page: Page, choice: Choice, load: Workload) -> None:
    limit = f"{choice.max_context:,}"
    source = next((row.source for row in presets() if row.shape is choice.shape), "")
    small(page.label("source_own" if choice.own else "source", source=source, limit=limit))
    if load.context_tokens > choice.max_context:
        small(":material/info: " + page.label("beyond", limit=limit))


def _edited(page: Page, choice: Choice) -> Choice:
    key = OWN if choice.own else choice.shape.name
    with st.expander(page.label("edit")):
        small(page.label("edit_note"))
        with field_row():
            values = {
                name: st.number_input(
                    page.label(name),
                    low,
                    high,
                    getattr(choice.shape, name),
                    key=f"calc_{key}_{name}",
                    width=190,
                )
                for name, (low, high) in _FIELDS.items()
            }
    values["dense_layers"] = min(choice.shape.dense_layers, values["n_layers"]) if values["n_experts"] else 0
    shape = replace(choice.shape, **values)
    if shape == choice.shape:
        return choice
    if problem := contradiction(shape):
        st.warning(page.label(problem))
        state.stop_page()
    renamed = replace(shape, name=f"{shape.name}, {page.label('changed')}")
    return Choice(renamed, choice.max_context, own=False)


def contradiction(shape: CostShape) -> str:
    """The label that says what cannot be in this shape, or nothing."""
    if shape.n_heads % shape.n_kv_heads:
        return "bad_heads"
    if shape.is_moe and not 1 <= shape.experts_per_token <= shape.n_experts:
        return "bad_top_k"
    if (shape.is_moe and not shape.d_expert) or (shape.ffn_layers and not shape.d_ff):
        return "bad_width"
    if shape.window_layers > shape.n_layers or (shape.window_layers and not shape.window):
        return "bad_window"
    return ""
