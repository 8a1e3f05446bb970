"""The runs of a part of the comparison: begun, watched, stopped, and where its figures are from."""

from functools import partial
from typing import NamedTuple

import streamlit as st

from attnlab.comparisons.grid import Grid, seconds_of
from attnlab.comparisons.published.parts import Part, runs_of
from attnlab.comparisons.published.rows import PublishedRow, rows_of
from attnlab.comparisons.published.shipped import shipped, shipped_results
from attnlab.configuration.options import OptionError
from attnlab.live.background import Background
from attnlab.runs.library import LibraryError
from attnlab.runs.result import Result
from attnlab.training.limits import check_comparison
from attnlab.ui.compare.work import ComparisonProgress, Plan, compare, duration
from attnlab.ui.core.hosting import limits
from attnlab.ui.core.outside import draw_error, draw_warning
from attnlab.ui.core.session_work import draw_work_buttons, session_work
from attnlab.ui.library.session_library import session_library

_IN_LIBRARY = "published_in_library"


class Shown(NamedTuple):
    """The rows of a part, and where they come from, in words."""

    rows: tuple[PublishedRow, ...]
    source: str


def work_name(part: Part) -> str:
    """What the part's work is called."""
    return f"published_{part.name}"


def draw_start(part: Part) -> None:
    """The number of seeds, the size of the work, and its buttons."""
    name = work_name(part)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        seeds = st.number_input(
            "seeds",
            2,
            20,
            value=part.seeds,
            key=f"{name}_seeds",
            width=130,
            persist_state="session",
            help="Runs of every setting, which differ in data, starting weights and batches.",
        )
        plan = Plan(Grid(seeds=seeds), part.settings, runs_of(part, seeds))
        problem = _refusal(plan)
        state = draw_work_buttons(
            name,
            "Train them all",
            start=f"{name}_start",
            stop=f"{name}_stop",
            on_start=partial(_start, part, plan),
        )
        if state is not None and not state.running:
            st.button(
                "Show what was there before",
                key=f"{name}_forget",
                icon=":material/undo:",
                on_click=_forget,
                args=(part,),
            )
        size = f"{len(plan.settings)} settings × {seeds} seeds = {len(plan.experiments):,} runs"
        with st.container(key=f"{name}_size"):
            st.markdown(
                f"**{size}** · about {duration(seconds_of(plan.experiments))} of two processor "
                "cores (a rough guess); those that the library has are not made again"
            )
    if problem:
        # No fault of whoever opens the page.
        st.info(problem, icon=":material/block:")


def work_of(part: Part) -> Background | None:
    """The part's work, if it was begun."""
    return session_work().of(work_name(part))


def draw_progress(part: Part) -> None:
    """How far the work is, if there is any."""
    work = work_of(part)
    if work is None:
        return
    state = work.state()
    progress: ComparisonProgress = state.latest or ComparisonProgress()
    with st.container(key=f"{work_name(part)}_status"):
        if state.error:
            draw_error(f"The runs ended by an error. {state.error}")
            return
        word = "done" if state.done else "running" if state.running else "stopped"
        told = [f"{word}: {len(progress.results):,} of {_asked(part):,} runs"]
        if progress.known:
            told.append(f"{progress.known:,} were there already")
        if state.message:
            told.append(state.message)
        elif state.running:
            left = progress.seconds_left
            told.append("compiling" if left is None else f"about {duration(left)} left")
        if progress.problem:
            draw_warning(progress.problem, icon=":material/save:")
        st.progress(1.0 if state.done else min(1.0, progress.share), " · ".join(told))


def shown(part: Part) -> Shown:
    """What was computed here; else what the library has, if it is all; else what is shipped."""
    work, known = work_of(part), shipped()
    if work is not None:
        progress: ComparisonProgress = work.state().latest or ComparisonProgress()
        source = f"computed here, as far as they are: {len(progress.results):,} runs"
        results = progress.results
    elif (found := _in_library(part)) is not None:
        results, source = found, f"read from your library of runs: {len(found):,} of them"
    else:
        made, results = known.made, shipped_results(part)
        source = (
            f"shipped with the program: {known.seeds[part.name]} seeds a row, made {made.date} "
            f"with attnlab {made.attnlab} and JAX {made.jax} on {made.machine}"
        )
    return Shown(rows_of(part, results, references=known.references_of), source)


def _refusal(plan: Plan) -> str:
    """Why this server does not train so many, or nothing."""
    experiments = [setting.experiment for setting in plan.settings]
    try:
        check_comparison(experiments, limits(), seeds=plan.grid.seeds)
    except OptionError as error:
        return str(error)
    return ""


def _start(part: Part, plan: Plan) -> None:
    if _refusal(plan):
        return
    st.session_state[f"{work_name(part)}_asked"] = len(plan.experiments)
    make = partial(compare, plan, session_library().library, limits(), {})
    session_work().start(work_name(part), make)


def _asked(part: Part) -> int:
    return st.session_state[f"{work_name(part)}_asked"]


def _forget(part: Part) -> None:
    session_work().forget(work_name(part))
    st.session_state.get(_IN_LIBRARY, {}).pop(part.name, None)


def _in_library(part: Part) -> tuple[Result, ...] | None:
    """All its runs, if the library has them; looked for once, and after new ones were made."""
    found = st.session_state.setdefault(_IN_LIBRARY, {})
    if part.name not in found:
        found[part.name] = _look_up(part)
    return found[part.name]


def _look_up(part: Part) -> tuple[Result, ...] | None:
    results = []
    try:
        library = session_library().library
        for experiment in runs_of(part, part.seeds):
            entry = library.find(experiment)
            if entry is None:
                return None
            results.append(entry.result)
    except LibraryError:
        return None
    return tuple(results)
