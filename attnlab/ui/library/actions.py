"""Actions on selected runs: open, describe, compare, delete and restore."""

import functools
from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from attnlab.charts import losses_chart
from attnlab.configuration.options import OptionError, fields, label_of, present
from attnlab.inspection.belief_probes import has_beliefs
from attnlab.live.live_run import LiveRun
from attnlab.live.progress import Autosave
from attnlab.runs.differences import differing_settings
from attnlab.runs.library import BIN_DAYS, Library, LibraryError, Query
from attnlab.runs.links import control_key
from attnlab.runs.past_runs import name_of
from attnlab.runs.run_file_header import RunFileError
from attnlab.runs.run_summary import MOST_NAME, MOST_NOTE, MOST_TAGS, RunSummary
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_limits
from attnlab.ui.controls.form_state import fill_form
from attnlab.ui.controls.link_bar import go_to
from attnlab.ui.core.display import (
    BELIEFS_PAGE,
    CHART_HEIGHT,
    INSPECT_PAGE,
    TRAIN_PAGE,
    draw_button,
)
from attnlab.ui.core.figures import known_losses
from attnlab.ui.core.outside import as_text, draw_toast
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import (
    follow_name,
    session_keeper,
    session_library,
    shelve_run,
)
from attnlab.ui.library.table import (
    COLUMNS,
    NOTHING,
    figures_of,
    select_runs,
    selected_runs,
)


def open_run(run: LiveRun, library: Library, number: int) -> bool:
    """Callback: make a run of the library the current run, or show why not.

    Return whether this worked. The previous run is shelved. If the run is already the current one,
    only the controls are set to its settings.
    """
    entry, kept = library.entry(number), run.autosave.kept
    if entry and kept and (kept.number, kept.date) == (number, entry.date):
        fill_form(run.experiment)
        return True
    try:
        stored = None if entry is None else library.run_of(number)
        if entry is None or stored is None:
            draw_toast("This run was deleted, or saved without its model.")
            return False
        check_limits(stored.experiment, limits())
    except (LibraryError, RunFileError, OptionError) as error:
        draw_toast(f"{error} Your current run is kept.")
        return False
    shelve_run(run)
    run.resume(stored, autosave=Autosave(session_keeper(), kept=entry), seconds=entry.seconds)
    fill_form(stored.experiment)
    return True


def open_finished_run(run: LiveRun, form: Experiment | OptionError) -> bool:
    """Open the library's finished run of the settings, if this session has no run yet.

    Return whether a run was opened.
    """
    if run.snapshot().state != "idle" or session().runs_shelved or isinstance(form, OptionError):
        return False
    library = session_library().library
    try:
        entries = library.entries(Query(like=form, state="done"))
    except LibraryError:
        # The page Library shows the error.
        return False
    for entry in entries:
        if entry.has_model and not entry.changes and entry.experiment.seed == form.seed:
            return open_run(run, library, entry.number)
    return False


_DELETED, _GO_TO = "library_deleted", "library_go_to"


def follow_opening() -> None:
    """Go to the page where the user has just opened a run."""
    page = st.session_state.pop(_GO_TO, None)
    if page is not None:
        go_to(page)


def draw_actions(run: LiveRun, library: Library, chosen: tuple[RunSummary, ...]) -> None:
    """Draw buttons for the selected runs."""
    one = chosen[0] if len(chosen) == 1 else None
    with st.container(horizontal=True, vertical_alignment="center", key="library_actions"):
        st.markdown(_told(chosen), width="content")
        if one is not None and one.has_model:
            pages = [
                ("Open in Train", "model_training", TRAIN_PAGE),
                ("Open in Inspect", "search", INSPECT_PAGE),
            ]
            if has_beliefs(one.experiment.generator):
                pages.append(("Open in Beliefs", "change_history", BELIEFS_PAGE))
            for label, icon, page in pages:
                opening = _open, run, library, one.number, page
                draw_button(label, f"library_open_{page.stem}", icon, *opening)
        if one is not None:
            label = "Load its settings" if one.has_model else "Train again with these settings"
            draw_button(label, "library_settings", "tune", _load_settings, one)
        deleting = attempt, _delete, library, tuple(entry.number for entry in chosen)
        draw_button("Delete", "library_delete", "delete", *deleting)
        draw_button("Clear selection", "library_untick", "close", select_runs, ())
    if one is not None and not one.has_model:
        st.caption(
            "Only the results and curves of this run were kept, not its model. Train with the "
            "same settings and seed to get the same model."
        )


def draw_undo(library: Library) -> None:
    """Draw a button that undoes the last deletion, if there was one."""
    numbers: tuple[int, ...] = st.session_state.get(_DELETED, ())
    if not numbers:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="library_deleted_line"):
        many = "1 run is" if len(numbers) == 1 else f"{len(numbers)} runs are"
        st.markdown(f"{many} in the bin and can be restored for {BIN_DAYS} days.", width="content")
        draw_button("Undo", "library_undo", "undo", attempt, _restore, library, numbers)


def draw_bin_actions(library: Library, chosen: tuple[RunSummary, ...]) -> None:
    """Draw the buttons of the bin: restore the selected runs, and delete everything in it."""
    count = library.count(Query(deleted=True))
    with st.container(horizontal=True, vertical_alignment="center", key="library_bin_actions"):
        draw_button(
            f"Restore {len(chosen)}" if chosen else "Restore selected",
            "library_restore",
            "restore_from_trash",
            attempt,
            _restore,
            library,
            tuple(entry.number for entry in chosen),
            disabled=not chosen,
        )
        with st.popover(
            "Empty the bin",
            icon=":material/delete_forever:",
            key="library_empty",
            disabled=not count,
        ):
            many = "1 run" if count == 1 else f"All {count:,} runs in the bin"
            st.markdown(
                f"{many} will be deleted permanently, including runs that the filters hide."
            )
            emptying = attempt, _empty_bin, library
            draw_button("Delete for good", "library_empty_sure", None, *emptying, type="primary")


def attempt(change: Callable[..., None], *arguments: object) -> None:
    """Callback: change the library, or show the error."""
    try:
        change(*arguments)
    except (LibraryError, ValueError) as error:
        draw_toast(str(error))


def _told(chosen: tuple[RunSummary, ...]) -> str:
    first, *others = chosen
    return f"**{len(chosen)} selected**" if others else f"**{as_text(name_of(first))}**"


def _open(run: LiveRun, library: Library, number: int, page: object) -> None:
    if open_run(run, library, number):
        st.session_state[_GO_TO] = page


def _load_settings(entry: RunSummary) -> None:
    """Callback: set the controls to a run's settings and go to Train, or show why not."""
    try:
        check_limits(entry.experiment, limits())
    except OptionError as error:
        draw_toast(str(error))
        return
    fill_form(entry.experiment)
    st.session_state[_GO_TO] = TRAIN_PAGE


def _delete(library: Library, numbers: tuple[int, ...]) -> None:
    library.delete(numbers)
    st.session_state[_DELETED] = numbers
    select_runs([number for number in selected_runs() if number not in numbers])


def _empty_bin(library: Library) -> None:
    library.empty_bin()
    st.session_state.pop(_DELETED, None)
    select_runs(())


def _restore(library: Library, numbers: tuple[int, ...]) -> None:
    library.restore(numbers)
    st.session_state.pop(_DELETED, None)
    select_runs(())


def draw_details(library: Library, entry: RunSummary) -> None:
    """Draw fields for name, tags and note of one run, with the run's origin below."""
    # A field keeps its text under its key, so new texts need a new key.
    part = f"{entry.number}_{hash((entry.name, entry.tags, entry.note))}"
    with st.container(horizontal=True, vertical_alignment="top", key="library_details"):
        _field(st.text_input, library, entry, "name", part, max_chars=MOST_NAME, width=260)
        st.multiselect(
            "tags",
            sorted({*library.choices().tags, *entry.tags}),
            entry.tags,
            key=(key := f"library_tags_{part}"),
            accept_new_options=True,
            max_selections=MOST_TAGS,
            placeholder="choose, or type a new one",
            width=320,
            on_change=_describe,
            args=(library, entry.number, "tags", key),
        )
        _field(st.text_area, library, entry, "note", part, max_chars=MOST_NOTE, height=68)
    st.caption(_origin(entry))


def _field(control, library: Library, entry: RunSummary, name: str, part: str, **options) -> None:
    key = f"library_{name}_{part}"
    control(
        name,
        getattr(entry, name),
        key=key,
        on_change=_describe,
        args=(library, entry.number, name, key),
        **options,
    )


def _describe(library: Library, number: int, name: str, key: str) -> None:
    value = st.session_state[key]

    def describe() -> None:
        library.describe(number, **{name: value})
        if name == "name" and (entry := library.entry(number)):
            follow_name(entry)

    attempt(describe)


def _origin(entry: RunSummary) -> str:
    parts = [f"run {entry.number}", f"{entry.parameters:,} parameters"]
    if entry.changes:
        times = "once" if entry.changes == 1 else f"{entry.changes:,} times"
        parts.append(f"its settings were changed {times}; the last ones are shown above")
    versions = zip(("attnlab", "JAX", "jaxlib", "on"), present(entry.versions), strict=True)
    parts += [f"{name} {as_text(version)}" for name, version in versions if version]
    if entry.reason:
        parts.append(f"{entry.state}: {as_text(entry.reason)}")
    return " · ".join(parts)


# More lines could not be distinguished.
_MOST_CURVES = 7


def draw_comparison(entries: tuple[RunSummary, ...]) -> None:
    """Draw a table of results and differing settings of the runs, and their test-loss curves."""
    names = _names(entries)
    differing = differing_settings([entry.experiment for entry in entries])
    st.dataframe(
        pd.DataFrame(
            {
                "name": name,
                **figures_of(entry),
                "steps made": f"{entry.steps:,}",
                "parameters": f"{entry.parameters:,}",
                "seconds": entry.seconds or None,
                **{setting: texts[place] for setting, texts in differing.items()},
            }
            for place, (name, entry) in enumerate(zip(names, entries, strict=True))
        ),
        key="library_comparison",
        hide_index=True,
        column_config=dict(COLUMNS) | _setting_columns(entries),
        placeholder=NOTHING,
        alt=f"Differences between {len(entries)} runs, and their results.",
    )
    _draw_curves(dict(zip(names, entries, strict=True)))


def _setting_columns(entries: tuple[RunSummary, ...]) -> dict[str, Any]:
    """Return columns by the names of `differing_settings`, with the help of their options."""
    columns = {}
    for field in (field for entry in entries for field in fields(entry.experiment)):
        column = functools.partial(st.column_config.TextColumn, help=field.option.help)
        label = label_of(field.name, field.option)
        columns[label_of(field.name, field.option, unit=False)] = column(label)
        if (key := control_key(field.owner, field.name)) != field.name:
            columns[key] = column(f"{label}, {field.owner.name}")
    return columns


def _draw_curves(entries: dict[str, RunSummary]) -> None:
    tested = {name: entry for name, entry in entries.items() if entry.tests}
    shown = {name: tested[name] for name in list(tested)[:_MOST_CURVES]}
    if not shown:
        return
    experiments = [result.experiment for result in shown.values()]
    is_one_process = len({(each.generator, each.length) for each in experiments}) == 1
    bests = known_losses(experiments[0], ()) if is_one_process else {}
    known = {name: best.nll for name, best in bests.items()}
    ends = [f"{name} {result.tests[-1][1].nll:.3f}" for name, result in shown.items()]
    with st.container(key="chart_library"):
        draw_chart(
            losses_chart(
                {name: result.tests for name, result in shown.items()},
                known,
                height=CHART_HEIGHT,
            ),
            name="Selected runs",
            alt=f"Test loss against step, in nats. At the end: {', '.join(ends)}.",
        )
    caption = "How to read it: each line is the test loss of a run during training. "
    caption += "Grey dashes: a uniform guess and the floor, the lowest possible loss, if all runs "
    caption += "share them."
    if len(shown) < len(entries):
        caption += f" Shown are the first {len(shown)} of {len(entries)} runs that have tests."
    st.caption(caption)


def _names(entries: tuple[RunSummary, ...]) -> list[str]:
    """Return the name of every entry; if names are equal, the run's number is added to them."""
    plain = [name_of(entry) for entry in entries]
    return [
        f"{name} ({entry.number})" if plain.count(name) > 1 else name
        for name, entry in zip(plain, entries, strict=True)
    ]
