"""Taking a run out of the library, into the place of the present one."""

from attnlab.configuration.options import OptionError
from attnlab.live.keeping import Keeping
from attnlab.live.live_run import LiveRun
from attnlab.runs.library import Entry, Library, LibraryError
from attnlab.runs.run_file_header import RunFileError
from attnlab.training.limits import check_limits
from attnlab.ui.controls.form_state import fill_form
from attnlab.ui.core.hosting import limits
from attnlab.ui.core.outside import draw_toast
from attnlab.ui.core.session_run import session_keeper
from attnlab.ui.library.run_keeper import Kept, kept_as
from attnlab.ui.train.session_past_runs import shelve_run


def open_run(run: LiveRun, library: Library, number: int) -> bool:
    """Put a run of the library in the place of the present one, which is shelved; if it could be.

    For callbacks. Why it could not is told. The present run itself stays as it is.
    """
    if is_present(run, library, number):
        fill_form(run.experiment)
        return True
    try:
        entry = library.entry(number)
        stored = None if entry is None else library.run_of(number)
        if stored is None:
            draw_toast("This run is gone, or it was kept without its model.")
            return False
        check_limits(stored.experiment, limits())
    except (LibraryError, RunFileError, OptionError) as error:
        draw_toast(f"{error} Your present run is kept.")
        return False
    shelve_run(run)
    keeping = Keeping(session_keeper(), kept=kept_as(library, entry))
    run.resume(stored, keeping=keeping, seconds=entry.result.seconds)
    fill_form(stored.experiment)
    return True


def is_present(run: LiveRun, library: Library, number: int) -> bool:
    """Whether the session's run is that of the library."""
    kept = run.keeping.kept
    return isinstance(kept, Kept) and kept.library is library and kept.number == number


def load_settings(entry: Entry) -> bool:
    """Set the controls to those of a run; whether this server allows them. For callbacks."""
    experiment = entry.result.experiment
    try:
        check_limits(experiment, limits())
    except OptionError as error:
        draw_toast(str(error))
        return False
    fill_form(experiment)
    return True
