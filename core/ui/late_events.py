"""Events that come too late, because Streamlit sends or keeps them longer than they mean something.

* An event of a page that has been left. A fragment's event or timer may still be on its way when another page
  is opened. Streamlit 1.67 keeps it until the new page has run, then begins a run of the fragment under the
  old page's name. The browser takes that for a change of page and clears the screen; the fragment is gone, so
  nothing is drawn in its place.
* What a timer tells of the widgets. A fragment that draws itself again every half second sends the values of
  all widgets along, as the browser knows them. A value that the app has changed meanwhile would be changed
  back.
"""

from __future__ import annotations

from functools import wraps

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData


def drop_late_events() -> None:
    """Let Streamlit leave out both. There is no public way to say so. Called once, when the server starts."""
    _only_on_the_page_shown()
    _timers_without_widgets()


def _only_on_the_page_shown() -> None:
    run_script = ScriptRunner._run_script

    @wraps(run_script)
    def run_if_shown(self: ScriptRunner, rerun_data: RerunData) -> None:
        shown = self._pages_manager.current_page_script_hash
        if rerun_data.fragment_id_queue and shown and rerun_data.page_script_hash not in ("", shown):
            return
        run_script(self, rerun_data)

    ScriptRunner._run_script = run_if_shown  # type: ignore[method-assign]


def _timers_without_widgets() -> None:
    request_rerun = AppSession.request_rerun

    @wraps(request_rerun)
    def request_without_widgets(self: AppSession, client_state: ClientState | None) -> None:
        if client_state is not None and client_state.is_auto_rerun:
            asked = ClientState()
            asked.CopyFrom(client_state)
            asked.ClearField("widget_states")
            client_state = asked
        request_rerun(self, client_state)

    AppSession.request_rerun = request_without_widgets  # type: ignore[method-assign]
