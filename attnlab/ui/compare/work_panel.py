"""A comparison before it begins and while it goes on: how many runs, how long, Start and Stop."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from attnlab.comparisons.grid import Grid
from attnlab.comparisons.planning.estimate import seconds_of
from attnlab.configuration.options import OptionError
from attnlab.live.background import Background
from attnlab.runs.differences import Identity, identity_of
from attnlab.runs.library import LibraryError
from attnlab.training.experiment import Experiment
from attnlab.ui.compare.chosen import choose
from attnlab.ui.compare.plan import Plan, has_own_base, plan_of
from attnlab.ui.compare.work import ComparisonProgress, compare
from attnlab.ui.core.hosting import limits
from attnlab.ui.core.outside import draw_error, draw_warning
from attnlab.ui.core.session_work import draw_work_buttons, session_work
from attnlab.ui.library.session_library import session_library

WORK = "comparison"
_PLAN, _SLOWER, _FOUND = "comparison_plan", "comparison_slower", "comparison_found"


def begun_plan() -> Plan | None:
    """The comparison that was begun last."""
    return st.session_state.get(_PLAN)


def draw_start(grid: Grid | None) -> None:
    """What the chosen comparison asks for, and the buttons."""
    plan = problem = None
    if grid is not None:
        try:
            plan = plan_of(grid, limits())
        except OptionError as error:
            problem = error
    if begun_plan() is None and plan is not None and not _new_runs(plan):
        # All of it is known, as after the page was loaded again.
        _start(plan)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        draw_work_buttons(
            WORK,
            "Compare",
            start="compare_start",
            stop="compare_stop",
            on_start=partial(_start, plan),
        )
        with st.container(key="compare_size"):
            if plan is not None:
                st.markdown(_size(plan))
    if problem is not None:
        draw_error(str(problem))
    begun = begun_plan()
    if begun is None:
        st.info(
            "Choose what to vary, or a question above, then press **Compare**. Each setting is "
            "trained with every seed; results appear as they come, and runs that were made before "
            "are not made again.",
            icon=":material/play_circle:",
        )
    elif plan is not None and plan != begun:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info(
                "The choice has changed: **Compare** begins it. Below is the comparison before.",
                icon=":material/change_circle:",
            )
            st.button(
                "Back to that one",
                key="compare_back",
                icon=":material/undo:",
                on_click=choose,
                args=(begun.grid,),
            )


def _start(plan: Plan | None) -> None:
    if plan is None:
        return
    st.session_state[_PLAN] = plan
    session_work().start(WORK, partial(compare, plan, session_library().library, limits(), {}))


def _size(plan: Plan) -> str:
    """How many runs, and about how long they take."""
    runs, new = len({identity_of(each) for each in plan.experiments}), _new_runs(plan)
    told = [
        f"**{_counted(len(plan.settings), 'setting')} × {_counted(plan.grid.seeds, 'seed')} = "
        f"{_counted(runs, 'run')}**"
    ]
    if len(new) < runs:
        told.append(f"{runs - len(new):,} there already")
    if new:
        slower = st.session_state.get(_SLOWER)
        seconds = seconds_of(new) * (slower or 1.0)
        basis = "at the speed of the last ones" if slower else "a rough guess for this machine"
        told.append(f"about {duration(seconds)} ({basis})")
    if has_own_base(plan.grid):
        told.append("what is not varied is as in the presets, not as in the sidebar")
    return " · ".join(told)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _new_runs(plan: Plan) -> list[Experiment]:
    """Those that are not known yet."""
    runs = {identity_of(experiment): experiment for experiment in plan.experiments}
    found = _found(runs)
    return [each for identity, each in runs.items() if identity not in found]


def _found(runs: Mapping[Identity, Experiment]) -> set[Identity]:
    """Those that the library has, or had when they were last looked for: to read one takes long."""
    found: set[Identity] = st.session_state.setdefault(_FOUND, set())
    try:
        library = session_library().library
        for identity in runs.keys() - found:
            if library.find(runs[identity], diverged=True) is not None:
                found.add(identity)
    except LibraryError:
        # Start says what is wrong with it.
        return set()
    return found & runs.keys()


def duration(seconds: float) -> str:
    """Seconds to one figure, in words.

    >>> duration(83), duration(4.2), duration(0.2), duration(7300)
    ('1 min', '4 s', 'less than a second', '2 h')
    """
    if seconds < 1:
        return "less than a second"
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{_one_figure(seconds / size)} {unit}"
    return f"{_one_figure(seconds)} s"


def _one_figure(value: float) -> str:
    return f"{round(value) if value < 10 else round(value, -1 if value < 100 else -2):,.0f}"


def draw_progress(work: Background | None) -> ComparisonProgress:
    """How far the work is; what there is of it."""
    if work is None:
        return ComparisonProgress()
    state = work.state()
    progress: ComparisonProgress = state.latest or ComparisonProgress()
    if progress.slower is not None:
        st.session_state[_SLOWER] = progress.slower
    plan = begun_plan()
    total = len({identity_of(each) for each in plan.experiments})
    with st.container(key="compare_status"):
        if state.error:
            draw_error(f"The runs ended by an error. {state.error}")
            return progress
        word = "done" if state.done else "running" if state.running else "stopped"
        told = [f"{word}: {len(progress.results):,} of {total:,} runs"]
        if progress.known:
            told.append(f"{progress.known:,} of them there already")
        if state.message:
            told.append(state.message)
        elif state.running:
            left = progress.seconds_left
            told.append("compiling" if left is None else f"about {duration(left)} left")
        if progress.problem:
            draw_warning(
                f"{progress.problem} Further runs have numbers but no model.",
                icon=":material/save:",
            )
        st.progress(1.0 if state.done else min(1.0, progress.share), " · ".join(told))
    return progress
