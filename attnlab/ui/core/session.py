"""The state that attnlab keeps for one browser session, besides the values of controls."""

import dataclasses
import threading
import weakref
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.live.jobs import Job
from attnlab.live.live_run import LiveRun
from attnlab.live.progress import Autosave
from attnlab.runs.library import Library
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment
from attnlab.ui.core.server import hosted, memory

if TYPE_CHECKING:
    from attnlab.ui.core.page_charts import DrawnChart
    from attnlab.ui.core.session_library import RunKeeper

_KEY = "session"
# What a button does to the run, given the settings of the controls.
Command = Callable[[LiveRun, Experiment | OptionError], None]


class Asker:
    """An open page, as the cache of results knows it; the cache refers to it weakly."""


@dataclasses.dataclass(eq=False)
class Session:
    """The state of one browser session.

    Attributes:
        run: The current run.
        keeper: Saves the runs of this session in its library.
        library: The session's own library in memory, if it does not use the user's library.
        past_runs: The runs before the current one, oldest first, numbered from 1.
        runs_shelved: Number of runs that became past runs.
        hidden_runs: Numbers of past runs that are not on the chart.
        pinned_runs: Numbers of past runs that stay when newer runs come; the first of these runs is
            the baseline of all others.
        autosaves: Autosaves of past runs, by run number.
        run_names: Names of advised and restored runs, by experiment.
        commands: What was queued since the last rerun of the Train page.
        jobs: Background jobs by name.
        asker: The open page, as the cache of results knows it.
        requested: Keys of the results that the page requested since its last full rerun.
        missing: Keys of the requested results that were not known.
        stopped: Keys of results whose computation the user stopped.
        deadline: Value of `time.monotonic()` until which the page waits for results.
        charts: The charts drawn since the last full rerun, by name.
        address: The address parameters of the page's settings.
        page: The page of the last rerun, or None.
        kept: Other values that panels compute once, by name.
    """

    run: LiveRun | None = None
    keeper: "RunKeeper | None" = None
    library: Library | None = None
    past_runs: tuple[RunSummary, ...] = ()
    runs_shelved: int = 0
    hidden_runs: set[int] = dataclasses.field(default_factory=set)
    pinned_runs: set[int] = dataclasses.field(default_factory=set)
    autosaves: dict[int, Autosave] = dataclasses.field(default_factory=dict)
    run_names: dict[Experiment, str] = dataclasses.field(default_factory=dict)
    commands: list[Command] = dataclasses.field(default_factory=list)
    jobs: dict[str, Job] = dataclasses.field(default_factory=dict)
    asker: Asker = dataclasses.field(default_factory=Asker)
    requested: set[tuple[Any, ...]] = dataclasses.field(default_factory=set)
    missing: set[tuple[Any, ...]] = dataclasses.field(default_factory=set)
    stopped: set[Hashable] = dataclasses.field(default_factory=set)
    deadline: float = 0.0
    charts: dict[str, "DrawnChart"] = dataclasses.field(default_factory=dict)
    address: dict[str, str] = dataclasses.field(default_factory=dict)
    page: str | None = None
    kept: dict[str, Any] = dataclasses.field(default_factory=dict)

    def pause(self) -> None:
        """Pause the run and all jobs, and release results that are being computed."""
        self.asker = Asker()
        if self.run is not None:
            self.run.pause()
        for job in tuple(self.jobs.values()):
            job.pause()

    def forget(self) -> None:
        """Reset the session to its initial, empty state, so that everything in it can be freed.

        Streamlit keeps the state of a closed session until the next session is closed, and with it
        the callbacks of the buttons, which hold the run.
        """
        if self.run is not None:
            self.run.discard()
        vars(self).update(vars(Session()))


def session() -> Session:
    """Return the current session, created on first use."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    return st.session_state[_KEY]


def kept_result(key: str, model: Any, rest: Any, make: Callable[[], Any]) -> Any:
    """Return the result of `make`, kept under `key` for the last model and arguments `rest`."""
    # Keep the model, not its id: Python may reuse the id of a deleted object.
    kept = session().kept.get(key)
    if kept is None or kept[0] is not model or kept[1] != rest:
        session().kept[key] = kept = (model, rest, make())
    return kept[2]


def watch_session() -> None:
    """Note that the session has an open page, and pause its work when the page is closed.

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
    """A thread-safe collection of the sessions of this server that have an open page."""

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
            memory().session_ended(partial(self._forget, closed))

    def _forget(self, closed: Session) -> None:
        with self._lock:
            if closed not in self._sessions:
                closed.forget()

    def runs(self) -> tuple[LiveRun, ...]:
        """Return the current runs of these sessions."""
        with self._lock:
            return tuple(each.run for each in self._sessions if each.run is not None)


@st.cache_resource(show_spinner=False)
def open_sessions() -> OpenSessions:
    """Return the sessions with an open page."""
    return OpenSessions()
