"""The library of a browser session, and the autosave of its runs."""

import dataclasses
import itertools
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from attnlab.configuration.options import AttnlabError, OptionError, present
from attnlab.live.live_run import LiveRun
from attnlab.runs.library import Library, LibraryError, library_folder
from attnlab.runs.past_runs import short_name, twin_of, with_run
from attnlab.runs.run_summary import RunSummary
from attnlab.training.presets import FIRST_PRESET, PRESETS
from attnlab.ui.core.outside import FAULT
from attnlab.ui.core.server import hosted, shared_runs, work_queue
from attnlab.ui.core.session import session

# Memory for the library of a session on a shared server: enough for a few runs of the largest
# allowed models, or for hundreds of small runs.
_HOSTED_BYTES = 16_000_000
# Seconds that a page waits while another program writes to the library.
_PATIENCE = 3.0
_MOST_MOVED = 1_000
_NEVER = datetime.min.replace(tzinfo=UTC)


class SessionLibrary(NamedTuple):
    """A library and its folder; without a folder it is in memory and ends with the session.

    `problem` says why the library is not in the folder where it should be, or is "".
    """

    library: Library
    folder: Path | None
    problem: str = ""


def session_library() -> SessionLibrary:
    """Return the user's library, or one in memory on a shared server or if it cannot be used."""
    try:
        folder = None if hosted() else library_folder(os.environ)
    except OptionError as error:
        return SessionLibrary(_own_library(), None, str(error))
    if folder is None:
        return SessionLibrary(_own_library(), None)
    opened = _opened(folder)
    if isinstance(opened, str):
        return SessionLibrary(_own_library(), None, opened)
    _move_own_runs(opened)
    return SessionLibrary(opened, folder)


def try_again() -> None:
    """Try again to open the user's library, at the next rerun."""
    _opened.clear()


@st.cache_resource(show_spinner=False)
def _opened(folder: Path) -> Library | str:
    """Return the library in the folder, shared by all sessions, or an error message."""
    try:
        return Library(folder, patience=_PATIENCE)
    except LibraryError as error:
        return str(error)


def _own_library() -> Library:
    current = session()
    if current.library is None:
        current.library = Library(None, most_bytes=_HOSTED_BYTES if hosted() else None)
    return current.library


def _move_own_runs(library: Library) -> None:
    """Move this session's runs from memory into the user's library, now that it is open."""
    own = session().library
    if own is None:
        return
    # If this fails, the runs stay in memory.
    with suppress(LibraryError):
        library.take_in(own.export(own.numbers()[:_MOST_MOVED]))
        session().library = None


class RunKeeper:
    """Saves the results of a run in one row of a library, unless another program changed that row.

    A run that repeats a finished run uses the row of that run, which is not changed.

    With `only_ended`, unfinished runs are not saved. `problem` is why the last result could not be
    saved, or "".
    """

    def __init__(self, library: Library, *, only_ended: bool):
        self.library = library
        self.problem = ""
        self._only_ended = only_ended

    def __call__(self, run: RunSummary, before: RunSummary | None) -> RunSummary | None:
        """Save a run over `before`, if given; return it as the library has it."""
        if self._only_ended and run.state == "interrupted":
            return before
        try:
            there = None if before is None else self.library.entry(before.number)
            if there is None or before is None or there.date != before.date:
                # The run was deleted, or another tab or program has continued it differently.
                there = None
            if there is None and (done := self.library.equal_run(run)) is not None:
                # No row has this date, so later changes of settings start a new row.
                return dataclasses.replace(done, date=_NEVER)
            number = None if there is None else there.number
            number = self.library.keep(run, name=run.name, number=number)
            kept = self.library.entry(number)
        except AttnlabError as error:
            self.problem = str(error)
            return before
        except ValueError:
            self.problem = FAULT
            raise
        self.problem = ""
        return kept or before


def session_run() -> LiveRun:
    """Return the current run of this session, created on first use."""
    keeper, current = session_keeper(), session()
    if current.run is None:
        first = PRESETS[FIRST_PRESET].experiment
        current.run = LiveRun(first, queue=work_queue(), keep=keeper, shared=shared_runs())
    return current.run


def session_keeper() -> RunKeeper:
    """Return the object that saves this session's runs."""
    current, library = session(), session_library().library
    if current.keeper is None:
        current.keeper = RunKeeper(library, only_ended=hosted())
    # The user's library may have been opened since the last call.
    current.keeper.library = library
    return current.keeper


def name_current(run: LiveRun) -> None:
    """Give the current run its name, unless it has one. Call it before the run starts."""
    run.autosave.name = run.autosave.name or current_name(run)


def shelve_run(run: LiveRun) -> None:
    """Add the current run to the past runs, before another run replaces it.

    A run that has made no step is dropped, and so is a run that repeats a past one.
    """
    run.pause()
    summary, current = run.summary(), session()
    if summary is None or summary.steps == 0:
        return
    current.runs_shelved += 1
    number = current.runs_shelved
    name, kept = current_name(run), run.autosave.kept
    numbered = dataclasses.replace(summary, number=number, name=name)
    current.past_runs = with_run(current.past_runs, numbered, current.pinned_runs)
    current.autosaves[number] = run.autosave
    there = {past.number for past in current.past_runs}
    # A name in the library may be the user's.
    if number in there and not (kept and kept.name):
        name_run(number, name)
    current.autosaves = {past: current.autosaves[past] for past in there & set(current.autosaves)}
    current.pinned_runs &= there


def name_run(number: int, name: str) -> None:
    """Name a past run, also in the library.

    Raises:
        OptionError: If a run cannot have this name.
    """
    current = session()
    current.past_runs = tuple(
        dataclasses.replace(run, name=name) if run.number == number else run
        for run in current.past_runs
    )
    kept = current.autosaves[number].kept
    if kept is not None and kept.name != name:
        try:
            session_library().library.describe(kept.number, name=name)
        except LibraryError as error:
            session_keeper().problem = str(error)
        follow_name(dataclasses.replace(kept, name=name))


def follow_name(entry: RunSummary) -> None:
    """Rename the runs of this session that are saved as this entry of the library."""
    current = session()
    for number, autosave in (*current.autosaves.items(), (None, session_run().autosave)):
        if autosave.kept is None or autosave.kept.number != entry.number:
            continue
        autosave.kept = dataclasses.replace(autosave.kept, name=entry.name)
        current.past_runs = tuple(
            dataclasses.replace(run, name=entry.name or run.name) if run.number == number else run
            for run in current.past_runs
        )


def current_name(run: LiveRun) -> str:
    """Return the name of the current run, which it keeps as a past run.

    It is the first of these: the name of the past run that it repeats, its name in the library, the
    name of the advice that led to it, its `short_name`.
    """
    past, kept = session().past_runs, run.autosave.kept
    if not run.snapshot().history.changes and (twin := twin_of(past, run.experiment)):
        return twin.name
    before = past[-1].experiment if past else None
    name = (kept.name if kept else "") or run.autosave.name
    name = name or session().run_names.get(run.experiment) or short_name(run.experiment, before)
    taken = {each.name for each in past}
    free = (f"{name} ({count})" for count in itertools.count(2))
    return name if name not in taken else next(each for each in free if each not in taken)


def remove_run(number: int) -> None:
    """Callback: remove a past run."""
    current = session()
    current.past_runs = tuple(run for run in current.past_runs if run.number != number)
    current.pinned_runs.discard(number)


def return_to(run: LiveRun, chosen: RunSummary) -> None:
    """Shelve the current run and resume a past run, which is saved in the same row as before."""
    shelve_run(run)
    autosave = session().autosaves.get(chosen.number)
    session().run_names[chosen.experiment] = chosen.name
    remove_run(chosen.number)
    run.resume(present(chosen.run), autosave=autosave, seconds=chosen.seconds)
