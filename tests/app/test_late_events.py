"""An event of a page that has been left is dropped, a timer changes no widget; all else is carried out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from core.ui.late_events import drop_late_events

SHOWN, LEFT = "5e1f", "0dd5"


@pytest.fixture(autouse=True)
def put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit as it was, at the end."""
    monkeypatch.setattr(AppSession, "request_rerun", AppSession.request_rerun)
    monkeypatch.setattr(ScriptRunner, "_run_script", ScriptRunner._run_script)


@pytest.mark.parametrize(
    ("event", "shown", "carried_out"),
    [
        (RerunData(page_script_hash=LEFT, fragment_id_queue=["f"]), SHOWN, False),
        (RerunData(page_script_hash=SHOWN, fragment_id_queue=["f"]), SHOWN, True),
        (RerunData(page_script_hash=LEFT), SHOWN, True),  # the way to another page
        (RerunData(fragment_id_queue=["f"]), SHOWN, True),
        (RerunData(page_script_hash=LEFT, fragment_id_queue=["f"]), "", True),  # nothing is shown yet
    ],
)
def test_a_fragment_runs_only_on_the_page_its_event_came_from(
    event: RerunData, shown: str, carried_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[RerunData] = []
    monkeypatch.setattr(ScriptRunner, "_run_script", lambda _runner, rerun_data: ran.append(rerun_data))
    drop_late_events()
    runner = SimpleNamespace(_pages_manager=SimpleNamespace(current_page_script_hash=shown))
    ScriptRunner._run_script(runner, event)  # type: ignore[arg-type]
    assert ran == ([event] if carried_out else [])


def test_a_timer_leaves_the_widgets_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ClientState | None] = []
    monkeypatch.setattr(AppSession, "request_rerun", lambda _session, state: asked.append(state))
    drop_late_events()
    for from_timer in (True, False):
        state = ClientState(fragment_id="f", is_auto_rerun=from_timer)
        state.widget_states.widgets.add(id="layer", int_value=28)
        AppSession.request_rerun(SimpleNamespace(), state)  # type: ignore[arg-type]
        assert len(state.widget_states.widgets) == 1  # what came from the browser is left as it is
    AppSession.request_rerun(SimpleNamespace(), None)  # type: ignore[arg-type]
    assert [state and len(state.widget_states.widgets) for state in asked] == [0, 1, None]
    assert asked[0] is not None and asked[0].fragment_id == "f"
