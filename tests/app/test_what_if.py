"""The What if page on a tiny model: swaps, typed tokens, ready-made experiments, the address, sentences."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.components.what_if import WhatIfEvent
from core.decoding.run import Run
from core.engine.model import LoadedModel
from core.errors import UserError
from core.ui import state, what_if
from core.ui.page import Page
from tests.app.opening import open_page, tiny_model


def opened(
    monkeypatch: pytest.MonkeyPatch, family: str = "llama", **query: Any
) -> tuple[AppTest, LoadedModel]:
    model = tiny_model(family)
    return open_page(monkeypatch, "what_if", model, **query), model


def asked(app: AppTest, name: str) -> str:
    """A value of the address; AppTest tells what was set as a list and what the app wrote as text."""
    value = app.query_params[name]
    return value if isinstance(value, str) else value[0]


def session_of(app: AppTest) -> state.Session:
    found: state.Session = app.session_state["nt_session"]
    return found


def run_of(app: AppTest) -> Run:
    run = session_of(app).run
    assert run is not None
    return run


def work_of(app: AppTest) -> what_if.Work:
    found: what_if.Work = app.session_state["nt_what_if_work"]
    return found


def act(app: AppTest, model: LoadedModel, event: WhatIfEvent) -> None:
    page = Page("what_if", session_of(app), model)
    what_if.apply(page, run_of(app), work_of(app), event)
    app.run()


def until_done(app: AppTest, model: LoadedModel) -> None:
    for _ in range(100):
        work = work_of(app)
        if not work.filling and (work.stopped or work.pair is None):
            return
        act(app, model, WhatIfEvent("more"))
    raise AssertionError("the work does not end")


def checks(app: AppTest) -> list[str]:
    return [item.value for item in app.caption if "the tree's own sum" in item.value]


@pytest.mark.parametrize("family", ["llama", "gpt2", "mixtral"])
def test_a_swap_makes_two_texts_and_leaves_the_run_alone(
    monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    app, model = opened(monkeypatch, family, step="4")
    assert not app.exception and checks(app) == []
    before = run_of(app).token_ids
    act(app, model, WhatIfEvent("at", 2))
    act(app, model, WhatIfEvent("swap", 40))
    until_done(app, model)
    a, b = work_of(app).pair or pytest.fail("no branches")
    assert a.cursor == b.cursor == 3 + 16 and b.generated_ids[2] == 40
    assert run_of(app).token_ids == before and a.generated_ids[:4] == run_of(app).generated_ids
    assert len(checks(app)) == 1 and "check_circle" in checks(app)[0]
    assert asked(app, "swap") == f"2:{run_of(app).steps[2].token_id}:40"


@pytest.mark.parametrize("prompt", ["a", "the the the the", "é🦜", "x" * 30])
def test_odd_prompts_work(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app, model = opened(monkeypatch, prompt=prompt)
    act(app, model, WhatIfEvent("generate"))
    until_done(app, model)
    act(app, model, WhatIfEvent("at", 0))
    act(app, model, WhatIfEvent("swap", 40))
    until_done(app, model)
    assert not app.exception and "check_circle" in checks(app)[0]


def test_the_work_can_be_stopped_and_goes_on_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(what_if, "PIECE_S", 0.0)
    app, model = opened(monkeypatch, step="2", swap="1:5:40")
    act(app, model, WhatIfEvent("stop"))
    a, b = work_of(app).pair or pytest.fail("no branches")
    made = a.cursor + b.cursor
    app.run()
    assert a.cursor + b.cursor == made and work_of(app).stopped
    monkeypatch.setattr(what_if, "PIECE_S", 60.0)
    act(app, model, WhatIfEvent("longer"))
    assert a.cursor == b.cursor == 2 + 32 and asked(app, "length") == "32"


def test_a_typed_text_gives_its_first_token_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    app, model = opened(monkeypatch, step="3")
    act(app, model, WhatIfEvent("at", 1))
    act(app, model, WhatIfEvent("type", text=" cat hat"))
    ids = model.codec.encode(" cat hat")
    swap = work_of(app).swap
    assert swap is not None and swap.b == (ids[0],)
    assert f"is {len(ids)} tokens" in work_of(app).notice
    with pytest.raises(UserError, match="nothing to put there"):
        act(app, model, WhatIfEvent("type", text=""))


def test_back_in_the_browser_finds_the_comparison_before(monkeypatch: pytest.MonkeyPatch) -> None:
    app, model = opened(monkeypatch, step="4")
    for token in (40, 41):
        act(app, model, WhatIfEvent("at", 2))
        act(app, model, WhatIfEvent("swap", token))
        until_done(app, model)
    first = asked(app, "swap").replace(":41", ":40")
    app.query_params["swap"] = first
    app.run()
    swap, tree = work_of(app).swap, run_of(app).tree
    assert swap is not None and swap.b == (40,) and asked(app, "swap") == first
    count = tree.steps_computed
    until_done(app, model)
    assert run_of(app).tree is tree and tree.steps_computed == count, "nothing is computed again"
    del app.query_params["swap"]
    # AppTest has no browser component: put the state there that a mounted one leaves behind.
    monkeypatch.setattr(what_if.component, "KEY", "nt_session")
    app.run()
    assert work_of(app).swap is None and "swap" not in app.query_params


@pytest.mark.parametrize("swap", ["x", "99:5:40", "0:5:400", "1:5"])
def test_a_swap_that_cannot_be_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch, swap: str) -> None:
    app, _ = opened(monkeypatch, step="2", swap=swap)
    assert not app.exception and work_of(app).swap is None and "swap" not in app.query_params
    assert "left at its default: swap" in work_of(app).notice


def test_every_ready_made_experiment_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    app, model = opened(monkeypatch)
    for name in ("try_wrong_fact", "try_misspelling", "try_first_word", "try_premise"):
        app.button(key=f"nt_{name}").click().run()
        assert not app.exception
        swap = work_of(app).swap
        assert swap is not None and swap.at == 0 and swap.a != swap.b
        assert session_of(app).params.greedy
        until_done(app, model)
        assert "check_circle" in checks(app)[0]


def test_branch_b_can_become_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    app, model = opened(monkeypatch, step="3", swap="1:5:40", tokens="12")
    until_done(app, model)
    pair = work_of(app).pair or pytest.fail("no branches")
    act(app, model, WhatIfEvent("keep"))
    assert run_of(app).generated_ids == pair[1].generated_ids[:12] and work_of(app).swap is None
    assert "1:40" in asked(app, "taken")


def test_sentences_are_scored_and_short_or_long_ones_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = opened(monkeypatch)
    assert any("times as likely" in item.value for item in app.markdown)
    app.text_input(key="nt_sentence_true").set_value("a").run()
    assert any("needs at least two tokens" in item.value for item in app.caption)
    app.text_input(key="nt_sentence_true").set_value("x " * 60).run()
    assert any("at most 64 are scored" in item.value for item in app.caption)
    app.button(key="nt_pair_3").click().run()
    assert app.text_input(key="nt_sentence_true").value == "There are seven days in a week."
    assert not app.exception
