"""What one learner has: the settings of the link, the run, and what is chosen. The only place that knows the
URL."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.components.lines import Line
from core.decoding.params import SamplingParams
from core.decoding.run import Run
from core.decoding.tree import Tree
from core.ui import links
from core.ui.links import Link

_KEY = "nt_session"


@dataclass(frozen=True)
class Selection:
    """The place that all pages look at. ``step`` tokens are generated; ``position`` counts from 0 at the
    prompt."""

    step: int
    layer: int
    head: int
    position: int


@dataclass
class Session:
    """One learner's state. ``run_of`` is the request that ``run`` answers, to see when it is out of date.

    ``trained``: names of the models that this learner trained from zero, the newest last.
    ``kept_tree``: what was computed for the present request by a run that was dropped. ``written``: what the
    address said when it was last read or written; ``known``: what the state would have said then.
    ``replaced``: what the address said before the last answer on a line. ``answered``: the number of the
    stepper's last event that was carried out; ``notice``: what of it could not be done. ``lock``: held while
    the run or the link is changed or drawn, because an answer on one of ``lines`` comes beside the page's
    script.
    """

    link: Link = field(default_factory=Link)
    refused: tuple[str, ...] = ()
    run: Run | None = None
    run_of: tuple[str, ...] | None = None
    kept_tree: Tree | None = None
    asked_model: str | None = None
    several_lines: bool = False
    trained: list[str] = field(default_factory=list)
    page: str | None = None
    written: dict[str, str] | None = None
    known: dict[str, str] | None = None
    replaced: dict[str, str] | None = None
    answered: int = 0
    notice: str = ""
    lines: dict[str, Line] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def request(self) -> tuple[str, ...]:
        """What a run is started from; another value needs another run."""
        link = self.link
        return (link.model, link.prompt, str(link.chat), str(link.literal))

    @property
    def params(self) -> SamplingParams:
        """The sampling settings that all pages share."""
        return self.link.params()

    def set_params(self, params: SamplingParams) -> None:
        """Take other sampling settings; the run so far stays as it is."""
        with self.lock:
            self.link = self.link.with_params(params)

    def ask(self, **changes: Any) -> None:
        """A new request (prompt, model, chat, literal): the next page run starts it from its beginning.

        A step that is on its way beside the page's script ends first.
        """
        with self.lock:
            self.link = replace(self.link, **changes, step=0, ahead=0, taken=(), position=None)
            self.refused = ()
            self.drop_run()

    def select(
        self, *, layer: int | None = None, head: int | None = None, position: int | None = None
    ) -> None:
        """Choose a place for all pages; what is not named stays."""
        chosen = {"layer": layer, "head": head, "position": position}
        with self.lock:
            self.link = replace(self.link, **{n: v for n, v in chosen.items() if v is not None})  # type: ignore[arg-type]

    def follow_newest(self) -> None:
        """Let the chosen position be the newest column again."""
        self.link = replace(self.link, position=None)

    @property
    def query(self) -> dict[str, str]:
        """The address that reproduces what the learner has now."""
        return links.format_link(with_run(self.link, self.run))

    def drop_run(self) -> None:
        """Forget the run; the next page run starts it anew from the link, on the same tree where the
        request is the same (so that back and forward in the browser lose no branch)."""
        with self.lock:
            same = self.run is not None and self.run_of == self.request
            self.kept_tree = self.run.tree if self.run is not None and same else None
            self.run, self.run_of = None, None

    def line(self, event: str) -> Line:
        """This learner's own line for a component's event, opened at the first call."""
        return self.lines.setdefault(event, Line(event))


def session() -> Session:
    """This learner's state, made at the first call."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    found: Session = st.session_state[_KEY]
    return found


def begin_run(page: str) -> None:
    """Read the address when it is news: at the first run of a session, after back and forward, in an edited
    link.

    A second click that comes before the browser has taken the newest address still carries the one before.
    Its callback has changed the state already, which back and forward never do, so then the state counts. It
    also counts where a step was answered on a line while this run was on its way, and where another page is
    entered at its bare address. An address that says something at another page is always news: it was asked
    for.
    """
    current = session()
    query = {name: value for name, value in st.query_params.to_dict().items() if name in links.NAMES}
    with current.lock:
        moved = current.page is not None and current.page != page
        acted = current.known is not None and current.query != current.known
        current.page = page
        late = not moved and _late(current, query)
        known = query == current.written or late or (not query if moved else acted)
        if current.written is None or not known:
            _adopt(current, query)
        # Read from here on, even if this run is cut short before it writes: else the next run, still at the
        # bare address of a page just entered, would take the empty query for news and forget the choices.
        current.written, current.known = query, current.query
        current.replaced = current.replaced if late else None


def _late(current: Session, query: dict[str, str]) -> bool:
    """Whether the browser sent this address before it had the last answer on a line."""
    ctx = get_script_run_ctx()
    return query == current.replaced and not (ctx is not None and ctx.is_history_navigation)


def write_link() -> None:
    """Make the address reproduce the screen. Called after each page run; a fragment that moves the run calls
    it too."""
    current = session()
    with current.lock:
        _write(current)


def _write(current: Session) -> None:
    current.link = with_run(current.link, current.run)
    query = links.format_link(current.link)
    others = {name: value for name, value in st.query_params.to_dict().items() if name not in links.NAMES}
    if st.query_params.to_dict() != others | query:
        st.query_params.from_dict(others | query)
    current.written = current.known = query


def address(current: Session) -> dict[str, Any]:
    """The same for an answer on a line: the browser writes the address itself and will send it from then
    on."""
    current.replaced = current.written or {}
    current.link = with_run(current.link, current.run)
    current.written = current.known = links.format_link(current.link)
    return {"names": sorted(links.NAMES), "query": current.written}


def stop_page() -> NoReturn:
    """End this page run early. Use it instead of ``st.stop``: after that the address cannot be written."""
    write_link()
    forget_fragments()
    st.stop()


def rerun() -> NoReturn:
    """Draw the whole page anew. Use it instead of ``st.rerun``: a fragment's event may still carry the
    address from before the last change, and the page would take that for what the learner asks for now."""
    write_link()
    st.rerun()


def forget_fragments() -> None:
    """Drop the fragments that this page run, which ends early, did not draw.

    Streamlit keeps those of the run before when a script is stopped or fails, though they have left the
    screen: an event that is still on its way would draw one at a place that the page no longer has, and that
    ends the app in the browser.
    """
    ctx = get_script_run_ctx()
    if ctx is not None and not ctx.fragment_ids_this_run:
        ctx.fragment_storage.clear(new_fragment_ids=ctx.shared.new_fragment_ids.snapshot())


def with_run(link: Link, run: Run | None) -> Link:
    """The link with the run's own place in it: step, tokens ahead, and the choices that the settings do not
    explain."""
    if run is None:
        return link
    params = link.params()
    taken = tuple(
        (index, record.token_id)
        for index, record in enumerate(run.steps)
        if record.forced or record.params != params
    )
    return replace(link, step=run.cursor, ahead=len(run.steps) - run.cursor, taken=taken)


def _adopt(current: Session, query: Mapping[str, str]) -> None:
    link, current.refused = links.parse(query)
    before = with_run(current.link, current.run)
    same_text = links.of_run(link) == links.of_run(before)
    current.link = link
    if current.run is None:
        return
    if same_text and link.step + link.ahead <= len(current.run.steps):
        current.run.jump(link.step)
    else:
        current.drop_run()
