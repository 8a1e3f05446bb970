"""The session's one run, and what ties it to the person who watches."""

import threading
import weakref

import streamlit as st

from attnlab.configuration.options import OptionError
from attnlab.live.live_run import LiveRun
from attnlab.live.programs import Programs
from attnlab.training.experiment import Experiment
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.core.hosting import hosted, work_queue
from attnlab.ui.library.session_library import RunKeeper, session_library

_RUN, _KEEPER = "live_run", "run_keeper"


def session_run() -> LiveRun:
    """The run of this browser session, made when first asked for."""
    keeper = session_keeper()
    if _RUN not in st.session_state:
        first = PRESETS[FIRST_PRESET].experiment
        st.session_state[_RUN] = LiveRun(
            first, programs=shared_programs(), queue=work_queue(), keep=keeper
        )
    run = st.session_state[_RUN]
    watched_runs().add(run)
    _watched(run)
    return run


def session_keeper() -> RunKeeper:
    """What keeps the runs of this session."""
    library = session_library().library
    if _KEEPER not in st.session_state:
        st.session_state[_KEEPER] = RunKeeper(library, only_ended=hosted())
    keeper: RunKeeper = st.session_state[_KEEPER]
    # It may have been opened since.
    keeper.library = library
    return keeper


@st.cache_resource(show_spinner=False)
def shared_programs() -> Programs:
    """The compiled programs of this server."""
    return Programs()


def get_ready_for(form: Experiment | OptionError, run: LiveRun) -> None:
    """Compile what the controls show while the person still looks at them.

    Not while a run trains, which would slow down, nor on a server that others share.
    """
    if isinstance(form, Experiment) and not run.snapshot().active and not hosted():
        shared_programs().want(form)


class WatchedRuns:
    """The runs of all sessions of this server that somebody looks at."""

    def __init__(self):
        self._lock = threading.Lock()
        self._runs: weakref.WeakSet[LiveRun] = weakref.WeakSet()

    def add(self, run: LiveRun) -> None:
        """Somebody looks at it."""
        with self._lock:
            self._runs.add(run)

    def leave(self, run: LiveRun) -> None:
        """Nobody looks at it any more: it makes a pause."""
        with self._lock:
            self._runs.discard(run)
        run.pause()

    def all(self) -> tuple[LiveRun, ...]:
        """Those that there are now."""
        with self._lock:
            return tuple(self._runs)


@st.cache_resource(show_spinner=False)
def watched_runs() -> WatchedRuns:
    """Those of this server."""
    return WatchedRuns()


# A closed tab and a dropped connection look alike when they happen, and after a drop the session
# comes back with its state. So the run is paused, never thrown away; it goes with the session.
@st.cache_resource(
    scope="session", on_release=lambda run: watched_runs().leave(run), show_spinner=False
)
def _watched(_run: LiveRun) -> LiveRun:
    return _run
