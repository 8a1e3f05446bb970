"""Comparisons: checking the chosen settings, training in the background, and progress."""

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import streamlit as st

from attnlab.comparisons.grid import (
    PRESET,
    Grid,
    Study,
    seconds_of,
    settings_of,
    study_of,
)
from attnlab.comparisons.many import run_all, with_metrics
from attnlab.comparisons.recording import Recording
from attnlab.comparisons.summary import References, Row, references_of, summarise
from attnlab.configuration.number_text import show_duration
from attnlab.configuration.options import OptionError
from attnlab.generators import AbstractGenerator
from attnlab.lessons.examples import Example
from attnlab.live.jobs import Job, JobState
from attnlab.optimum import FEW_BELIEFS
from attnlab.runs.differences import Identity, identity_of
from attnlab.runs.library import Library, LibraryError
from attnlab.runs.run_summary import RunSummary
from attnlab.training.experiment import Experiment
from attnlab.training.limits import Limits, check_comparison, check_runs
from attnlab.ui.compare.choice import choose, draw_more, option_label
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.example_run import example_until_first
from attnlab.ui.core.figures import figure
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, draw_source, job_of, start_job
from attnlab.ui.core.outside import draw_error, draw_warning
from attnlab.ui.core.server import limits
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import session_library

# More runs would make the page slow; the command line has no such limit.
_MOST_RUNS = 2_000


@dataclasses.dataclass(frozen=True)
class Plan:
    """A grid, and its settings with their seeds."""

    grid: Grid
    study: Study

    @cached_property
    def runs(self) -> dict[Identity, Experiment]:
        """The runs in training order: each different experiment once."""
        return {identity_of(experiment): experiment for experiment in self.study.runs}


def plan_of(grid: Grid, limits: Limits) -> Plan:
    """Return the plan of a grid; raise `OptionError` if the grid or the limits reject it.

    A setting that cannot be trained raises no error: its row of the results gives the reason.
    """
    settings = math.prod(len(texts) for _, texts in grid.options)
    if settings * grid.seeds > _MOST_RUNS:
        problem = f"more than the {_MOST_RUNS:,} that this page compares"
        remedy = "Choose fewer values or seeds, or use `python -m attnlab compare`"
        raise OptionError("runs", settings * grid.seeds, problem, remedy)
    # First, since it takes a second to build two thousand settings.
    check_runs(settings, limits)
    study = study_of(grid)
    found = study.settings
    possible = [setting.experiment for setting in found if setting.experiment is not None]
    if not possible:
        raise OptionError(
            grid.options[0][0],
            ", ".join(grid.options[0][1]),
            "none of these settings can be trained",
            f"The first error: {found[0].problem}",
        )
    check_comparison(possible, limits, seeds=grid.seeds)
    return Plan(grid, study)


def _references(generator: AbstractGenerator, length: int) -> References:
    return references_of(generator, length, most=FEW_BELIEFS)


def rows_of(plan: Plan, results: tuple[RunSummary, ...]) -> tuple[Row, ...]:
    """Return one row per setting of the plan, with the results so far.

    A row has no references while they are computed.
    """

    def known(experiment: Experiment) -> References | None:
        return figure(_references, experiment.generator, experiment.length)

    return summarise(results, plan.study.settings, references=known)


def rows_of_example(example: Example) -> tuple[Row, ...]:
    """Return one row per setting of a comparison that comes with the program."""
    found = example.result
    return summarise(found.runs, settings_of(example.of), references=lambda _: found.references)


# The first runs include compilation, so their speed says little about the others.
_SECONDS_TO_TELL = 3.0


class ComparisonProgress(NamedTuple):
    """The results so far, of which `known` existed before the comparison started.

    `share` is the fraction of the work that is done. `slower` is measured time divided by estimated
    time, None at first. `problem` says why results are not saved in the library, or is "".
    """

    results: tuple[RunSummary, ...] = ()
    known: int = 0
    share: float = 0.0
    slower: float | None = None
    problem: str = ""


def compare(
    plan: Plan, library: Library, limits: Limits, held: dict[Identity, RunSummary]
) -> Iterator[ComparisonProgress]:
    """Train the plan's runs that neither `library` nor `held` has; yield progress after each.

    New results are saved in the library and, without their models, in `held`. A call with the same
    `held` resumes the comparison.
    """
    unique, measured = plan.runs, plan.study.recording
    for identity, experiment in unique.items():
        if identity not in held and (known := _found(experiment, library, measured)) is not None:
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
    for result in run_all([unique[identity] for identity in left], limits=limits, **measured):
        identity = identity_of(result.experiment)
        if result.state != "refused":
            result, problem = _kept(result, library)
            progress = progress._replace(problem=problem or progress.problem)
        held[identity] = results[identity] = result
        left.pop(identity, None)
        rest, spent = sum(left.values()), time.monotonic() - began
        progress = progress._replace(results=tuple(results.values()), share=1 - rest / whole)
        if spent > _SECONDS_TO_TELL:
            progress = progress._replace(slower=spent / (expected * progress.share))
        yield progress


def _found(experiment: Experiment, library: Library, measured: dict[str, Any]) -> RunSummary | None:
    try:
        found = library.find(experiment, diverged=True)
        if found is None or not measured:
            return found
        return with_metrics(found, library, Recording(**measured))
    except LibraryError:
        # Results that cannot be read are computed again; an error of writing is reported then.
        return None


def _kept(result: RunSummary, library: Library) -> tuple[RunSummary, str]:
    """Save a result in the library; return it without its model, and why saving failed, or ""."""
    problem = ""
    try:
        library.keep(result)
    except LibraryError as error:
        problem = str(error)
    return dataclasses.replace(result, run=None), problem


WORK = "compare"
_SLOWER, _FOUND = "comparison_slower", "comparison_found"


def begun_plan() -> Plan | None:
    """Return the plan of the comparison that was started last, or None."""
    job = job_of(WORK)
    return None if job is None else job.of


def draw_start(grid: Grid | None, base: Experiment | None) -> Job | Example | None:
    """Draw the buttons and the size of the chosen comparison, and the source of the results below.

    Return this source, as `draw_source` does. `base` are the settings of the sidebar, if valid.
    """
    plan = problem = None
    if grid is not None:
        try:
            plan = plan_of(grid, limits())
        except OptionError as error:
            problem = error
    new = [] if plan is None else _new_runs(plan)
    if begun_plan() is None and plan is not None and not new:
        # If all results are known, as after reloading the page, show them at once.
        start_comparison(plan)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        draw_job_buttons(WORK, "Compare", partial(start_comparison, plan))
        with st.container(key="compare_size", gap=None):
            if plan is not None:
                st.markdown(_size(plan, new))
        if base is not None:
            with st.popover("More options", icon=":material/tune:"):
                draw_more(base, () if plan is None else plan.study.settings)
    if problem is not None:
        draw_error(str(problem))
    with st.container(horizontal=True, vertical_alignment="center"):
        source = draw_source(
            WORK,
            plan or begun_plan(),
            "Compare",
            of_example=_grid_in_words,
            invitation="Press **Compare** to train your selection.",
        )
        if plan is not None and source is not None:
            shown = source.of if isinstance(source, Example) else source.of.grid
            if plan.grid != shown:
                draw_button("Select what is shown", "compare_back", "undo", choose, shown)
    return source


def _grid_in_words(grid: Grid) -> str:
    base = [] if grid.base is None else [f"{grid.base.generator.name}, length {grid.base.length}"]
    varied = [f"{option_label(name)} {', '.join(values)}" for name, values in grid.options]
    return "; ".join([*base, *varied, _counted(grid.seeds, "seed")])


def start_comparison(plan: Plan | None) -> None:
    """Start the job that trains the plan's runs, if there is a plan."""
    if plan is not None:
        start_job(WORK, partial(compare, plan, session_library().library, limits(), {}), of=plan)


def _size(plan: Plan, new: Sequence[Experiment]) -> str:
    """Return text with the number of runs, of which some are `new`, and the estimated duration."""
    runs, settings = len(plan.runs), len(plan.study.settings)
    parts = [
        f"**{_counted(settings, 'setting')} × {_counted(plan.grid.seeds, 'seed')} = "
        f"{_counted(runs, 'run')}**"
    ]
    if len(new) < runs:
        parts.append(f"{runs - len(new):,} already computed")
    if new:
        slower = session().kept.get(_SLOWER)
        seconds = seconds_of(new) * (slower or 1.0)
        basis = "at the speed of the last runs" if slower else "rough estimate"
        parts.append(f"about {show_duration(seconds)} ({basis})")
    if PRESET in dict(plan.grid.options):
        parts.append("what is not varied comes from the presets, not from the sidebar")
    return " · ".join(parts)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _new_runs(plan: Plan) -> list[Experiment]:
    """Return the experiments whose results are not in the library."""
    # Runs found once are not looked up again.
    found: set[Identity] = session().kept.setdefault(_FOUND, set())
    try:
        library = session_library().library
        for identity, experiment in plan.runs.items():
            if identity not in found and library.find(experiment, diverged=True) is not None:
                found.add(identity)
    except LibraryError:
        # Pressing Start shows the error.
        return list(plan.runs.values())
    return [each for identity, each in plan.runs.items() if identity not in found]


def draw_runs(draw: Callable[[ComparisonProgress | Example], None]) -> None:
    """Draw the number of finished runs and, by `draw`, the results so far or else the example."""
    plan = begun_plan()
    total = 0 if plan is None else len(plan.runs)

    def progress(latest: ComparisonProgress | None) -> tuple[float, str]:
        found = latest or ComparisonProgress()
        if found.slower is not None:
            session().kept[_SLOWER] = found.slower
        known = f", {found.known:,} of them already computed" if found.known else ""
        return min(1.0, found.share), f"{len(found.results):,} of {total:,} runs{known}"

    def draw_results(state: JobState) -> None:
        found = state.latest or ComparisonProgress()
        if found.problem:
            draw_warning(
                f"{found.problem} Further runs have results but no model.", icon=":material/save:"
            )
        shown = found if found.results else example_until_first(WORK, state)
        if shown is not None:
            draw(shown)

    draw_job(WORK, draw_results, failed="The comparison", progress=progress)
