"""The From zero page: choose a text, train a small model on it, watch it, and take it to every other page."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.charts.from_zero import loss_curve
from core.charts.labels import byte_size, number
from core.components.from_zero import learned_merges, training_run
from core.engine import made_here
from core.engine.training.corpus import MAX_CHARACTERS, MIN_CHARACTERS
from core.engine.training.from_zero import Settings, bytes_needed, parameter_count
from core.errors import UserError
from core.lessons.from_zero import MORE_STEPS, OFFERED, USUAL_STEPS, Training, offered_text
from core.lessons.generate import texts_of
from core.lessons.job import Plan
from core.ui import loading, notices, state
from core.ui.links import DEFAULT_PROMPT
from core.ui.measure import Measurement, begin, measurement
from core.ui.page import Page
from core.ui.pages import page_info
from core.ui.text import load

WIDTHS = (64, 96, 128)
VOCABULARIES = (288, 320, 384, 512)
FORGOTTEN_AFTER_S = 60.0
"""A run that no page looks at stops by itself; it can go on from there."""
LOSS_TOLERANCE = 1e-5
SHOWN_MERGES = 60
CUT_TOKENS = 80
_KEPT_RUNS = 2
_OFFERED_MODELS = 8
_RUNS, _GO = "nt_from_zero_runs", "nt_from_zero_go"
_TEXT, _OWN, _WIDTH, _VOCABULARY, _SEED, _STEPS = (
    f"nt_from_zero_{name}" for name in ("text", "own", "width", "vocabulary", "seed", "steps")
)


@dataclass(frozen=True)
class Experiment:
    """A one-click run: the text, the most tokens of its vocabulary, the width, and how many steps."""

    label: str
    text: str
    vocabulary: int
    width: int
    steps: int


EXPERIMENTS = (
    Experiment("try_overfit", "story", 320, 96, 1000),
    Experiment("try_generalise", "counting", 320, 96, 200),
    Experiment("try_letters", "recipes", 288, 64, 400),
)


def labels() -> dict[str, str]:
    """The page's short texts."""
    return load("from_zero").labels


def training_section(page: Page) -> None:
    """Everything below the introduction."""
    _experiments(page)
    text, title, settings = _choices(page)
    try:
        run = _run(page, text, settings, title)
    except UserError as error:
        notices.user_error(error)
        return
    _sizes(page, run)
    what = Measurement(
        "train",
        (run,),
        controls=lambda: _controls(page, run),
        show=lambda _result: _show(page, run),
        doing=lambda _result: _doing(page, run),
        icon=":material/play_arrow:",
        forgotten_after_s=FORGOTTEN_AFTER_S,
        start="go_on" if run.steps else "start_train",
        idle=lambda: _show(page, run) if run.steps else None,
    )
    if steps := st.session_state.pop(_GO, None):
        begin(what, lambda: run.plan(steps))
    measurement(page, what)
    _tokenizer(page, run)


# -- what is trained -------------------------------------------------------------------------------------


def _experiments(page: Page) -> None:
    with st.container(key="nt_try", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(load("shell").label("try_this"), width="content")
        for one in EXPERIMENTS:
            st.button(page.label(one.label), key=f"nt_{one.label}", on_click=_take, args=(one,))


def _take(one: Experiment) -> None:
    chosen = {_TEXT: one.text, _VOCABULARY: one.vocabulary, _WIDTH: one.width, _STEPS: one.steps}
    for key, value in chosen.items():
        st.session_state[key] = value
    st.session_state[_GO] = one.steps


def _choices(page: Page) -> tuple[str, str, Settings]:
    """The text to train on, what a model trained on it is called, and the size of the model."""
    with st.container(key="nt_from_zero_choices", horizontal=True, vertical_alignment="bottom", gap="small"):
        name: Any = st.segmented_control(
            page.label("text"),
            [*OFFERED, "own"],
            default=OFFERED[0],
            format_func=lambda name: page.label(f"text_{name}"),
            key=_TEXT,
            persist_state="session",
            required=True,
        )
        if name != "own":
            with st.popover(page.label("read_text"), icon=":material/article:"):
                st.text(offered_text(name))
        with st.popover(page.label("settings"), icon=":material/tune:"):
            settings = _settings(page)
    text = _own_text(page) if name == "own" else offered_text(name)
    return text, page.label(f"title_{name}"), settings


def _own_text(page: Page) -> str:
    return st.text_area(
        page.label("own"),
        key=_OWN,
        persist_state="session",
        height=200,
        max_chars=MAX_CHARACTERS,
        help=page.label("own_help", least=MIN_CHARACTERS, most=f"{MAX_CHARACTERS:,}"),
    )


def _settings(page: Page) -> Settings:
    usual = Settings()
    width = st.select_slider(page.label("width"), WIDTHS, usual.width, key=_WIDTH, persist_state="session")
    vocabulary = st.select_slider(
        page.label("vocabulary"), VOCABULARIES, usual.vocabulary, key=_VOCABULARY, persist_state="session"
    )
    seed = st.number_input(page.label("seed"), 0, 9999, 0, key=_SEED, persist_state="session")
    st.caption(
        page.label(
            "fixed",
            layers=usual.layers,
            heads=usual.heads,
            context=usual.context,
            batch=usual.batch,
            rate=usual.learning_rate,
        )
    )
    return Settings(width=int(width), vocabulary=int(vocabulary), seed=int(seed))


def _run(page: Page, text: str, settings: Settings, title: str) -> Training:
    """This learner's run on this text with these settings; the last ones are kept to be gone on with."""
    runs: dict[Any, Training] = st.session_state.setdefault(_RUNS, {})
    key = (text, settings)
    trained = page.session.trained
    run = runs.pop(key, None) or Training(text, settings, title, lambda name: _announce(trained, name))
    runs[key] = run  # the newest last
    while len(runs) > _KEPT_RUNS:
        del runs[next(iter(runs))]
    return run


def _announce(trained: list[str], name: str) -> None:
    """Called by the training's thread: the prompt bar offers the model from the next page run on."""
    if name in trained:
        trained.remove(name)
    trained.append(name)
    del trained[:-_OFFERED_MODELS]


def _sizes(page: Page, run: Training) -> None:
    corpus, settings = run.corpus, run.settings
    st.markdown(
        page.label(
            "sizes",
            characters=f"{len(corpus.text):,}",
            train=f"{len(corpus.train_ids):,}",
            held=f"{len(corpus.held_ids):,}",
            vocabulary=corpus.vocab_size,
            parameters=f"{parameter_count(corpus.vocab_size, settings):,}",
            memory=byte_size(bytes_needed(corpus.vocab_size, settings)),
        )
    )


def _controls(page: Page, run: Training) -> Callable[[], Plan]:
    with st.container(key="nt_from_zero_row", horizontal=True, vertical_alignment="bottom", gap="small"):
        steps: Any = st.segmented_control(
            page.label("steps_more" if run.steps else "steps"),
            MORE_STEPS,
            default=USUAL_STEPS,
            format_func=lambda steps: f"{steps:,}",
            key=_STEPS,
            persist_state="session",
            required=True,
        )
        icon = ":material/restart_alt:"
        if run.steps and st.button(page.label("again"), key="nt_from_zero_again", icon=icon):
            runs = st.session_state[_RUNS]
            st.session_state[_RUNS] = {key: one for key, one in runs.items() if one is not run}
            state.rerun()
    return lambda: run.plan(int(steps))


# -- what is seen ----------------------------------------------------------------------------------------


def _doing(page: Page, run: Training) -> str:
    if run.ahead:
        return page.label("waiting", count=run.ahead)
    return page.label("training", step=f"{run.steps:,}")


def _show(page: Page, run: Training) -> None:
    if not run.losses:
        return
    _said(page, run)
    training_run(run, texts_of(run.corpus.codec, run.watched_ids), labels())
    model = made_here.find(run.model_name)
    if model is None or run.check is None or run.check.step != run.steps:
        return  # while it runs, the model that can be chosen is not the one on the screen
    _offer(page, run)
    _numbers(page, run, model)


def _said(page: Page, run: Training) -> None:
    """Where the losses stand, in a sentence."""
    best = run.best_held
    if best is None:
        return
    step, now = run.held[-1]
    key = "said_worse" if now > best[1] * 1.02 else "said_better"
    st.markdown(
        page.label(
            key,
            step=f"{step:,}",
            batch=number(run.losses[max(0, step - 1)]),
            held=number(now),
            best=number(best[1]),
            best_step=f"{best[0]:,}",
            uniform=number(math.log(run.corpus.vocab_size)),
        )
    )


def _offer(page: Page, run: Training) -> None:
    with st.container(key="nt_from_zero_use", border=True):
        in_use = page.session.link.model == run.model_name
        st.markdown(page.label("in_use" if in_use else "may_use", name=f"`{run.model_name}`"))
        with st.container(horizontal=True, gap="small"):
            go = st.button(page.label("use_generate"), key="nt_from_zero_go_generate", type="primary")
            stay = st.button(page.label("use"), key="nt_from_zero_stay", disabled=in_use)
        st.caption(page.label("lives"))
    if go or stay:
        _use(page, run)
        if go:
            st.switch_page(str(page_info("generate").file))
        state.rerun()


def _use(page: Page, run: Training) -> None:
    """Make it the model of every page; the prompt that nobody chose gives way to the text's own beginning."""
    loading.forget_failure(run.model_name)
    loading.begin(run.model_name)
    untouched = page.session.link.prompt == DEFAULT_PROMPT
    page.session.ask(
        model=run.model_name, chat=False, prompt=run.start_text if untouched else page.session.link.prompt
    )


def _numbers(page: Page, run: Training, model: Any) -> None:
    """The formulas with this run's numbers, the tensors, the checks, and the curve to keep."""
    check, settings, vocabulary = run.check, run.settings, run.corpus.vocab_size
    assert check is not None
    page.section("loss")
    page.formula("loss", summed=check.summed, targets=check.targets, mean=check.mean)
    page.formula(
        "uniform", vocabulary=vocabulary, uniform=math.log(vocabulary), perplexity=math.exp(check.mean)
    )
    page.check("check_loss", check.error, LOSS_TOLERANCE)
    page.tensor(
        page.label("tensor_logits"), (settings.batch, check.targets // settings.batch, vocabulary), "float32"
    )
    with st.expander(page.label("keep_curve")):
        held = dict(run.held)
        rows = [[step, loss, held.get(step, "")] for step, loss in enumerate(run.losses)]
        if run.steps in held:
            rows.append([run.steps, "", held[run.steps]])
        figure = loss_curve(run.losses, run.held, vocabulary, labels(), page.theme)
        page.figure(
            figure, "loss", page.label("loss_alt", steps=run.steps), csv=(("step", "batch", "held_out"), rows)
        )
    page.section("parameters")
    total = parameter_count(vocabulary, settings)
    page.formula(
        "parameters",
        V=vocabulary,
        d=settings.width,
        F=settings.ffn_width,
        L=settings.layers,
        total=total,
    )
    counted = sum(row.count for row in model.parameters())
    page.check("check_parameters", abs(counted - total), 0)


def _tokenizer(page: Page, run: Training) -> None:
    """What the tokenizer learned from the training part."""
    page.section("tokenizer")
    corpus = run.corpus
    merges = [
        (merge.left.decode("utf-8", "replace"), merge.right.decode("utf-8", "replace"))
        for merge in corpus.merges[:SHOWN_MERGES]
    ]
    pieces = [piece.text for piece in corpus.codec.pieces(corpus.train_ids[:CUT_TOKENS])]
    learned_merges(merges, pieces, labels())
    st.caption(page.label("merges_said", shown=len(merges), count=len(corpus.merges), size=corpus.vocab_size))
