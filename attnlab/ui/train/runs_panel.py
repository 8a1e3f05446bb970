"""The past runs of the session, and the files of the current run."""

import functools

import pandas as pd
import streamlit as st

from attnlab.comparisons.paired import common_seeds, compare_paired
from attnlab.comparisons.uncertainty import interval_text
from attnlab.configuration.number_text import show_estimate, show_measured
from attnlab.configuration.options import OptionError, present, quoted
from attnlab.live.live_run import LiveRun
from attnlab.runs.differences import differing_settings, label_of_change
from attnlab.runs.history import to_csv
from attnlab.runs.past_runs import MOST_PINNED, gap_between, steps_to
from attnlab.runs.run import Run
from attnlab.runs.run_summary import MOST_NAME, RunSummary
from attnlab.runs.script import to_script
from attnlab.runs.storage import to_bytes
from attnlab.ui.controls.form_state import fill_form
from attnlab.ui.controls.uploads import draw_upload, take_run_file
from attnlab.ui.core.card_files import draw_card_of_run
from attnlab.ui.core.display import draw_button, draw_download
from attnlab.ui.core.film import draw_film_download
from attnlab.ui.core.fragments import draw_while, panel
from attnlab.ui.core.outside import draw_toast
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import (
    current_name,
    name_run,
    remove_run,
    return_to,
    shelve_run,
)
from attnlab.ui.train.loss_panel import TARGET, target_of
from attnlab.ui.train.repeat import row_over_seeds

_CURRENT = "(current run)"


def draw_runs(run: LiveRun) -> None:
    """Draw a table of the past runs and the current run, with actions on a selected past run."""
    past = session().past_runs
    title = f"Runs so far: {len(past) + 1}" if past else "Runs so far"

    @panel(title, key="runs", icon="stacked_line_chart")
    def draw() -> None:
        if not past:
            st.info(
                "Change a setting and train again: earlier runs stay here for comparison.",
                icon=":material/stacked_line_chart:",
            )
            return
        table = _table(past, run)
        # A table keeps its selected row, which is another run once a run has left the list.
        left = session().runs_shelved - len(past)
        chosen = st.dataframe(
            table,
            key=f"runs_table_{left}",
            hide_index=True,
            on_select="rerun",
            selection_mode="single-row",
            alt=f"Runs so far, {len(table)}; the newest last.",
        )
        st.caption(
            "Select a row by its checkbox to rename, hide, pin, restore or delete the run.",
            help="± one standard error. `to target`: steps until the test loss was within "
            f"{TARGET - 1:.0%} of the floor. `over seeds`: mean loss of runs with these settings, "
            "with its 95 % confidence interval. Differences are to the first pinned run. They are "
            "means over common seeds with a 95 % interval; without common seeds, ± is one standard "
            "error.",
        )
        rows = chosen["selection"]["rows"]
        if rows and rows[0] < len(past):
            _draw_actions(run, past[rows[0]])

    draw()


def _table(past: tuple[RunSummary, ...], current: LiveRun) -> pd.DataFrame:
    """Return one row per run: name, changed settings, results, and all settings that differ."""
    pinned, hidden = session().pinned_runs, session().hidden_runs
    names = [
        *(
            "📌 " * (run.number in pinned) + "🚫 " * (run.number in hidden) + run.name
            for run in past
        ),
        f"{current_name(current)} {_CURRENT}",
    ]
    runs = (*past, current.summary())
    experiments = [*(run.experiment for run in past), current.experiment]
    differing = differing_settings(experiments)
    baseline = next((run for run in past if run.number in pinned), None)
    rows = [
        {
            "run": name,
            "change": label_of_change(before, experiment),
            **_figures(run, baseline),
            **{setting: texts[place] for setting, texts in differing.items()},
        }
        for place, (name, run, before, experiment) in enumerate(
            zip(names, runs, [None, *experiments[:-1]], experiments, strict=True)
        )
    ]
    # A run that has not started has no results.
    return pd.DataFrame(rows).fillna("–")


def _figures(run: RunSummary | None, baseline: RunSummary | None) -> dict[str, str]:
    if run is None:
        return {}
    test = present(run.evaluation)
    target = target_of(run.experiment, test)
    reached = None if target is None else steps_to(run, target)
    row = row_over_seeds(run.experiment)
    over_seeds = None if row is None else row.nll
    figures = {"loss (nats)": show_estimate(test.nll, test.nll_stderr)}
    if baseline is not None:
        figures[f"loss − {baseline.name}"] = _difference(run, baseline)
    return figures | {
        "accuracy": show_estimate(test.accuracy, test.accuracy_stderr),
        "over seeds": interval_text(over_seeds) + (f", n = {over_seeds.n}" if over_seeds else ""),
        "steps": f"{run.steps:,}",
        "to target": "–" if reached is None else f"{reached:,}",
        "parameters": f"{run.parameters:,}",
        "seconds": f"{run.seconds:.1f}" if run.seconds else "–",
    }


def _difference(run: RunSummary, baseline: RunSummary) -> str:
    """Return the run's loss minus the baseline's loss, as text with interval or standard error."""
    if run is baseline:
        return "baseline"
    first, second = (row_over_seeds(each.experiment) for each in (baseline, run))
    if first and second and first is not second and len(common_seeds(first, second)) > 1:
        difference = compare_paired(first, second).difference
        return f"{interval_text(difference)}, n = {difference.n}"
    return show_measured(*gap_between(*(present(of.evaluation) for of in (run, baseline))))


def _draw_actions(run: LiveRun, chosen: RunSummary) -> None:
    number, pinned, hidden = chosen.number, session().pinned_runs, session().hidden_runs
    is_hidden, is_pinned = number in hidden, number in pinned
    with st.container(horizontal=True, vertical_alignment="bottom", key="run_actions"):
        st.text_input(
            "name",
            chosen.name,
            key=f"run_name_{number}",
            max_chars=MOST_NAME,
            width=200,
            on_change=_rename,
            args=(number,),
        )
        draw_button(
            "Show" if is_hidden else "Hide",
            "run_hide",
            "visibility" if is_hidden else "visibility_off",
            hidden.symmetric_difference_update,
            {number},
        )
        draw_button(
            "Unpin" if is_pinned else "Pin",
            "run_keep",
            "keep_off" if is_pinned else "keep",
            pinned.symmetric_difference_update,
            {number},
            disabled=not is_pinned and len(pinned) >= MOST_PINNED,
        )
        draw_button("Load its settings", "run_settings", "tune", fill_form, chosen.experiment)
        draw_button("Restore", "run_return", "restore", _return_to, run, chosen)
        draw_button("Delete", "run_delete", "delete", remove_run, number)


def _rename(number: int) -> None:
    name, current = st.session_state[f"run_name_{number}"].strip(), session()
    if not name or name in {run.name for run in current.past_runs if run.number != number}:
        problem = "already in use" if name else "empty"
        draw_toast(f"`name` is {quoted(name)}: {problem}. Choose another.")
        return
    try:
        name_run(number, name)
    except OptionError as error:
        draw_toast(str(error))


def _return_to(run: LiveRun, chosen: RunSummary) -> None:
    return_to(run, chosen)
    fill_form(chosen.experiment)


_UPLOAD = "run_file"


def follow_run_file(run: LiveRun) -> None:
    """Replace the current run by an uploaded run. Call it before any control is drawn."""
    take_run_file(_UPLOAD, functools.partial(_load, run), problem="Your current run is kept.")


@panel("Save, load, export", key="files", icon="save")
def draw_files(run: LiveRun) -> None:
    """Draw downloads of the current run, and an upload field for a run that replaces it."""
    # Redraw the downloads when the first results arrive; nothing else does.
    draw_while(lambda: run.snapshot().preparing, lambda: _draw_downloads(run), key="take_away")
    draw_upload(
        "Load a run", key=_UPLOAD, help="A file that attnlab saved. It replaces the current run."
    )


def _draw_downloads(run: LiveRun) -> None:
    if run.snapshot().latest is None:
        st.caption("Start a run first: there is nothing to export yet.")
        return
    experiment = run.experiment
    parts = experiment.generator.name, experiment.model.name, f"seed{experiment.seed}"
    name = "-".join(("attnlab", *parts))

    def script() -> str:
        return to_script(run.experiment, run.snapshot().history.changes)

    files = (
        (
            "Run",
            ".run",
            "application/octet-stream",
            "run_save",
            lambda: to_bytes(present(run.stored())),
        ),
        (
            "Losses, CSV",
            "-loss.csv",
            "text/csv",
            "take_csv",
            lambda: to_csv(run.snapshot().history),
        ),
        ("Script, Python", ".py", "text/x-python", "take_script", script),
    )
    with st.container(horizontal=True, gap="small"):
        for label, ending, kind, key, make in files:
            draw_download(label, f"{name}{ending}", kind, make, key=key)
        draw_film_download(run, "take_film")
    st.caption(
        "The run file contains everything and can be loaded again. The script repeats the run "
        "with attnlab alone and prints its results. The CSV has one row per measured step. The "
        "interactive page plays the run in any browser, without attnlab."
    )
    draw_card_of_run(run, "take")


def _load(run: LiveRun, stored: Run | None) -> None:
    if stored is None:
        return
    # The form first: only this step can safely be interrupted and repeated.
    fill_form(stored.experiment)
    shelve_run(run)
    run.resume(stored)
