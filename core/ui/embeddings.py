"""The sections of the Embeddings page: what each one computes, shows and checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from core.charts.embeddings import token_map
from core.charts.labels import visible
from core.components.embeddings import neighbour_lists, stripe_rows, vector_parts
from core.lessons import embeddings as lesson
from core.ui.page import Page
from core.ui.text import literal, load

TYPED = "nt_embeddings_typed"
_TYPED_AT = "nt_embeddings_typed_at"
SUM_KEYS = ("nt_embeddings_plus", "nt_embeddings_minus", "nt_embeddings_plus_too")
SUMS = ("king", "capital", "swim", "small", "aunt")
NEIGHBOURS = 12
SUM_ROWS = 6
FIRST_NUMBERS = 2
TOLERANCE = 1e-5


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("embeddings").labels


def rows_section(page: Page) -> None:
    """The looked-up rows as stripes, and that they are what enters the first block."""
    shape, at = page.model.shape, page.selection.position
    ids, name = page.trace.token_ids, lesson.named_weight(page.model, "embedding")
    st.markdown(page.label("rows_shape", vocabulary=f"{shape.vocab_size:,}", width=f"{shape.d_model:,}"))
    positions = lesson.window(page.trace.n_positions, at)
    found = lesson.lookup(page.model, ids, positions)
    texts = [page.tokens[position] for position in positions]
    notes = [page.label("row_id", id=token_id) for token_id in found.token_ids]
    stripe_rows(found, texts, notes, position=at, labels=labels(), on_choose=_choose(page))
    if len(positions) < page.trace.n_positions:
        st.caption(
            page.label("rows_some", first=positions[0], last=positions[-1], count=page.trace.n_positions)
        )
    made = lesson.entry(page.model, page.trace, at)
    _entry(page, made, at)
    if name:
        page.tensor(name[0], name[1], shape.dtype)
    page.check("check_entry", made.error, TOLERANCE * max(1.0, float(np.abs(made.block_input).max())))


def _entry(page: Page, made: lesson.Entry, at: int) -> None:
    """Row → what enters block 0: nothing in most models, a factor or position vectors in some."""
    token_id = int(page.trace.token_ids[at])
    first = [float(value) for value in made.row[:FIRST_NUMBERS]]
    page.formula("row", id=token_id, first=first)
    if made.plain:
        page.section("plain entry")
        return
    parts = [(page.label("part_row"), page.label("part_row_note"), made.row)]
    if made.scale != 1.0:
        root = page.model.shape.d_model**0.5
        kind = "scale_root" if abs(made.scale / root - 1) < 1e-2 else "scale_other"
        st.markdown(page.label(kind, scale=f"{made.scale:.4g}", width=page.model.shape.d_model))
        parts.append((page.label("part_scaled"), page.label("part_scaled_note"), made.row * made.scale))
    if made.position_row is not None:
        st.markdown(page.label("learned", position=at))
        parts.append((page.label("part_position"), page.label("part_position_note"), made.position_row))
    parts.append((page.label("part_input"), page.label("part_input_note"), made.block_input))
    vector_parts(
        "nt_embedding_entry",
        parts,
        readout=page.label("parts_readout_" + str(len(parts))),
        at=int(np.abs(made.block_input).argmax()),
        labels=labels(),
    )


def neighbours_section(page: Page) -> None:
    """The tokens nearest to a token's row by cosine, over the whole vocabulary."""
    codec, at = page.model.codec, page.selection.position
    own = int(page.trace.token_ids[at])
    place = (page.session.request, at)
    if st.session_state.get(_TYPED_AT, place) != place:
        st.session_state[TYPED] = ""  # another token was chosen since: follow it
    st.session_state[_TYPED_AT] = place
    typed = st.text_input(
        page.label("typed"), key=TYPED, placeholder=page.label("typed_hint"), persist_state="session"
    )
    found = lesson.find_token(codec, typed or "")
    token_id = found.token_id if found and found.token_id < page.model.shape.vocab_size else own
    near = lesson.neighbours(page.model, token_id, NEIGHBOURS)
    if found and len(found.token_ids) > 1:
        st.caption(page.label("typed_cut", count=len(found.token_ids), token=shown(codec, token_id)))
    neighbour_lists(
        "nt_embedding_near",
        [(page.label("near_title", token=visible(lesson.token_name(codec, token_id)), id=token_id), near)],
        names(codec, [one.token_id for one in near]),
        notes={},
        labels=labels(),
        on_look=lambda payload: _look(codec, payload),
    )
    if not near:
        st.caption(page.label("near_none"))
        return
    own_row, other = page.model.embedding_rows([token_id, near[0].token_id]).astype(np.float64)
    page.formula(
        "cosine",
        dot=float(own_row @ other),
        a=float(np.linalg.norm(own_row)),
        b=float(np.linalg.norm(other)),
        cosine=near[0].cosine,
    )
    _check_cosines(page, "check_cosine", own_row, near)


def map_section(page: Page) -> None:
    """The prompt's tokens among their neighbours, in two dimensions."""
    codec = page.model.codec
    chosen = page.selection.position
    wanted = lesson.map_tokens(page.trace.token_ids, chosen)
    found = lesson.token_map(page.model, wanted)
    texts = tuple(lesson.token_name(codec, token_id) for token_id in found.token_ids)
    x, y = found.explained
    distinct = len(set(page.trace.token_ids))
    if len(wanted) < distinct:
        st.caption(page.label("map_some", shown=len(wanted), count=distinct))
    page.figure(
        token_map(
            found,
            texts,
            int(page.trace.token_ids[chosen]),
            (
                page.label("map_axis", number=1, share=f"{x:.0%}"),
                page.label("map_axis", number=2, share=f"{y:.0%}"),
            ),
            (page.label("map_own"), page.label("map_near")),
            page.theme,
        ),
        "map",
        alt=page.label("map_alt", count=len(texts), share=f"{x + y:.0%}"),
        csv=(
            ("token_id", "text", "x", "y", "in_prompt"),
            [
                (token_id, text, float(px), float(py), found.is_prompt(i))
                for i, (token_id, text, (px, py)) in enumerate(
                    zip(found.token_ids, texts, found.points, strict=True)
                )
            ],
        ),
        height=460,
    )
    st.caption(page.label("map_note", share=f"{x + y:.0%}", rest=f"{1 - x - y:.0%}"))


def sum_section(page: Page) -> None:
    """a − b + c in E: nearest tokens with the inputs left in and taken out."""
    codec = page.model.codec
    for key, word in zip(SUM_KEYS, page.label("sum_king").split(), strict=True):
        st.session_state.setdefault(key, word)
    with st.container(horizontal=True, gap="small", key="nt_sums"):
        for name in SUMS:
            words = page.label(f"sum_{name}").split()
            st.button(
                page.label("sum_button", a=words[0], b=words[1], c=words[2]),
                key=f"nt_sum_{name}",
                on_click=_take_sum,
                args=(words,),
            )
    columns = st.columns(3)
    typed = [
        column.text_input(page.label(f"sum_{sign}"), key=key, persist_state="session")
        for column, key, sign in zip(columns, SUM_KEYS, ("plus", "minus", "plus_too"), strict=True)
    ]
    found = [lesson.find_token(codec, text or "") for text in typed]
    if not all(one and one.token_id < page.model.shape.vocab_size for one in found):
        st.caption(page.label("sum_missing"))
        return
    ids = [one.token_id for one in found if one]
    cut = [shown(codec, one.token_id) for one in found if one and len(one.token_ids) > 1]
    if cut:
        st.caption(page.label("sum_cut", tokens=", ".join(cut)))
    made = lesson.add_up(page.model, ids[0], ids[1], ids[2], SUM_ROWS)
    neighbour_lists(
        "nt_embedding_sum",
        [(page.label("sum_with"), made.with_inputs), (page.label("sum_without"), made.without_inputs)],
        names(codec, [one.token_id for one in (*made.with_inputs, *made.without_inputs)]),
        notes=dict.fromkeys(ids, page.label("sum_input")),
        labels=labels(),
    )
    if not made.with_inputs:
        st.caption(page.label("near_none"))
        return
    first, best = made.with_inputs[0], made.without_inputs[0]
    verdict = "sum_input_first" if first.token_id in ids else "sum_other_first"
    st.markdown(page.label(verdict, first=shown(codec, first.token_id), best=shown(codec, best.token_id)))
    _check_cosines(page, "check_sum", made.vector, [*made.with_inputs, *made.without_inputs])


def tied_section(page: Page) -> None:
    """Whether the LM head is the same matrix."""
    shape = page.model.shape
    st.markdown(page.label("tied" if shape.tied_embeddings else "untied"))
    name = lesson.named_weight(page.model, "embedding" if shape.tied_embeddings else "lm_head")
    if name:
        page.tensor(name[0], name[1], shape.dtype)


def names(codec: Any, token_ids: Sequence[int]) -> Mapping[int, str]:
    """The text of each token."""
    return {token_id: lesson.token_name(codec, token_id) for token_id in token_ids}


def shown(codec: Any, token_id: int) -> str:
    """A token for Markdown: its text as it is, in quotation marks."""
    return f"“{literal(visible(lesson.token_name(codec, token_id)))}”"


def _check_cosines(page: Page, label: str, vector: np.ndarray, near: Sequence[lesson.Neighbour]) -> None:
    """The cosines again, from the rows themselves and in double precision."""
    rows = page.model.embedding_rows([one.token_id for one in near]).astype(np.float64)
    again = [lesson.cosine(row, vector.astype(np.float64)) for row in rows]
    error = max(abs(value - one.cosine) for value, one in zip(again, near, strict=True))
    page.check(label, error, TOLERANCE)


def _choose(page: Page) -> Any:
    def handle(payload: Any) -> None:
        position = _whole(payload, "position")
        if position is not None:
            page.select(position=position)

    return handle


def _look(codec: Any, payload: Any) -> None:
    """Make a neighbour the token that is looked up: by its text where that finds it, else by its id."""
    token_id = _whole(payload, "id")
    if token_id is not None:
        text = lesson.token_name(codec, token_id)
        found = lesson.find_token(codec, text)
        same = found is not None and found.token_ids == (token_id,)
        st.session_state[TYPED] = text if same else f"#{token_id}"


def _take_sum(words: Sequence[str]) -> None:
    for key, word in zip(SUM_KEYS, words, strict=True):
        st.session_state[key] = word


def _whole(payload: Any, name: str) -> int | None:
    """A whole number that the browser sent, checked like any other input."""
    value = payload.get(name) if isinstance(payload, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
