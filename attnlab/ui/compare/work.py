"""Comparisons: checking the chosen settings, training in the background, and progress."""

import dataclasses
import math
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import streamlit as st

from attnlab.comparisons.grid import PRESET, Grid, Setting, experiments_of, seconds_of, settings_of
from attnlab.comparisons.many import run_all
from attnlab.comparisons.summary import References, Row, references_of, summarise
from attnlab.configuration.number_text import show_duration
from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractGenerator
from attnlab.live.jobs import Job
from attnlab.optimum import FEW_BELIEFS
from attnlab.runs.differences import Identity, identity_of
from attnlab.runs.library import Library, LibraryError
from attnlab.runs.result import Result
from attnlab.training.experiment import Experiment
from attnlab.training.limits import Limits, check_comparison
from attnlab.ui.compare.choice import choose
from attnlab.ui.core.figures import figure
from attnlab.ui.core.jobs import draw_job_buttons, job_of, start_job
from attnlab.ui.core.outside import draw_error, draw_warning
from attnlab.ui.core.server import limits
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import session_library

# More runs would make the page slow; the command line has no such limit.
_MOST_RUNS = 2_000


@dataclasses.dataclass(frozen=True)
class Plan:
    """A grid, its settings, and the experiments of all runs in training order."""

    grid: Grid
    settings: tuple[Setting, ...]
    experiments: tuple[Experiment, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the options with more than one value."""
        return tuple(name for name, texts in self.grid.options if len(texts) > 1)


def plan_of(grid: Grid, limits: Limits) -> Plan:
    """Return the plan of a grid; raise `OptionError` if the grid or the limits reject it.

    A setting that cannot be trained raises no error: its row of the results gives the reason.
    """
    settings = math.prod(len(texts) for _, texts in grid.options)
    if settings * grid.seeds > _MOST_RUNS:
        problem = f"more than the {_MOST_RUNS:,} that this page compares"
        remedy = "Choose fewer values or seeds, or use `python -m attnlab compare`"
        raise OptionError("runs", settings * grid.seeds, problem, remedy)
    found = settings_of(grid)
    possible = [setting.experiment for setting in found if setting.experiment is not None]
    if not possible:
        raise OptionError(
            grid.options[0][0],
            ", ".join(grid.options[0][1]),
            "none of these settings can be trained",
            f"The first error: {found[0].problem}",
        )
    check_comparison(possible, limits, seeds=grid.seeds)
    runs = tuple(run for setting in found for run in experiments_of(setting, grid))
    return Plan(grid, found, runs)


def has_own_base(grid: Grid) -> bool:
    """Return whether options that are not varied come from presets, not from the sidebar."""
    return PRESET in dict(grid.options)


def _references(generator: AbstractGenerator, length: int) -> References:
    return references_of(generator, length, most=FEW_BELIEFS)


def references_at_hand(experiment: Experiment) -> References | None:
    """Return the baselines of the experiment's process, or None while they are computed."""
    return figure(_references, experiment.generator, experiment.length)


def rows_of(plan: Plan, results: tuple[Result, ...]) -> tuple[Row, ...]:
    """Return one row per setting of the plan, with the results so far."""
    return summarise(results, plan.settings, references=references_at_hand)


# The first runs include compilation, so their speed says little about the others.
_SECONDS_TO_TELL = 3.0


class ComparisonProgress(NamedTuple):
    """The results so far, of which `known` existed before the comparison started.

    `share` is the fraction of the work that is done. `seconds_left` is extrapolated; `slower` is
    measured time divided by estimated time; both are None at first. `problem` says why results are
    not saved in the library, or is "".
    """

    results: tuple[Result, ...] = ()
    known: int = 0
    share: float = 0.0
    seconds_left: float | None = None
    slower: float | None = None
    problem: str = ""


def compare(
    plan: Plan, library: Library, limits: Limits, held: dict[Identity, Result]
) -> Iterator[ComparisonProgress]:
    """Train the plan's runs that neither `library` nor `held` has; yield progress after each.

    New results are saved in the library and, without their models, in `held`. A call with the same
    `held` resumes the comparison.
    """
    unique = {identity_of(experiment): experiment for experiment in plan.experiments}
    for identity, experiment in unique.items():
        if identity not in held and (known := _found(experiment, library)) is not None:
            held[identity] = known
    results = {identity: held[identity] for identity in unique if identity in held}
    left = {
        identity: seconds_of([experiment])
        for identity, experiment in unique.items()
        if identity not in results
    }
    known, whole, expected = len(results), sum(left.values()), seconds_of(unique[i] for i in left)
    progress = ComparisonProgress(tuple(results.values()), known, 0.0 if left else 1.0)
    yield progress
    began = time.monotonic()
    for result in run_all([unique[identity] for identity in left], limits=limits):
        identity = identity_of(result.experiment)
        if result.state != "refused":
            result, problem = _kept(result, library)
            progress = progress._replace(problem=problem or progress.problem)
        held[identity] = results[identity] = result
        left.pop(identity, None)
        rest, spent = sum(left.values()), time.monotonic() - began
        progress = progress._replace(results=tuple(results.values()), share=1 - rest / whole)
        if spent > _SECONDS_TO_TELL:
            progress = progress._replace(
                seconds_left=spent * rest / (whole - rest),
                slower=spent / (expected * progress.share),
            )
        yield progress


def _found(experiment: Experiment, library: Library) -> Result | None:
    try:
        entry = library.find(experiment, diverged=True)
    except LibraryError:
        # Results that cannot be read are computed again; an error of writing is reported then.
        return None
    return None if entry is None else entry.result


def _kept(result: Result, library: Library) -> tuple[Result, str]:
    """Save a result in the library; return it without its model, and why saving failed, or ""."""
    problem = ""
    try:
        library.keep(result)
    except LibraryError as error:
        problem = str(error)
    return dataclasses.replace(result, run=None), problem


WORK = "comparison"
_SLOWER, _FOUND = "comparison_slower", "comparison_found"


def begun_plan() -> Plan | None:
    """Return the plan of the comparison that was started last, or None."""
    job = job_of(WORK)
    return None if job is None else job.of


def draw_start(grid: Grid | None) -> None:
    """Draw the number of runs of the chosen comparison, and the buttons that start and stop it."""
    plan = problem = None
    if grid is not None:
        try:
            plan = plan_of(grid, limits())
        except OptionError as error:
            problem = error
    if begun_plan() is None and plan is not None and not _new_runs(plan):
        # If all results are known, as after reloading the page, show them at once.
        _start(plan)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        draw_job_buttons(
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
            "trained with every seed. Results appear as they arrive; existing runs are reused.",
            icon=":material/play_circle:",
        )
    elif plan is not None and plan != begun:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.info(
                "The selection has changed. Press **Compare** to run it; the previous results "
                "are below.",
                icon=":material/change_circle:",
            )
            st.button(
                "Show the previous selection",
                key="compare_back",
                icon=":material/undo:",
                on_click=choose,
                args=(begun.grid,),
            )


def _start(plan: Plan | None) -> None:
    if plan is not None:
        make = partial(compare, plan, session_library().library, limits(), {})
        start_job(WORK, make, of=plan)


def _size(plan: Plan) -> str:
    """Return text with the number of runs and the estimated duration."""
    runs, new = len({identity_of(each) for each in plan.experiments}), _new_runs(plan)
    told = [
        f"**{_counted(len(plan.settings), 'setting')} × {_counted(plan.grid.seeds, 'seed')} = "
        f"{_counted(runs, 'run')}**"
    ]
    if len(new) < runs:
        told.append(f"{runs - len(new):,} already known")
    if new:
        slower = session().kept.get(_SLOWER)
        seconds = seconds_of(new) * (slower or 1.0)
        basis = "at the speed of the last ones" if slower else "a rough guess for this machine"
        told.append(f"about {show_duration(seconds)} ({basis})")
    if has_own_base(plan.grid):
        told.append("what is not varied comes from the presets, not from the sidebar")
    return " · ".join(told)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _new_runs(plan: Plan) -> list[Experiment]:
    """Return the experiments whose results are not in the library."""
    runs = {identity_of(experiment): experiment for experiment in plan.experiments}
    found = _found_in_words(runs)
    return [each for identity, each in runs.items() if identity not in found]


def _found_in_words(runs: Mapping[Identity, Experiment]) -> set[Identity]:
    """Return the runs that the library has; runs found once are not looked up again."""
    found: set[Identity] = session().kept.setdefault(_FOUND, set())
    try:
        library = session_library().library
        for identity in runs.keys() - found:
            if library.find(runs[identity], diverged=True) is not None:
                found.add(identity)
    except LibraryError:
        # Pressing Start shows the error.
        return set()
    return found & runs.keys()


def draw_progress(work: Job, *, total: int, key: str) -> ComparisonProgress:
    """Draw how many of `total` runs are finished, in a container of that `key`; return progress."""
    state = work.state()
    progress: ComparisonProgress = state.latest or ComparisonProgress()
    if progress.slower is not None:
        session().kept[_SLOWER] = progress.slower
    with st.container(key=key):
        if state.error:
            draw_error(f"The runs ended with an error. {state.error}")
            return progress
        word = "done" if state.done else "running" if state.running else "stopped"
        told = [f"{word}: {len(progress.results):,} of {total:,} runs"]
        if progress.known:
            told.append(f"{progress.known:,} of them already known")
        if state.message:
            told.append(state.message)
        elif state.running:
            left = progress.seconds_left
            told.append("compiling" if left is None else f"about {show_duration(left)} left")
        if progress.problem:
            draw_warning(
                f"{progress.problem} Further runs have results but no model.",
                icon=":material/save:",
            )
        st.progress(1.0 if state.done else min(1.0, progress.share), " · ".join(told))
    return progress
