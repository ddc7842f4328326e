"""The sections of the Output page: what each one computes, shows and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import streamlit as st

from core.charts.labels import visible
from core.components.embeddings import vector_parts
from core.components.output import dot_products, hidden_states, lens_view, logits_view
from core.lessons import lens, output
from core.lessons.embeddings import find_token, named_weight, token_name, window
from core.ui import state
from core.ui.page import Page
from core.ui.text import literal, load

TYPED = "nt_output_typed"
_LOOKED = "nt_output_looked"
_MOVED = "nt_output_moved"
_WORK = "nt_output_work"
LENS_BUDGET_S = 0.25
CHOICES = 6
NORM_TOLERANCE = 1e-4
LOGIT_TOLERANCE = 1e-3


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("output").labels


def hidden_section(page: Page) -> None:
    """The final hidden state of each position; only the last one is used to go on."""
    at, count = page.selection.position, page.trace.n_positions
    positions = window(count, at)
    vectors = page.trace.residual(page.model.shape.n_layers)
    notes = [page.label(_use(p, len(page.run.prompt_ids), count)) for p in positions]
    hidden_states(
        positions,
        [page.tokens[p] for p in positions],
        notes,
        vectors[list(positions)],
        position=at,
        labels=labels(),
        on_choose=lambda payload: _choose(page, payload),
    )
    if len(positions) < count:
        st.caption(page.label("hidden_some", first=positions[0], last=positions[-1], count=count))


def _use(position: int, prompt_length: int, count: int) -> str:
    """What a position's prediction is good for: the next token, a token chosen before, or nothing."""
    if position == count - 1:
        return "hidden_last"
    return "hidden_other" if position < prompt_length - 1 else "hidden_used"


def place_line(page: Page) -> None:
    """Which position the rest of the page is about, and whether its prediction is used."""
    at, count = page.selection.position, page.trace.n_positions
    use = _use(at, len(page.run.prompt_ids), count).removeprefix("hidden_")
    st.markdown(page.label(f"place_{use}", token=literal(visible(page.tokens[at])), position=at))


def norm_section(page: Page) -> output.FinalNorm:
    """The final norm on the chosen position's vector: statistics, division, gain."""
    made = output.final_norm(page.model, page.trace, page.selection.position)
    parts = [
        (page.label("norm_hidden"), page.label("norm_hidden_note"), made.hidden),
        (page.label("norm_divided"), page.label(f"norm_divided_{made.kind}"), made.divided),
        (page.label("norm_gain"), page.label("norm_gain_note"), made.gain),
        (page.label("norm_normed"), page.label("norm_normed_note"), made.normed),
    ]
    vector_parts(
        "nt_final_norm",
        [(name, note, values.astype(np.float32)) for name, note, values in parts],
        readout=page.label("norm_readout" if made.bias is None else "norm_readout_bias"),
        at=int(np.abs(made.normed).argmax()),
        labels={"title": page.label("norm_title")},
    )
    if made.kind == "layer":
        page.formula("layer norm", mean=made.mean, square=made.mean_square, divisor=made.divisor)
    else:
        page.formula("rms norm", square=made.mean_square, divisor=made.divisor, width=made.hidden.size)
    weight = named_weight(page.model, "norm")
    if weight:
        page.tensor(*weight, page.model.shape.dtype)
    page.check("check_norm", made.error, NORM_TOLERANCE * max(1.0, float(np.abs(made.normed).max())))
    return made


def head_section(page: Page, normed: np.ndarray, logits: np.ndarray) -> None:
    """One logit as a dot product with a token's row of the LM head, written out."""
    codec, shape = page.model.codec, page.model.shape
    typed = find_token(
        codec,
        st.text_input(
            page.label("typed"), key=TYPED, placeholder=page.label("typed_hint"), persist_state="session"
        )
        or "",
    )
    highest, lowest = output.edges(logits, CHOICES)
    looked = looked_at(logits)
    wanted = [*highest, *lowest[:1], looked]
    chosen = looked
    if typed and typed.token_id < shape.vocab_size:
        wanted.append(typed.token_id)
        chosen = typed.token_id
        if len(typed.token_ids) > 1:
            st.caption(page.label("typed_cut", count=len(typed.token_ids)))
    found = output.dots(page.model, normed, logits, list(dict.fromkeys(wanted)))
    texts = [token_name(codec, token_id) for token_id in found.token_ids]
    dot_products(found, texts, normed.astype(np.float32), token_id=chosen, labels=labels())
    steps = output.head_steps(page.model)
    if not steps.plain:
        st.markdown(page.label("head_steps", factor=f"{steps.factor:.4g}", cap=steps.cap or "–"))
    at = found.token_ids.index(chosen)
    page.formula("dot", dot=float(found.dots[at]), width=shape.d_model, logit=float(found.logits[at]))
    weight = named_weight(page.model, "embedding" if shape.tied_embeddings else "lm_head")
    if weight:
        page.tensor(*weight, shape.dtype)
        st.caption(page.label("head_tied" if shape.tied_embeddings else "head_untied"))
    page.check("check_dot", found.error, LOGIT_TOLERANCE)


def logits_section(page: Page, logits: np.ndarray) -> None:
    """All logits, their softmax, and a constant that changes nothing."""
    codec, looked = page.model.codec, looked_at(logits)
    highest, lowest = output.edges(logits)
    logits_view(
        logits,
        {token_id: token_name(codec, token_id) for token_id in {*highest, *lowest, looked}},
        highest=highest,
        lowest=lowest,
        token_id=looked,
        labels=labels(),
        on_look=_look,
    )
    made = output.softmax_of(logits, looked)
    page.formula(
        "softmax",
        logit=made.logit,
        largest=made.largest,
        above=made.numerator,
        below=made.denominator,
        probability=made.probability,
    )


def lens_section(page: Page) -> None:
    """What each layer would predict. The browser asks for more until the grid is complete."""
    if st.session_state.pop(_MOVED, False):
        state.rerun()  # a cell was chosen here; everything on the page follows
    shape, place = page.model.shape, page.selection
    wanted = lens.plan(shape.n_layers, page.trace.n_positions, place.position)
    budget = LENS_BUDGET_S if st.session_state.pop(_WORK, False) else 0.0
    grid = lens.grid(page.trace, wanted, budget)
    known = {int(token_id) for token_id in np.unique(grid.ids) if token_id >= 0}
    lens_view(
        grid,
        [page.tokens[position] for position in wanted.positions],
        {token_id: token_name(page.model.codec, token_id) for token_id in known},
        layer=place.layer,
        position=place.position,
        n_layers=shape.n_layers,
        labels=labels(),
        on_choose=lambda payload: _choose(page, payload, from_fragment=True),
        on_more=lambda _payload: st.session_state.update({_WORK: True}),
    )
    if not wanted.whole:
        st.caption(
            page.label(
                "lens_some",
                rows=len(wanted.rows),
                layers=shape.n_layers + 1,
                positions=len(wanted.positions),
                count=page.trace.n_positions,
            )
        )


def lens_check(page: Page) -> None:
    """The last row of the lens against the logits that the run was made with."""
    page.check("check_lens", lens.end_error(page.trace), LOGIT_TOLERANCE)


def looked_at(logits: np.ndarray) -> int:
    """The token whose logit is worked out: the one that was clicked, else the favourite."""
    looked = st.session_state.get(_LOOKED)
    return looked if isinstance(looked, int) and looked < logits.size else int(np.argmax(logits))


def follow_place(page: Page) -> None:
    """Another prompt, step or position: the token that was looked at gives way to the favourite there."""
    place = (page.session.request, page.selection.step, page.selection.position)
    if st.session_state.get("nt_output_place", place) != place:
        st.session_state.pop(_LOOKED, None)
        st.session_state[TYPED] = ""
    st.session_state["nt_output_place"] = place


def _look(payload: Any) -> None:
    looked = _whole(payload, "id")
    if looked is not None:
        st.session_state[_LOOKED] = looked
        st.session_state[TYPED] = ""


def _choose(page: Page, payload: Any, from_fragment: bool = False) -> None:
    place = {name: _whole(payload, name) for name in ("layer", "position")}
    found = {name: value for name, value in place.items() if value is not None}
    if found:
        page.select(**found)
        if from_fragment:
            st.session_state[_MOVED] = True


def _whole(payload: Any, name: str) -> int | None:
    """A whole number that the browser sent, checked like any other input."""
    value = payload.get(name) if isinstance(payload, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
