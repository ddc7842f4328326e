"""A job on a page (a measurement, a training run): start, progress, stop; the page stays free meanwhile.

The job runs in a thread of its own and is kept in the session: a learner who leaves the page finds it again.
A small fragment looks at it a few times a second while it runs and draws nothing but itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.lessons.job import Job, Plan
from core.ui import state
from core.ui.page import Page

POLL_S = 0.7
_JOBS = "nt_jobs"


@dataclass(frozen=True)
class Measurement:
    """``about``: what it is about (a model, a prompt); results about something else are forgotten.

    ``controls`` draws the settings and returns how to make the plan; ``show`` draws a result. ``doing`` says
    what goes on beside the progress bar (None: the label ``measuring``). ``forgotten_after_s``: see Job.
    ``start``: the label of the start button ("": ``start_<name>``). ``idle`` is drawn while there is no job.
    """

    name: str
    about: tuple[Any, ...]
    controls: Callable[[], Callable[[], Plan]]
    show: Callable[[Any], None]
    doing: Callable[[Any], str] | None = None
    icon: str = ":material/timer:"
    forgotten_after_s: float | None = None
    start: str = ""
    idle: Callable[[], None] | None = None


@dataclass(frozen=True)
class _Kept:
    about: tuple[Any, ...]
    job: Job


def measurement(page: Page, what: Measurement) -> None:
    """Draw the measurement. Its texts are the page's labels ``start_<name>``, ``stop`` and so on."""
    st.fragment(_panel)(page, what)


def _panel(page: Page, what: Measurement) -> None:
    with st.container(key=f"nt_measure_{what.name}", border=True):
        make = what.controls()
        job = _job(what)
        with st.container(horizontal=True, vertical_alignment="center"):
            running = job is not None and job.running
            st.button(
                page.label(what.start or f"start_{what.name}"),
                key=f"nt_measure_start_{what.name}",
                icon=what.icon,
                type="secondary" if running else "primary",
                disabled=running,
                on_click=begin,
                args=(what, make),
            )
            if running and job is not None:
                st.button(page.label("stop"), key=f"nt_measure_stop_{what.name}", on_click=job.stop)
        if job is None:
            if what.idle is not None:
                what.idle()
            return
        # Asked once: a job that ends while this is drawn must still have the buttons drawn anew.
        st.fragment(_watch, run_every=POLL_S if running else None)(page, what, job, running)


def _watch(page: Page, what: Measurement, job: Job, was_running: bool) -> None:
    """Progress and results. When the job has ended the page is drawn once more, so that the watching ends."""
    job.seen()
    if was_running and not job.running:
        state.rerun()
    if job.running:
        doing = what.doing(job.report.result) if what.doing else page.label("measuring")
        st.progress(job.share, doing)
    elif job.status == "stopped":
        st.caption(page.label("stopped"))
    elif job.status == "failed":
        problem = job.problem
        st.warning(f"{problem.what} {problem.todo}" if problem else page.label("failed"))
    if job.report.result is not None:
        what.show(job.report.result)


def _kept() -> dict[str, _Kept]:
    found: dict[str, _Kept] = st.session_state.setdefault(_JOBS, {})
    return found


def _job(what: Measurement) -> Job | None:
    kept = _kept().get(what.name)
    if kept is None:
        return None
    if kept.about != what.about:
        kept.job.stop()
        del _kept()[what.name]
        return None
    return kept.job


def begin(what: Measurement, make: Callable[[], Plan]) -> None:
    """Start the job now, as the start button does; one that runs already is stopped."""
    before = _kept().get(what.name)
    if before is not None:
        before.job.stop()
    _kept()[what.name] = _Kept(what.about, Job(make(), what.forgotten_after_s))
