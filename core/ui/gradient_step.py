"""The Gradient step page: choose a text and what to train, step on a copy, see what it did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from core.charts import gradient_step as charts
from core.charts.labels import byte_size, number
from core.engine.training.learner_copy import bytes_needed
from core.engine.training.optimiser import KINDS, Kind
from core.engine.training.weights import SCOPES, Scope, places, trained_names
from core.lessons import gradient_step as lesson
from core.lessons.calculators import compact
from core.lessons.gradient_step import Result, Setting
from core.lessons.job import Plan
from core.ui import state
from core.ui.experts import chances
from core.ui.measure import Measurement, begin, measurement
from core.ui.page import Page
from core.ui.text import load

FORGOTTEN_AFTER_S = 60.0
MAX_CHARACTERS = 1000
SLOPE_TOLERANCE = 0.05
_GO = "nt_step_go"
_TEXT, _OTHER, _SCOPE, _KIND, _STEPS, _TENSOR = (
    f"nt_step_{name}" for name in ("text", "other", "scope", "kind", "steps", "tensor")
)


@dataclass(frozen=True)
class Experiment:
    """A one-click run. ``label`` names a text of the page; ``text`` and ``other`` are labels too."""

    label: str
    prompt: str
    text: str
    scope: Scope
    kind: Kind
    lr: float
    steps: int


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("gradient_step").labels


def _rate_key(kind: Kind) -> str:
    return f"nt_step_lr_{kind}"


def _defaults(page: Page) -> None:
    first = {
        _TEXT: page.label("default_text"),
        _OTHER: page.label("default_other"),
        _SCOPE: "last_block",
        _KIND: "adamw",
        _STEPS: 5,
    } | {_rate_key(kind): lesson.USUAL_RATE[kind] for kind in KINDS}
    for key, value in first.items():
        st.session_state.setdefault(key, value)


def _experiments(page: Page, ready: Sequence[Experiment]) -> None:
    """One button for each experiment: it sets everything and starts."""
    if _GO in st.session_state:
        state.rerun()  # the experiment's prompt is not this fragment's alone
    with st.container(key="nt_try", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(load("shell").label("try_this"), width="content")
        for item in ready:
            st.button(page.label(item.label), key=f"nt_{item.label}", on_click=_take, args=(page, item))


def _take(page: Page, item: Experiment) -> None:
    page.session.ask(prompt=item.prompt, chat=False, literal=False)
    st.session_state.update(
        {
            _TEXT: page.label(item.text),
            _SCOPE: item.scope,
            _KIND: item.kind,
            _rate_key(item.kind): item.lr,
            _STEPS: item.steps,
            _GO: True,
        }
    )


def training_section(page: Page, ready: Sequence[Experiment]) -> None:
    """Settings, experiments, the start, and everything that is known of the run."""
    _defaults(page)
    what = Measurement(
        "train",
        (page.model.name,),
        controls=lambda: _controls(page, ready),
        show=lambda result: _show(page, result),
        doing=lambda result: _doing(page, result),
        icon=":material/trending_down:",
        forgotten_after_s=FORGOTTEN_AFTER_S,
    )
    if st.session_state.pop(_GO, False):
        begin(what, _maker(page))
    measurement(page, what)


# -- settings --------------------------------------------------------------------------------------------


def _controls(page: Page, ready: Sequence[Experiment]) -> Callable[[], Plan]:
    for column, key in zip(st.columns(2), (_TEXT, _OTHER), strict=True):
        with column:
            name = key.removeprefix("nt_step_")
            st.text_area(
                page.label(name), key=key, max_chars=MAX_CHARACTERS, height=68, persist_state="session"
            )
            tokens = page.label("tokens", count=len(_ids(page, key)), limit=lesson.TEXT_TOKENS)
            st.caption(f"{tokens} {page.label(f'{name}_help')}")
    sizes = {scope: _count(page.model, scope) for scope in SCOPES}
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.radio(
            page.label("scope"),
            SCOPES,
            horizontal=True,
            format_func=lambda scope: page.label(f"scope_{scope}", count=compact(sizes[scope])),
            key=_SCOPE,
            persist_state="session",
        )
        st.radio(
            page.label("kind"),
            KINDS,
            horizontal=True,
            format_func=lambda kind: page.label(f"kind_{kind}"),
            key=_KIND,
            persist_state="session",
        )
        st.button(page.label("use_run"), key="nt_step_use_run", on_click=_use_run, args=(page,))
    kind: Kind = st.session_state[_KIND]
    left, right = st.columns(2)
    left.select_slider(
        page.label("lr"),
        lesson.RATES[kind],
        format_func=_rate,
        key=_rate_key(kind),
        persist_state="session",
    )
    right.slider(page.label("steps"), 1, lesson.MAX_STEPS, key=_STEPS, persist_state="session")
    _notes(page)
    _experiments(page, ready)
    return _maker(page)


def _rate(rate: float) -> str:
    """``0.0003``, ``3e−05``."""
    return f"{rate:g}".replace("-", "−")


def _notes(page: Page) -> None:
    """What the choice costs, and what it means for a tied LM head."""
    scope, kind = st.session_state[_SCOPE], st.session_state[_KIND]
    if scope == "head":
        st.caption(page.label("tied" if page.model.shape.tied_embeddings else "untied"))
    needed = bytes_needed(page.model, scope, kind, len(_ids(page, _TEXT)))
    st.caption(page.label(f"needs_{kind}", size=byte_size(needed)))


def _count(model: Any, scope: Scope) -> int:
    wanted = set(trained_names(model, scope))
    return sum(place.count for place in places(model) if place.name in wanted)


def _ids(page: Page, key: str) -> tuple[int, ...]:
    return tuple(page.model.codec.encode(st.session_state[key], specials_as_text=True))


def _use_run(page: Page) -> None:
    run = page.session.run
    assert run is not None
    ids = run.token_ids[: lesson.TEXT_TOKENS]
    st.session_state[_TEXT] = page.model.codec.decode(ids)[:MAX_CHARACTERS]


def _maker(page: Page) -> Callable[[], Plan]:
    """How to make the plan from the widgets as they are when the learner starts."""

    def make() -> Plan:
        kept, kind = st.session_state, st.session_state[_KIND]
        run = page.session.run
        assert run is not None
        setting = Setting(
            text=_ids(page, _TEXT),
            other=_ids(page, _OTHER),
            prompt=tuple(run.prompt_ids),
            scope=kept[_SCOPE],
            kind=kind,
            lr=float(kept[_rate_key(kind)]),
            steps=int(kept[_STEPS]),
        )
        return lesson.gradient_plan(page.model, setting)

    return make


# -- results ---------------------------------------------------------------------------------------------


def _doing(page: Page, result: Result | None) -> str:
    if result is None:
        return page.label("doing_waiting_first")
    key = "doing_waiting_first" if result.stage == "waiting" and not result.ahead else f"doing_{result.stage}"
    return page.label(key, ahead=result.ahead, step=result.steps_done, steps=result.setting.steps)


def _show(page: Page, result: Result) -> None:
    if not result.losses:
        return
    setting, done = result.setting, result.steps_done
    trained = sum(place.count for place in result.places if place.name in result.trained)
    everything = sum(place.count for place in result.places)
    st.markdown(
        page.label(
            "said",
            done=done,
            kind=page.label(f"kind_{setting.kind}"),
            lr=_rate(setting.lr),
            scope=page.label(f"scope_{setting.scope}", count=compact(trained)),
            everything=compact(everything),
        )
    )
    if result.diverged:
        st.warning(page.label("diverged"), icon=":material/warning:")
    _losses(page, result)
    if result.stage in ("waiting", "copying", "looking", "checking"):
        return
    _maps(page, result)
    _weight(page, result)
    _slope(page, result)


def _losses(page: Page, result: Result) -> None:
    columns = st.columns(2)
    for column, key, values in ((columns[0], "text", result.losses), (columns[1], "other", result.other)):
        if values:
            # The arrow follows the sign, which has to be a plain hyphen for Streamlit.
            change = number(values[-1] - values[0]).replace("−", "-") + " nats" if len(values) > 1 else None
            column.metric(
                page.label(f"{key}_loss", before=number(values[0])),
                f"{number(values[-1])} nats",
                change,
                delta_color="inverse",
            )
    other: Sequence[float | str] = result.other or [""] * len(result.losses)
    rows = [(step, *pair) for step, pair in enumerate(zip(result.losses, other, strict=True))]
    left, right = st.columns(2)
    with left:
        st.markdown(page.label("losses_title"))
        page.figure(
            charts.loss_curves(result, labels(), page.theme),
            "losses",
            page.label("losses_alt"),
            csv=(("step", "text_loss", "other_loss"), rows),
            height=360,
        )
    if result.compared is not None:
        with right:
            st.markdown(page.label("bars_title"))
            chances(page, result.compared, "bars", "bars_alt", labels())


def _maps(page: Page, result: Result) -> None:
    page.section("gradient")
    gradient = lesson.gradient_picture(result)
    _map(page, gradient, "gradient")
    row, part, value = lesson.largest(gradient, [*gradient.columns, page.label("outside")])
    where = f"{page.label('layer', layer=row)}, `{part}`" if isinstance(row, int) else f"`{row}`"
    st.markdown(page.label("gradient_largest", where=where, value=number(value)))
    if result.moved:
        page.section("moved")
        _map(page, lesson.moved_picture(result), "moved")


def _map(page: Page, picture: lesson.Picture, key: str) -> None:
    rows = [
        (row, column, value)
        for row, values in zip(picture.rows, picture.values.tolist(), strict=True)
        for column, value in zip([*picture.columns, "outside"], values, strict=True)
        if np.isfinite(value)
    ]
    page.figure(
        charts.part_map(picture, page.label(f"{key}_scale"), labels(), page.theme),
        key,
        page.label(f"{key}_alt"),
        csv=(("row", "part", "value"), rows),
        height=200 + 15 * len(picture.rows),
    )


def _weight(page: Page, result: Result) -> None:
    """One weight's first step, with the formula of the optimiser and its numbers."""
    if not result.weights:
        return
    page.section("weight")
    setting, names = result.setting, sorted(result.weights, key=lambda n: -abs(result.weights[n].gradient))
    if st.session_state.get(_TENSOR) not in names:
        st.session_state[_TENSOR] = names[0]
    name = st.selectbox(page.label("tensor_choice"), names, key=_TENSOR)
    weight = result.weights[name]
    change = weight.after - weight.before
    place = next(place for place in result.places if place.name == name)
    at = ", ".join(map(str, weight.at))
    st.markdown(
        page.label(
            "weight_said",
            at=at,
            before=number(weight.before, 8),
            after=number(weight.after, 8),
            change=number(change, 4),
        )
    )
    if setting.kind == "sgd":
        page.formula("sgd", lr=setting.lr, g=weight.gradient, change=-setting.lr * weight.gradient)
    else:
        moments = lesson.adam(weight.gradient)
        page.formula(
            "adamw",
            lr=setting.lr,
            g=weight.gradient,
            m=moments.m,
            v=moments.v,
            m_hat=moments.m_hat,
            v_hat=moments.v_hat,
            w=weight.before,
            decay=lesson.WEIGHT_DECAY,
            change=lesson.predicted_weight("adamw", setting.lr, weight) - weight.before,
        )
        st.markdown(page.label("adamw_sign"))
    page.tensor(name, place.shape, page.model.shape.dtype)
    error = abs(lesson.predicted_weight(setting.kind, setting.lr, weight) - weight.after)
    allowed = 3e-7 * (abs(weight.before) + abs(weight.after)) + 1e-5 * abs(change)
    page.check("check_weight", error, allowed)


def _slope(page: Page, result: Result) -> None:
    """The gradient against measured losses."""
    slope = result.slope
    if slope is None:
        return
    page.section("check")
    page.formula("first_order", lr=slope.lr, norm=slope.norm, predicted=slope.predicted, measured=slope.down)
    page.check("check_slope", slope.error, SLOPE_TOLERANCE)
    st.caption(page.label("untouched"))
