"""The runs of one part of the published comparison: start, stop, progress and results."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from attnlab.comparisons.grid import Grid, seconds_of
from attnlab.comparisons.published import Part, runs_of, shipped, shipped_results
from attnlab.comparisons.verdicts import PublishedRow, rows_of
from attnlab.configuration.number_text import show_duration
from attnlab.configuration.options import OptionError, present
from attnlab.runs.library import LibraryError
from attnlab.runs.run_summary import RunSummary
from attnlab.training.limits import check_comparison
from attnlab.ui.compare.work import ComparisonProgress, Plan, draw_runs, start_comparison
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.jobs import draw_job_buttons, forget_job
from attnlab.ui.core.server import limits
from attnlab.ui.core.session_library import session_library

_IN_LIBRARY = "published_in_library"


def draw_start(part: Part) -> None:
    """Draw the field for seeds, the number of runs, and the buttons that start and stop them."""
    name = f"published_{part.name}"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        seeds = st.number_input(
            "seeds",
            2,
            20,
            value=part.seeds,
            key=f"{name}_seeds",
            width=130,
            persist_state="session",
            help="Runs of every setting, which differ in data, initial weights and batches.",
        )
        plan = Plan(Grid(seeds=seeds), part.settings, runs_of(part, seeds))
        problem = _refusal(plan)
        start = partial(start_comparison, name, None if problem else plan)
        state = draw_job_buttons(name, "Train all", start)
        if state is not None and not state.running:
            draw_button("Show the previous results", f"{name}_forget", "undo", _forget, part)
        size = f"{len(plan.settings)} settings × {seeds} seeds = {len(plan.experiments):,} runs"
        with st.container(key=f"{name}_size"):
            about = show_duration(seconds_of(plan.experiments))
            st.markdown(
                f"**{size}** · about {about} of two processor cores (a rough guess); runs in the "
                "library are reused"
            )
    if problem:
        # As information: the user made no error.
        st.info(problem, icon=":material/block:")


def _refusal(plan: Plan) -> str:
    """Return why this server does not train this many runs, or ""."""
    experiments = [present(setting.experiment) for setting in plan.settings]
    try:
        check_comparison(experiments, limits(), seeds=plan.grid.seeds)
    except OptionError as error:
        return str(error)
    return ""


def _forget(part: Part) -> None:
    forget_job(f"published_{part.name}")
    st.session_state.get(_IN_LIBRARY, {}).pop(part.name, None)


def draw_live(part: Part, draw: Callable[[tuple[PublishedRow, ...]], None]) -> None:
    """Draw the results of a part with `draw`, and redraw them as runs finish."""
    name = f"published_{part.name}"

    def draw_rows(progress: ComparisonProgress | None) -> None:
        results, source = _results(part, progress)
        with st.container(key=f"{name}_source"):
            st.caption(f":material/inventory_2: These results are {source}.")
        draw(rows_of(part, results, references=shipped().references_of))

    draw_runs(name, draw_rows)


def _results(part: Part, progress: ComparisonProgress | None) -> tuple[tuple[RunSummary, ...], str]:
    """Return a part's results, and their source as text: computed here, library, or shipped."""
    known = shipped()
    if progress is not None:
        return progress.results, f"computed here so far: {len(progress.results):,} runs"
    found = st.session_state.setdefault(_IN_LIBRARY, {})
    if part.name not in found:
        found[part.name] = _look_up(part)
    if (results := found[part.name]) is not None:
        return results, f"read from your library: {len(results):,} runs"
    return shipped_results(part), (
        f"shipped with the program: {known.seeds[part.name]} seeds a row, made {known.made}"
    )


def _look_up(part: Part) -> tuple[RunSummary, ...] | None:
    """Return a part's results from the library, or None if some are missing there."""
    results = []
    try:
        library = session_library().library
        for experiment in runs_of(part, part.seeds):
            if (entry := library.find(experiment)) is None:
                return None
            results.append(entry)
    except LibraryError:
        return None
    return tuple(results)
