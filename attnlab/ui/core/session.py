"""The state that attnlab keeps for one browser session, besides the values of controls."""

import dataclasses
import threading
import weakref
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnlab.live.jobs import Job
from attnlab.live.live_run import LiveRun
from attnlab.live.progress import Autosave
from attnlab.runs.past_runs import PastRun, with_run, without_run
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.core.server import hosted, memory, work_queue
from attnlab.ui.core.session_library import RunKeeper, session_library

if TYPE_CHECKING:
    from attnlab.ui.core.page_charts import DrawnChart

_KEY = "session"


class Asker:
    """A session with an open page, for which results are computed. Referenced weakly."""


@dataclasses.dataclass(eq=False)
class Session:
    """The state of one browser session.

    Attributes:
        run: The current run.
        keeper: Saves the runs of this session in its library.
        past_runs: The runs before the current one, oldest first.
        runs_shelved: Number of runs that became past runs.
        autosaves: Autosaves of past runs, by run number.
        commands: Buttons pressed since the last rerun of the Train page.
        replayed_step: The step that a replay shows, or None.
        jobs: Background jobs by name.
        asker: The open page that results are computed for, or None.
        asked: Keys of the results that the page asked for since its last full rerun.
        missing: Keys that were not known when the page asked for them.
        stopped: Keys of results whose computation the user stopped.
        deadline: `time.monotonic` until which the page waits for results.
        charts: The charts of the page by name.
        page: The page of the last rerun, or None.
        kept: Other values that panels compute once, by name.
    """

    run: LiveRun | None = None
    keeper: RunKeeper | None = None
    past_runs: tuple[PastRun, ...] = ()
    runs_shelved: int = 0
    autosaves: dict[int, Autosave] = dataclasses.field(default_factory=dict)
    commands: list[str] = dataclasses.field(default_factory=list)
    replayed_step: int | str | None = None
    jobs: dict[str, Job] = dataclasses.field(default_factory=dict)
    asker: Asker = dataclasses.field(default_factory=Asker)
    asked: set[Hashable] = dataclasses.field(default_factory=set)
    missing: set[Hashable] = dataclasses.field(default_factory=set)
    stopped: set[Hashable] = dataclasses.field(default_factory=set)
    deadline: float = 0.0
    charts: dict[str, "DrawnChart"] = dataclasses.field(default_factory=dict)
    page: str | None = None
    kept: dict[str, Any] = dataclasses.field(default_factory=dict)

    def pause(self) -> None:
        """Pause the run and all jobs, and release results that are being computed."""
        self.asker = Asker()
        if self.run is not None:
            self.run.pause()
        for job in tuple(self.jobs.values()):
            job.pause()


def session() -> Session:
    """Return the current session, created on first use."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    return st.session_state[_KEY]


def watch_session() -> None:
    """Note that the session has an open page. Pause its work when the page is closed.

    A closed tab and a dropped connection look the same. After a dropped connection the session
    returns with its state, so work is paused, never discarded.
    """
    current = session()
    open_sessions().add(current)
    _watched(current)


@st.cache_resource(
    scope="session", on_release=lambda found: open_sessions().leave(found), show_spinner=False
)
def _watched(_session: Session) -> Session:
    return _session


class OpenSessions:
    """The sessions of this server with an open page. Thread-safe."""

    def __init__(self):
        self._lock = threading.Lock()
        self._sessions: weakref.WeakSet[Session] = weakref.WeakSet()

    def add(self, opened: Session) -> None:
        """Add a session."""
        with self._lock:
            self._sessions.add(opened)

    def leave(self, closed: Session) -> None:
        """Remove a session whose page was closed, and pause its work."""
        with self._lock:
            self._sessions.discard(closed)
        closed.pause()
        if hosted():
            memory().session_ended()

    def runs(self) -> tuple[LiveRun, ...]:
        """Return the current runs of these sessions."""
        with self._lock:
            return tuple(each.run for each in self._sessions if each.run is not None)


@st.cache_resource(show_spinner=False)
def open_sessions() -> OpenSessions:
    """Return the sessions with an open page."""
    return OpenSessions()


def session_run() -> LiveRun:
    """Return the current run of this session, created on first use."""
    keeper, current = session_keeper(), session()
    if current.run is None:
        first = PRESETS[FIRST_PRESET].experiment
        current.run = LiveRun(first, queue=work_queue(), keep=keeper)
    return current.run


def session_keeper() -> RunKeeper:
    """Return the autosave of this session's runs."""
    current, library = session(), session_library().library
    if current.keeper is None:
        current.keeper = RunKeeper(library, only_ended=hosted())
    # The library may have been opened since.
    current.keeper.library = library
    return current.keeper


def shelve_run(run: LiveRun) -> None:
    """Make the current run a past run, before another one replaces it.

    A run without a step is dropped: there is nothing to compare.
    """
    run.pause()
    snapshot, stored, current = run.snapshot(), run.stored(), session()
    if stored is None or snapshot.step == 0 or snapshot.latest is None:
        return
    current.runs_shelved += 1
    number = current.runs_shelved
    current.past_runs = with_run(current.past_runs, snapshot, stored, number=number)
    current.autosaves[number] = run.autosave
    there = {past.number for past in current.past_runs}
    current.autosaves = {past: current.autosaves[past] for past in there & set(current.autosaves)}


def return_to(run: LiveRun, chosen: PastRun) -> None:
    """Shelve the current run and resume a past one, with its former autosave."""
    shelve_run(run)
    current = session()
    autosave = current.autosaves.get(chosen.number)
    current.past_runs = without_run(current.past_runs, chosen.number)
    run.resume(chosen.stored, autosave=autosave, seconds=chosen.snapshot.seconds)
