"""What the Generate page sends to the browser, and what it does with what comes back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from core.components.generate import read_event
from core.decoding.params import SamplingParams
from core.decoding.run import Run, StopRules
from core.lessons.generate import choices, name_of
from core.ui.generate import apply, on_event, run_key
from core.ui.page import Page
from core.ui.state import Session

SETTINGS = SamplingParams(temperature=1.0, top_p=1.0)


class Stepper:
    """A model of eight tokens whose logits depend on the text so far alone."""

    def prefill(self, token_ids: Any) -> Any:
        ids = tuple(token_ids)
        return SimpleNamespace(ids=ids, logits=np.sin(np.arange(8.0) * (1 + sum(ids))).astype(np.float32))

    def step(self, parent: Any, token_id: int) -> Any:
        return self.prefill((*parent.ids, token_id))


def started() -> tuple[Session, Run]:
    session = Session()
    session.set_params(SETTINGS)
    session.run = Run.start(Stepper(), [1, 2], SETTINGS, StopRules())
    return session, session.run


def event(kind: str, value: int = 0, params: SamplingParams = SETTINGS) -> Any:
    found = read_event({"kind": kind, "number": 1, "value": value, "params": params.to_json()})
    assert found is not None
    return found


def test_next_after_back_walks_the_same_tokens_and_keeps_one_taken_by_hand() -> None:
    session, run = started()
    apply(session, run, event("next"))
    apply(session, run, event("take", 5))
    ids = run.token_ids
    apply(session, run, event("back"))
    apply(session, run, event("next"))
    assert run.token_ids == ids and run.steps[1].forced


def test_a_click_on_a_run_that_has_given_way_is_answered_and_does_nothing() -> None:
    session, run = started()
    clicked = {"kind": "next", "value": 0, "params": SETTINGS.to_json()}
    on_event(session)(clicked | {"number": 1, "run": run_key(session)})
    assert (session.answered, run.cursor) == (1, 1)
    on_event(session)(clicked | {"number": 2, "run": run_key(session) + " of another prompt"})
    assert (session.answered, run.cursor) == (2, 1)
    session.ask(prompt="another")
    on_event(session)(clicked | {"number": 3, "run": "before"})
    assert session.answered == 3, "else the browser would wait for it"


def test_a_click_on_a_page_whose_run_has_just_given_way_still_finds_what_was_drawn() -> None:
    session, run = started()
    page = Page("sampling", session, None)
    session.ask(prompt="another")
    assert session.run is None and page.run is run
    session.run = run.branch()
    assert page.run is session.run


def test_other_settings_come_with_the_click_and_are_kept() -> None:
    session, run = started()
    greedy = SamplingParams(temperature=0)
    apply(session, run, event("next", params=greedy))
    assert session.params == greedy
    assert run.steps[0].how == "greedy"


def test_a_token_that_the_settings_do_not_explain_is_marked_with_the_models_own_probability() -> None:
    session, run = started()
    apply(session, run, event("next"))
    assert not choices(run.steps, SETTINGS)[0].forced
    other = choices(run.steps, SamplingParams(temperature=0.1))[0]
    assert other.forced and other.probability == run.steps[0].model_probability


@pytest.mark.parametrize(
    "payload",
    [
        None,
        "next",
        {"kind": "format", "number": 1, "params": {}},
        {"kind": "jump", "number": 1, "value": -1, "params": {}},
        {"kind": "next", "number": 1, "params": {"temperature": -2}},
        {"kind": "next", "number": 1, "params": {"colour": 1}},
        {"kind": "next", "number": True, "params": {}},
    ],
)
def test_what_is_no_event_of_ours_is_refused(payload: Any) -> None:
    assert read_event(payload) is None


def test_bytes_that_are_no_character_are_named_by_their_value() -> None:
    class Codec:
        def pieces(self, ids: list[int]) -> list[Any]:
            return [SimpleNamespace(text="\ufffd", valid=False, data=b"\xf0\x9f", raw="x")]

    assert name_of(Codec(), 3) == "⟨F0 9F⟩"
