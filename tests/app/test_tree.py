"""The Tree page on a tiny model: grown in pieces, walked, searched, saved and opened again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.components.tree import TreeEvent
from core.decoding.beam import BeamSettings
from core.engine.model import LoadedModel
from core.engine.text import TextCodec
from core.errors import UserError
from core.ui import saved, state, tree
from core.ui.page import Page
from tests.app.opening import open_page
from tests.unit import tiny


def a_model(family: str = "llama", seed: int = 0) -> LoadedModel:
    codec = TextCodec(tiny.tokenizer().backend_tokenizer, eos_ids=(tiny.EOS_ID,))
    return LoadedModel("smollm2-135m", None, tiny.build(family, seed=seed), codec)


def opened(monkeypatch: pytest.MonkeyPatch, model: LoadedModel, **query: Any) -> AppTest:
    return open_page(monkeypatch, "tree", model, **query)


def asked(app: AppTest, name: str) -> str:
    """A value of the address; AppTest tells what was set as a list and what the app wrote as text."""
    value = app.query_params[name]
    return value if isinstance(value, str) else value[0]


def session_of(app: AppTest) -> state.Session:
    found: state.Session = app.session_state["nt_session"]
    return found


def act(app: AppTest, model: LoadedModel, event: TreeEvent) -> None:
    """What the component's handler does with an event, then the page drawn again."""
    session, work = session_of(app), app.session_state["nt_tree_work"]
    assert session.run is not None
    tree.apply(Page("tree", session, model), session.run, work, event)
    app.run()


def until_done(app: AppTest, model: LoadedModel) -> None:
    for _ in range(200):
        if app.session_state["nt_tree_work"].job is None:
            return
        act(app, model, TreeEvent("more"))
    raise AssertionError("the work does not end")


def checks(app: AppTest) -> list[str]:
    return [item.value for item in app.caption if "largest difference" in item.value]


@pytest.mark.parametrize("family", ["llama", "gpt2", "mixtral"])
def test_the_page_opens_and_its_check_passes(monkeypatch: pytest.MonkeyPatch, family: str) -> None:
    app = opened(monkeypatch, a_model(family), step="3")
    assert not app.exception
    assert len(checks(app)) == 1 and "check_circle" in checks(app)[0]


@pytest.mark.parametrize("prompt", ["a", "the the the the", "é🦜", "x" * 50])
def test_odd_prompts_work(monkeypatch: pytest.MonkeyPatch, prompt: str) -> None:
    app = opened(monkeypatch, a_model(), prompt=prompt, step="1")
    assert not app.exception and "check_circle" in checks(app)[0]


def test_growing_adds_nodes_in_pieces_and_stops_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    model = a_model()
    monkeypatch.setattr(tree, "PIECE_S", 0.0)
    app = opened(monkeypatch, model)
    act(app, model, TreeEvent("grow", node=0, top_k=3, depth=2))
    work = app.session_state["nt_tree_work"]
    assert work.tree.steps_computed == 1 and work.job == {"kind": "grow", "done": 1, "total": 12}
    act(app, model, TreeEvent("more"))
    assert work.tree.steps_computed == 2
    act(app, model, TreeEvent("stop"))
    act(app, model, TreeEvent("more"))
    assert work.tree.steps_computed == 2 and work.job is None
    act(app, model, TreeEvent("grow", node=0, top_k=3, depth=2))
    until_done(app, model)
    assert work.tree.steps_computed == 12 and not app.exception


def test_growth_waits_behind_clicks(monkeypatch: pytest.MonkeyPatch) -> None:
    model, seen = a_model(), []
    app = opened(monkeypatch, model)
    real: Callable[..., Any] = model.step

    def watched(parent: Any, token: int, priority: int = 0) -> Any:
        seen.append(priority)
        return real(parent, token, priority)

    monkeypatch.setattr(model, "step", watched)
    act(app, model, TreeEvent("grow", node=0, top_k=2, depth=1))
    until_done(app, model)
    act(app, model, TreeEvent("next"))
    assert set(seen[:2]) == {1} and set(seen[2:]) <= {0}


def test_choosing_a_node_makes_it_the_runs_path_and_the_link_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    model = a_model()
    app = opened(monkeypatch, model, step="2")
    run = session_of(app).run
    assert run is not None
    act(app, model, TreeEvent("take", node=0, value=40))
    act(app, model, TreeEvent("take", node=run.node.number, value=41))
    assert run.generated_ids == (40, 41) and asked(app, "taken") == "0:40,1:41"
    first = next(n for n in run.tree.root.children.values() if n.token_id != 40)
    act(app, model, TreeEvent("go", node=first.number))
    assert run.generated_ids == (first.token_id,) and run.tree.steps_computed == 4
    assert "taken" not in app.query_params, "the settings themselves drew this token"


def test_back_in_the_browser_keeps_every_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    model = a_model()
    app = opened(monkeypatch, model, step="2")
    act(app, model, TreeEvent("grow", node=0, top_k=3, depth=2))
    until_done(app, model)
    before = session_of(app).run
    assert before is not None
    nodes, address = before.tree.steps_computed, {k: asked(app, k) for k in app.query_params}
    act(app, model, TreeEvent("take", node=0, value=40))
    app.query_params.clear()
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    after = session_of(app).run
    assert after is not None and after.cursor == 2 and not app.exception
    assert after.tree is before.tree and after.tree.steps_computed == nodes + 1


def test_a_search_shows_steps_and_its_scores_check(monkeypatch: pytest.MonkeyPatch) -> None:
    model = a_model()
    app = opened(monkeypatch, model)
    act(app, model, TreeEvent("beam", beams=BeamSettings(3, 5, "mean")))
    until_done(app, model)
    work = app.session_state["nt_tree_work"]
    assert work.steps[-1].last and work.settings.end_ids == frozenset({tiny.EOS_ID})
    assert len(checks(app)) == 2 and all("check_circle" in line for line in checks(app))
    act(app, model, TreeEvent("clear"))
    assert app.session_state["nt_tree_work"].steps == [] and len(checks(app)) == 1


def test_a_limit_is_told_and_nothing_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    model = a_model()
    app = opened(monkeypatch, model, tokens="2", step="2")
    run = session_of(app).run
    assert run is not None
    with pytest.raises(UserError, match="token limit"):
        act(app, model, TreeEvent("take", node=run.node.number, value=5))
    act(app, model, TreeEvent("grow", node=run.node.number, top_k=2, depth=2))
    assert app.session_state["nt_tree_work"].job is None


def test_a_saved_tree_opens_as_the_same_tree_and_the_same_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    model = a_model()
    app = opened(monkeypatch, model, step="3", seed="7", temperature="1.3")
    act(app, model, TreeEvent("grow", node=0, top_k=2, depth=2))
    until_done(app, model)
    act(app, model, TreeEvent("take", node=2, value=40))
    page = Page("tree", session_of(app), model)
    whole, path = saved.tree_text(page), saved.run_text(page)
    old = page.run
    address = {name: asked(app, name) for name in app.query_params}
    for text, count in ((whole, old.tree.steps_computed), (path, len(old.steps))):
        other = opened(monkeypatch, model, prompt="on the hat")
        done: list[int] = []
        saved.open_text(
            Page("tree", session_of(other), model), text.encode(), lambda at, _all, to=done: to.append(at)
        )
        other.run()
        run = session_of(other).run
        assert run is not None and not other.exception
        assert run.token_ids == old.token_ids and run.tree.steps_computed == count and done
        assert {name: asked(other, name) for name in other.query_params} == address


def test_a_file_of_another_model_is_refused_and_the_run_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    model, other = a_model(), a_model(seed=1)
    app = opened(monkeypatch, model, step="1")
    page = Page("tree", session_of(app), model)
    text, run = saved.run_text(page), page.run
    with pytest.raises(UserError, match="other weights"):
        saved.open_text(Page("tree", session_of(app), other), text.encode(), lambda *_: None)
    assert session_of(app).run is run


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff\xfe", b"[1]", b"null", b"[" * 100_000, b'{"schema": "next-token-tree"}'],
)
def test_a_file_that_is_no_saved_run_says_so(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    model = a_model()
    app = opened(monkeypatch, model)
    with pytest.raises(UserError):
        saved.open_text(Page("tree", session_of(app), model), text, lambda *_: None)


def test_a_file_whose_prompt_is_not_its_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = a_model()
    app = opened(monkeypatch, model, step="1")
    page = Page("tree", session_of(app), model)
    data = json.loads(saved.run_text(page))
    data["asked"]["prompt"] = "something else"
    with pytest.raises(UserError, match="prompt in this file"):
        saved.open_text(page, json.dumps(data).encode(), lambda *_: None)
    data["asked"] = {"prompt": 3}
    with pytest.raises(UserError, match="damaged"):
        saved.open_text(page, json.dumps(data).encode(), lambda *_: None)
