"""The selected runs of the library: opened, described, compared, deleted and restored."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from attnlab.charts import losses_chart
from attnlab.configuration.options import OptionError, label_of, present
from attnlab.live.live_run import LiveRun
from attnlab.runs.differences import differing_settings
from attnlab.runs.library import BIN_DAYS, Library, LibraryError, Query
from attnlab.runs.links import controls
from attnlab.runs.past_runs import name_of
from attnlab.runs.run_summary import MOST_NAME, MOST_NOTE, MOST_TAGS, RunSummary
from attnlab.training.limits import check_limits
from attnlab.ui.controls.address import go_to
from attnlab.ui.controls.form_state import fill_form
from attnlab.ui.core.display import (
    CHART_HEIGHT,
    LOOK_INSIDE_PAGE,
    TRAIN_PAGE,
    draw_button,
)
from attnlab.ui.core.figures import known_losses
from attnlab.ui.core.outside import as_text, draw_toast
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.server import limits
from attnlab.ui.core.session_library import follow_name
from attnlab.ui.library.opening import open_run
from attnlab.ui.library.table import COLUMNS, NOTHING, results_of, select_runs, selected_runs

_DELETED, _GO_TO = "library_deleted", "library_go_to"
# More lines could not be distinguished.
_MOST_CURVES = 7


def follow_opening() -> None:
    """Go to the page where the user has just opened a run."""
    page = st.session_state.pop(_GO_TO, None)
    if page is not None:
        go_to(page)


def draw_actions(run: LiveRun, library: Library, chosen: tuple[RunSummary, ...]) -> None:
    """Draw buttons for the selected runs, or what a selection is good for."""
    one = chosen[0] if len(chosen) == 1 else None

    def open_in(page: object) -> None:
        if open_run(run, library, chosen[0].number):
            st.session_state[_GO_TO] = page

    def load_settings() -> None:
        try:
            check_limits(chosen[0].experiment, limits())
        except OptionError as error:
            draw_toast(str(error))
            return
        fill_form(chosen[0].experiment)
        st.session_state[_GO_TO] = TRAIN_PAGE

    with st.container(horizontal=True, vertical_alignment="center", key="library_actions"):
        if not chosen:
            st.markdown("**Select a run to look inside it or continue it, or several to compare.**")
            return
        title = f"{len(chosen)} runs, compared below" if one is None else as_text(name_of(one))
        st.markdown(f"**{title}**", width="content")
        main: dict[str, Any] = {"type": "primary"}
        if one is not None and one.has_model:
            for name, icon, page, look in (
                ("Look inside", "search", LOOK_INSIDE_PAGE, main),
                ("Open in Train", "model_training", TRAIN_PAGE, {}),
            ):
                draw_button(name, f"library_open_{page.stem}", icon, open_in, page, **look)
        if one is not None:
            label = "Load its settings" if one.has_model else "Train again with these settings"
            look = {} if one.has_model else main
            draw_button(label, "library_settings", "tune", load_settings, **look)
        numbers = tuple(entry.number for entry in chosen)
        deleting = _attempt, partial(library.delete, numbers), numbers
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
        restoring = _attempt, partial(library.restore, numbers)
        draw_button("Undo", "library_undo", "undo", *restoring)


def draw_bin_actions(library: Library, chosen: tuple[RunSummary, ...]) -> None:
    """Draw the buttons of the bin: restore the selected runs, and delete everything in it."""
    count, numbers = library.count(Query(deleted=True)), tuple(entry.number for entry in chosen)
    with st.container(horizontal=True, vertical_alignment="center", key="library_bin_actions"):
        label = f"Restore {len(chosen)}" if chosen else "Restore selected"
        restoring = "restore_from_trash", _attempt, partial(library.restore, numbers)
        draw_button(label, "library_restore", *restoring, disabled=not chosen)
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
            emptying = None, _attempt, library.empty_bin
            draw_button("Delete for good", "library_empty_sure", *emptying, type="primary")


def _attempt(change: Callable[[], None], deleted: tuple[int, ...] = ()) -> None:
    """Callback: delete or restore runs, or show the error; Undo restores what was `deleted`."""
    try:
        change()
    except LibraryError as error:
        draw_toast(str(error))
        return
    st.session_state[_DELETED] = deleted
    stay = [number for number in selected_runs() if number not in deleted]
    select_runs(stay if deleted else ())


def draw_details(library: Library, entry: RunSummary) -> None:
    """Draw fields for name, tags and note of one run, with the run's origin below."""
    # A field keeps its text under its key, so new texts need a new key.
    part = f"{entry.number}_{hash((entry.name, entry.tags, entry.note))}"

    def draw(control: Callable[..., Any], name: str, *values: Any, **options: Any) -> None:
        key = f"library_{name}_{part}"

        def describe() -> None:
            try:
                library.describe(entry.number, **{name: st.session_state[key]})
                if name == "name" and (changed := library.entry(entry.number)):
                    follow_name(changed)
            except (LibraryError, ValueError) as error:
                draw_toast(str(error))

        control(name, *values, key=key, on_change=describe, **options)

    with st.container(horizontal=True, vertical_alignment="top", key="library_details"):
        draw(st.text_input, "name", entry.name, max_chars=MOST_NAME, width=260)
        draw(
            st.multiselect,
            "tags",
            sorted({*library.choices().tags, *entry.tags}),
            entry.tags,
            accept_new_options=True,
            max_selections=MOST_TAGS,
            placeholder="choose, or type a new one",
            width=320,
        )
        draw(st.text_area, "note", entry.note, max_chars=MOST_NOTE, height=68)
    origin = [f"run {entry.number}", f"{entry.parameters:,} parameters"]
    if entry.changes:
        times = "once" if entry.changes == 1 else f"{entry.changes:,} times"
        origin.append(f"its settings were changed {times}; the last ones are shown above")
    versions = zip(("attnlab", "JAX", "jaxlib", "on"), present(entry.versions), strict=True)
    origin += [f"{name} {as_text(version)}" for name, version in versions if version]
    if entry.reason:
        origin.append(f"{entry.state}: {as_text(entry.reason)}")
    st.caption(" · ".join(origin))


def draw_comparison(entries: tuple[RunSummary, ...]) -> None:
    """Draw a table of results and differing settings of the runs, and their test-loss curves."""
    names = [name_of(entry) for entry in entries]
    # Equal names get the number of the run.
    names = [
        f"{name} ({entry.number})" if names.count(name) > 1 else name
        for name, entry in zip(names, entries, strict=True)
    ]
    differing = differing_settings([entry.experiment for entry in entries])
    st.dataframe(
        pd.DataFrame(
            {
                "name": name,
                **results_of(entry),
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
    for key, field in (pair for entry in entries for pair in controls(entry.experiment).items()):
        column = partial(st.column_config.TextColumn, help=field.option.help)
        label = label_of(field.name, field.option)
        columns[label_of(field.name, field.option, unit=False)] = column(label)
        if key != field.name:
            columns[key] = column(f"{label}, {field.owner.name}")
    return columns


def _draw_curves(entries: dict[str, RunSummary]) -> None:
    tested = {name: entry for name, entry in entries.items() if entry.tests}
    shown = {name: tested[name] for name in list(tested)[:_MOST_CURVES]}
    if not shown:
        return
    experiments = [entry.experiment for entry in shown.values()]
    is_one_process = len({(each.generator, each.length) for each in experiments}) == 1
    bests = known_losses(experiments[0], ()) if is_one_process else {}
    known = {name: best.nll for name, best in bests.items()}
    ends = [f"{name} {entry.tests[-1][1].nll:.3f}" for name, entry in shown.items()]
    with st.container(key="chart_library"):
        tests = {
            name: [(step, test.nll, test.nll_stderr) for step, test in entry.tests]
            for name, entry in shown.items()
        }
        draw_chart(
            losses_chart(tests, known, height=CHART_HEIGHT),
            name="Selected runs",
            alt=f"Test loss against step, in nats. At the end: {', '.join(ends)}.",
        )
    caption = (
        "How to read it: each line is the test loss of a run during training. Grey dashes: a "
        "uniform guess and the floor, the lowest possible loss, if all runs share them."
    )
    if len(shown) < len(entries):
        caption += f" Shown are the first {len(shown)} of {len(entries)} runs that have tests."
    st.caption(caption)
