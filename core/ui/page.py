"""The frame of a page: heading, prompt bar, small grid, and the helpers that pages are written with.

page = open_page("attention")
page.intro()
view = page.trace.layer(page.selection.layer)
page.figure(heatmap(view.weights(page.selection.head)), "weights", alt=page.label("weights_alt"))
"""

from __future__ import annotations

import csv as csv_module
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from core.charts.labels import number
from core.charts.template import CONFIG, dressed
from core.components import small_grid
from core.components.keep_figure import keep_figure
from core.decoding.run import Run
from core.lessons.generate import texts_of
from core.ui import formulas, notices, opening, runs, state, text, tour
from core.ui.links import Link
from core.ui.pages import page_info
from core.ui.prompt_bar import prompt_bar
from core.ui.state import Selection, Session

GRID_LABELS = ("title", "given", "made", "folded", "where")

Table = tuple[Sequence[str], Iterable[Sequence[Any]]]
"""Column names and rows: the data behind a figure."""


@dataclass(frozen=True)
class Try:
    """A one-click experiment: ``label`` names a text of the page, ``changes`` are fields of Link."""

    label: str
    changes: Mapping[str, Any]


class Page:
    """An open page with a run. Made by ``open_page``."""

    def __init__(self, name: str, session: Session, model: Any) -> None:
        self.name = name
        self.session = session
        self.model = model
        self._drawn = session.run

    # -- what the page looks at ----------------------------------------------------------------------

    @property
    def run(self) -> Run:
        """The learner's run; after another prompt was asked for, until that one is read, the one that was
        drawn: a click on it may come in that moment."""
        run = self.session.run or self._drawn
        assert run is not None, "open_page stops before a page without a run"
        return run

    @cached_property
    def trace(self) -> Any:
        """The run up to the chosen step as one sequence (``core.engine.trace.Trace``)."""
        return self.model.trace(self.run.tip)

    @cached_property
    def tokens(self) -> list[str]:
        """The text of each position."""
        return texts_of(self.model.codec, self.trace.token_ids)

    @property
    def selection(self) -> Selection:
        """Step, layer, head and position, inside what this run and model have."""
        link, shape = self.session.link, self.model.shape
        last = self.trace.n_positions - 1
        return Selection(
            step=self.run.cursor,
            layer=_inside(link.layer, shape.n_layers, shape.n_layers // 2),
            head=_inside(link.head, shape.n_heads, 0),
            position=_inside(link.position, last + 1, last),
        )

    @property
    def theme(self) -> str:
        """``light`` or ``dark``, for charts."""
        return st.context.theme.type or "light"

    def select(self, **place: int) -> None:
        """Choose ``layer``, ``head`` or ``position`` for all pages. Meant for callbacks, before the page is
        drawn."""
        self.session.select(**place)

    def sync_link(self) -> None:
        """Write the address now: for fragments, after which the shell's own writing does not run."""
        state.write_link()

    def grid(self) -> None:
        """The small grid: positions and layers of the run, the chosen cell lit; a click chooses it."""
        with st.container(key="nt_grid"):
            small_grid.small_grid(
                self.grid_header(), self.grid_norms(), key="nt_small_grid", on_choose=self.choose_cell
            )

    def follow(
        self, *sections: Callable[[Page], object], rest: Callable[[Page], object] = lambda _page: None
    ) -> None:
        """The small grid and ``sections`` as one fragment: what choosing a cell, layer or head draws anew.

        Everything else of the page (prompt bar, heading, what does not depend on the place) stays untouched,
        until what ``rest`` says of it changes. Each section gets a page of this very drawing.
        """
        session, started, before = self.session, self.run, rest(self)

        def draw() -> None:
            if session.run is not started or session.run_of != session.request:
                state.rerun()
            with session.lock:
                now = Page(self.name, session, self.model)
                if rest(now) != before:
                    state.rerun()
                now.grid()
                for section in sections:
                    section(now)
                now.sync_link()

        st.fragment(draw)()

    def deeper(self, name: str, draw: Callable[[Page], object]) -> None:
        """A part that is worked out and drawn once it is opened; it stays open while the page is looked at.

        ``name``: the label ``open_<name>`` says what is inside.
        """
        part = st.expander(self.label(f"open_{name}"), key=f"nt_deeper_{self.name}_{name}", on_change="rerun")
        if part.open:
            with part:
                draw(self)

    def grid_header(self) -> dict[str, Any]:
        """The words and the place of the small grid, for components that hold it themselves."""
        return small_grid.header(
            self.tokens,
            prompt_length=len(self.run.prompt_ids),
            prompt_limit=runs.prompt_limit(self.model.shape),
            layer=self.selection.layer,
            position=self.selection.position,
            labels={name: text.label("shell", f"grid_{name}") for name in GRID_LABELS},
        )

    def grid_norms(self) -> np.ndarray:
        """(n_layers, T): what the small grid shades."""
        norms: np.ndarray = self.trace.residual_norms()[1:]
        return norms

    def choose_cell(self, cell: Any) -> None:
        """What a click on the small grid does."""
        _choose(self.session, cell)

    # -- text ----------------------------------------------------------------------------------------

    def label(self, key: str, **values: object) -> str:
        """A short string of this page's text file."""
        return text.label(self.name, key, **values)

    def section(self, name: str) -> None:
        """Show a named Markdown section of this page's text file."""
        st.markdown(text.section(self.name, name))

    def intro(self) -> None:
        """Show the section ``intro``: two or three plain sentences."""
        with st.container(key="nt_intro"):
            self.section("intro")

    # -- furniture -----------------------------------------------------------------------------------

    def try_this(self, experiments: Sequence[Try]) -> None:
        """A row of one-click experiments, named by labels of this page."""
        with self.try_row():
            for experiment in experiments:
                st.button(
                    self.label(experiment.label),
                    key=f"nt_try_{experiment.label}",
                    on_click=_apply,
                    args=(self.session, dict(experiment.changes)),
                )

    def try_row(self, part: str = "") -> Any:
        """The row that one-click experiments stand in, with its first words; ``part`` names a second row of a
        page."""
        key = f"nt_try_row_{part}" if part else "nt_try"
        row = st.container(key=key, horizontal=True, vertical_alignment="center", gap="small")
        row.markdown(text.label("shell", "try_this"), width="content")
        return row

    def formula(self, name: str, **values: float | Sequence[float]) -> None:
        """A formula of this page's text (section ``formula name``) with its ``<<places>>`` filled by
        numbers."""
        st.latex(formulas.fill(text.section(self.name, f"formula {name}"), values))

    def tensor(self, name: str, shape: Sequence[int], dtype: str) -> None:
        """Which tensor is shown: its name in the model, its shape and its type."""
        size = " × ".join(f"{n:,}" for n in shape)
        plain = name.replace("`", "")
        st.caption(text.label("shell", "tensor", name=f"`{plain}`", shape=size, dtype=dtype))

    def check(self, label: str, error: float, tolerance: float) -> bool:
        """The check line: what was recomputed (a label of this page), the largest error, and whether it may
        pass."""
        passed = bool(error <= tolerance)
        icon = "check_circle" if passed else "error"
        with st.container(key=f"nt_check_{label}"):
            st.caption(f":material/{icon}: {self.check_text(label, error, tolerance)}")
        return passed

    def check_text(self, label: str, error: float, tolerance: float) -> str:
        """The words of the check line."""
        key = "check_passed" if error <= tolerance else "check_failed"
        error_text, allowed = number(error, 2) if error else "0", number(tolerance, 2) if tolerance else "0"
        return text.label("shell", key, what=self.label(label), error=error_text, allowed=allowed)

    def figure(
        self,
        figure: go.Figure,
        key: str,
        alt: str,
        csv: Table | None = None,
        height: int = 320,
        on_select: Callable[[], None] | None = None,
    ) -> Any:
        """A chart in the house template that keeps its place and can be kept: PNG, SVG and, with ``csv``, its
        data."""
        shown = dressed(figure, self.theme, height)
        filename = f"{self.name}-{key}"
        with st.container(key=f"nt_figure_{filename}", gap=None):
            result = st.plotly_chart(
                shown,
                key=f"nt_chart_{filename}",
                theme=None,
                height=height,
                alt=alt,
                config=CONFIG,
                on_select=on_select or "ignore",
                selection_mode="points",
            )
            keep_figure(
                key=f"nt_keep_{filename}",
                filename=filename,
                csv=_csv(csv) if csv else None,
                labels={name: text.label("shell", f"keep_{name}") for name in ("png", "svg", "csv")}
                | {"keep": text.label("shell", "keep")},
            )
        return result

    def pickers(self) -> None:
        """The controls for layer, head and position in one row."""
        with st.container(horizontal=True, gap="small", key="nt_picks"):
            self.pick_layer()
            self.pick_head()
            self.pick_position()

    def pick_layer(self) -> int:
        """A control for the layer that all pages share; returns the chosen one."""
        return self._pick("layer", self.selection.layer, self.model.shape.n_layers)

    def pick_head(self) -> int:
        """A control for the query head that all pages share."""
        return self._pick("head", self.selection.head, self.model.shape.n_heads)

    def pick_position(self) -> int:
        """A control for the position that all pages share."""
        return self._pick("position", self.selection.position, self.trace.n_positions)

    def _pick(self, name: str, value: int, count: int) -> int:
        key = f"nt_pick_{name}"
        if st.session_state.get(key) != value:  # what is written goes to the browser as a change
            st.session_state[key] = value
        st.number_input(
            text.label("shell", f"pick_{name}", last=count - 1),
            0,
            count - 1,
            step=1,
            key=key,
            on_change=_take_pick,
            args=(self.session, name),
        )
        return value


def open_page(name: str, *, grid: bool = True) -> Page:
    """Heading, prompt bar and small grid. Stops the page with a notice when there is no run to show yet.

    ``grid=False`` leaves the small grid to the page: one that steps the run draws it inside its fragment.

    What stands above the page in some runs only has a container in all of them: Streamlit knows a fragment by
    its place among the elements, and drops an event whose fragment has moved since.
    """
    session = state.session()
    title = text.label("shell", f"page_{page_info(name).name}")
    tour_place = st.container()
    with st.container(key="nt_head", gap="small"):
        prompt_bar(session)
        quiet = st.empty()
    notices.quiet_line(session, quiet)
    st.title(title, anchor=False)
    with st.container(key="nt_opening"):
        model = opening.model_or_stop(session)
        said = session.refused
        opening.run_or_stop(session, model)
    page = Page(name, session, model)
    _clamp(page)
    if session.refused != said:
        notices.quiet_line(session, quiet)
    tour.bar(session, name, model, page.selection, tour_place)
    if grid:
        page.grid()
    return page


def _choose(session: Session, cell: Any) -> None:
    """What the browser sends is checked like any other input: two whole numbers or nothing."""
    if isinstance(cell, Mapping) or hasattr(cell, "get"):
        layer, position = cell.get("layer"), cell.get("position")
        if all(isinstance(value, int) and value >= 0 for value in (layer, position)):
            session.select(layer=layer, position=position)


def _clamp(page: Page) -> None:
    """A place that this model or run does not have goes back to the default and is said to be refused."""
    link, shape = page.session.link, page.model.shape
    limits = {"layer": shape.n_layers, "head": shape.n_heads, "position": page.trace.n_positions}
    beyond = [name for name, count in limits.items() if (getattr(link, name) or 0) >= count]
    if beyond:
        page.session.link = replace(link, **dict.fromkeys(beyond))  # type: ignore[arg-type]
        page.session.refused += tuple(beyond)


def _inside(value: int | None, count: int, default: int) -> int:
    return value if value is not None and 0 <= value < count else default


def _apply(session: Session, changes: dict[str, Any]) -> None:
    asked = {name: changes[name] for name in ("prompt", "model", "chat", "literal") if name in changes}
    if asked:
        session.ask(**asked)
    rest = {name: value for name, value in changes.items() if name not in asked}
    session.link = replace(session.link, **rest)


def _take_pick(session: Session, name: str) -> None:
    session.select(**{name: int(st.session_state[f"nt_pick_{name}"])})


def _csv(table: Table) -> str:
    columns, rows = table
    out = io.StringIO()
    writer = csv_module.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return out.getvalue()


__all__ = ["Link", "Page", "Selection", "Try", "open_page"]
