"""The sections of the Position page: what each one computes, shows and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from core.charts.position import alikeness_map, order_lines
from core.components.position import distance_curves, learned_rows, order_rows, rotor
from core.lessons import embeddings
from core.lessons import position as lesson
from core.lessons.generate import name_of
from core.lessons.position import Orders, Rotation
from core.ui.page import Page
from core.ui.text import literal, load

TOLERANCE = 1e-4
SHIFT = 20
PRESETS = ("same", "capital", "chased", "only")
TEXT_KEYS = ("nt_position_first", "nt_position_second")
MOST_TOKENS = 64
_ORDERS: WeakKeyDictionary[Any, dict[tuple[tuple[int, ...], tuple[int, ...]], Orders]] = WeakKeyDictionary()


def labels() -> Mapping[str, str]:
    """The page's short texts."""
    return load("position").labels


def place_section(page: Page) -> None:
    """How this model tells places apart in the chosen layer: by turning, by learned vectors, or not."""
    head, layer = page.selection.head, page.selection.layer
    found = lesson.rotation(page.model, page.trace, layer, head)
    if found is not None:
        page.section("turn")
        _rotor(page, found)
        page.section("distance")
        _distance(page, found)
    elif page.model.shape.learned_positions:
        page.section("learned")
        _learned(page)
    else:
        st.info(page.label("no_rope", layer=layer))


def _rotor(page: Page, found: Rotation) -> None:
    layer, head, query = page.selection.layer, page.selection.head, page.selection.position
    view = page.trace.layer(layer)
    keys = lesson.shown_keys(query)
    key = lesson.default_key(view.weights(head)[query], query, keys)
    rotor(
        found,
        query,
        key,
        keys,
        page.tokens,
        name="\n".join((*page.session.request, str(query))),
        max_positions=page.model.shape.max_positions,
        labels=labels(),
    )
    if len(keys) < query + 1:
        st.caption(page.label("keys_some", shown=len(keys), count=query + 1))
    size = found.q.shape[-1]
    kind = "pairs_neighbours" if found.pairing.interleaved else "pairs_halves"
    st.markdown(page.label(kind, family=literal(page.model.shape.family), half=found.rotated // 2))
    if found.rotated < size:
        st.markdown(page.label("partial", rotated=found.rotated, size=size, still=size - found.rotated))
    st.caption(
        page.label("formula_of", query=_named(page, query), m=query, key_token=_named(page, key), n=key)
    )
    _formulas(page, found, query, key)
    dtype = page.model.shape.dtype
    page.tensor(page.label("tensor_q", layer=layer, head=head), found.q.shape, dtype)
    page.tensor(page.label("tensor_k", layer=layer, head=view.kv_head(head)), found.k.shape, dtype)
    page.check("check_turn", found.error, TOLERANCE * found.size)
    moved = min(SHIFT, page.model.shape.max_positions - 1 - query)
    error = lesson.moved_error(page.model, found, layer, query, key, moved)
    page.check("check_shift", error, TOLERANCE * max(1.0, found.size))


def _formulas(page: Page, found: Rotation, query: int, key: int) -> None:
    first, second = (int(place) for place in found.pairing.before[0])
    angle = float(query * found.inv_freq[0])
    turned = lesson.turned(found.q_pre[query], query, found)
    page.formula(
        "pair",
        m=query,
        freq=float(found.inv_freq[0]),
        angle=angle,
        x=float(found.q_pre[query, first]),
        y=float(found.q_pre[query, second]),
        tx=float(turned[found.pairing.after[0, 0]]),
        ty=float(turned[found.pairing.after[0, 1]]),
    )
    score = found.score(query, key)
    page.formula("score", m=query, n=key, scale=found.scale, dot=score / found.scale, score=score)


def _distance(page: Page, found: Rotation) -> None:
    reach = min(page.model.shape.max_positions, 512, max(32, page.trace.n_positions))
    data = lesson.by_distance(found, page.selection.position, reach)
    place = {"head": page.selection.head, "layer": page.selection.layer, "reach": reach - 1}
    words = {
        name: page.label(f"distance_{name}", **place) for name in ("own", "mean", "typical", "x", "y", "alt")
    }
    distance_curves(data, words)


def _learned(page: Page) -> None:
    at = page.selection.position
    rows = page.model.position_rows(range(page.trace.n_positions))
    shown = embeddings.window(page.trace.n_positions, at)
    learned_rows(rows[list(shown)], shown, page.tokens, position=at, labels=labels(), on_choose=_choose(page))
    entry = embeddings.entry(page.model, page.trace, at)
    first = [float(value) for value in rows[at][:3]]
    page.formula("learned", position=at, first=first, token=[float(value) for value in entry.row[:3]])
    name = next((row for row in page.model.parameters() if row.role == "position"), None)
    if name is not None:
        page.tensor(name.name, name.shape, page.model.shape.dtype)
    page.check("check_learned", entry.error, TOLERANCE * max(1.0, float(np.abs(entry.block_input).max())))
    everything = page.model.position_rows(range(min(page.model.shape.max_positions, 1024)))
    places, cosines = lesson.position_alikeness(everything)
    page.figure(
        alikeness_map(places, cosines, {"position": page.label("position_axis")}, page.theme),
        "alike",
        alt=page.label("alike_alt", count=len(places), last=int(places[-1])),
        csv=(
            [page.label("position_axis"), *places.tolist()],
            [[int(p), *r] for p, r in zip(places, cosines.tolist(), strict=True)],
        ),
        height=420,
    )
    st.caption(page.label("alike_note", count=len(places), last=int(places[-1])))


def orders_section(page: Page) -> None:
    """The same words in two orders: two runs of their own beside the learner's."""
    page.section("orders")
    _preset_texts(page)
    columns = st.columns(2)
    texts = [
        column.text_input(page.label(name), key=key, persist_state="session") or ""
        for column, name, key in zip(columns, ("order_first", "order_second"), TEXT_KEYS, strict=True)
    ]
    codec = page.model.codec
    ids = [tuple(codec.encode(text))[:MOST_TOKENS] for text in texts]
    if not all(ids):
        st.info(page.label("orders_empty"))
        return
    found = _orders(page.model, ids[0], ids[1])
    tokens = [[name_of(codec, token) for token in side] for side in ids]
    names = {token: name_of(codec, token) for side in found.top for token, _ in side}
    order_rows(found, (page.label("order_first"), page.label("order_second")), tokens, names, labels())
    st.caption(page.label("orders_badge"))
    if not found.pairs:
        st.info(page.label("orders_none"))
        return
    if len(found.pairs) < max(len(ids[0]), len(ids[1])):
        st.caption(page.label("orders_alone"))
    names_of = [
        (tokens[0][a], page.label("order_same", a=a) if a == b else page.label("order_moved", a=a, b=b))
        for a, b in found.pairs
    ]
    words = {"x": page.label("layer_axis"), "y": page.label("cosine_axis")}
    page.figure(
        order_lines(found.cosines, names_of, words, page.theme),
        "orders",
        alt=page.label("orders_alt", count=len(found.pairs)),
        csv=(
            ("layer", *(" ".join(name) for name in names_of)),
            [[layer, *row] for layer, row in enumerate(found.cosines.tolist())],
        ),
        height=340,
    )
    same = float(np.abs(found.cosines[0] - 1).max())
    if not page.model.shape.learned_positions:
        page.check("check_start", same, 1e-5)


def _preset_texts(page: Page) -> None:
    for name in PRESETS:
        first, second = (page.label(f"{name}_{side}") for side in ("a", "b"))
        if name == PRESETS[0]:
            for key, text in zip(TEXT_KEYS, (first, second), strict=True):
                st.session_state.setdefault(key, text)
    with st.container(horizontal=True, gap="small", key="nt_position_presets"):
        for name in PRESETS:
            pair = [page.label(f"{name}_{side}") for side in ("a", "b")]
            st.button(
                literal(f"{pair[0]} / {pair[1]}"),
                key=f"nt_position_preset_{name}",
                on_click=_take_texts,
                args=(pair,),
            )


def _take_texts(pair: list[str]) -> None:
    for key, text in zip(TEXT_KEYS, pair, strict=True):
        st.session_state[key] = text


def _orders(model: Any, a: tuple[int, ...], b: tuple[int, ...]) -> Orders:
    """Kept, so that choosing another layer does not run the model again."""
    kept = _ORDERS.setdefault(model, {})
    if (a, b) not in kept:
        if len(kept) >= 64:
            kept.clear()
        kept[(a, b)] = lesson.orders(model, a, b)
    return kept[(a, b)]


def _named(page: Page, position: int) -> str:
    return f"“{literal(page.tokens[position])}”"


def _choose(page: Page) -> Any:
    def handle(payload: Any) -> None:
        position = payload.get("position") if isinstance(payload, Mapping) else None
        if isinstance(position, int) and not isinstance(position, bool) and position >= 0:
            page.select(position=position)

    return handle
