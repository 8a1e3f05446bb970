"""Runs of the same settings with other seeds, and their results."""

import dataclasses
from collections.abc import Iterator

import streamlit as st

from attnlab.comparisons.intervals import CurveOverSeeds, curve_over_seeds
from attnlab.comparisons.many import run_all
from attnlab.comparisons.summary import Row, figures_of, summarise
from attnlab.comparisons.uncertainty import (
    OF_SEEDS,
    caution_text,
    interval_text,
    reached_text,
    unseen_text,
)
from attnlab.configuration.options import OptionError, options_of, present
from attnlab.optimum import FEW_BELIEFS
from attnlab.runs.library import Query
from attnlab.runs.snapshot import Snapshot
from attnlab.training.experiment import Experiment
from attnlab.training.limits import check_work
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.jobs import forget_job, job_of, start_job
from attnlab.ui.core.outside import draw_toast
from attnlab.ui.core.server import limits
from attnlab.ui.core.session import session
from attnlab.ui.core.session_library import session_library

SEEDS = 5
_WORK, _KNOWN = "repeat", "rows_over_seeds"
_CURVE = "curve_over_seeds"
# Maximum number of runs of the same settings that are read from the library.
_MOST_RUNS = 100


def repeat_progress() -> str:
    """Return the number of finished seeds as text while they train, else ""."""
    job = job_of(_WORK)
    state = None if job is None else job.state()
    if state is None or not state.running:
        return ""
    return f"{state.latest or 0} of {SEEDS} seeds"


def draw_repeat(form: Experiment | OptionError, snapshot: Snapshot) -> None:
    """Draw the progress of repeated runs; or their results and the button, unless a run trains."""
    if progress := repeat_progress():
        st.caption(f":material/repeat: {progress}", width="content")
        draw_button("Stop", "repeat_stop", None, forget_job, _WORK, type="tertiary")
        return
    if snapshot.active:
        return
    if row := row_over_seeds(snapshot.experiment):
        accuracy = present(row.accuracy)
        words = f"accuracy over {accuracy.n} seeds: **{interval_text(accuracy)}**"
        st.caption(words, width="content", help=_help(row))
    draw_button(
        f"Repeat with {SEEDS} seeds",
        "run_repeat",
        "repeat",
        _start,
        form,
        type="tertiary",
        disabled=isinstance(form, OptionError),
    )


def row_over_seeds(experiment: Experiment) -> Row | None:
    """Return results over the library's finished runs of these settings, if there are several."""
    library = session_library().library
    query = Query(like=experiment, state="done", sort="seed")
    known: dict = session().kept.setdefault(_KNOWN, {})
    count = library.count(query)
    if known.get(query, (0, None))[0] != count:
        # Runs whose settings were changed during training started with others.
        entries = library.entries(query, most=_MOST_RUNS)
        results = [entry for entry in entries if not entry.changes]
        several = len({result.experiment.seed for result in results}) > 1
        rows = summarise(results, baselines=False, most=FEW_BELIEFS) if several else [None]
        known[query] = count, rows[0]
    return known[query][1] if count > 1 else None


def draw_curve_choice(experiment: Experiment) -> CurveOverSeeds | None:
    """Draw the switch for the curve over seeds; return the curve, or None if it is off.

    Nothing is drawn without several seeds. Repeating a run turns the switch on. It is off at first,
    since the runs may be another visitor's.
    """
    row = row_over_seeds(experiment)
    if row is None:
        return None
    is_on = st.toggle(
        "show other seeds",
        key=_CURVE,
        persist_state="session",
        help="Shows the test loss of runs with these settings and other seeds, and their mean. "
        "With three or more runs, a 95 % interval is shown.",
    )
    curve = curve_over_seeds(row.finished) if is_on else None
    return curve if curve and len(curve.steps) > 1 else None


def repeated(experiment: Experiment) -> list[Experiment]:
    """Return the experiment with `SEEDS` consecutive seeds, starting from its own if possible."""
    most = int(options_of(Experiment)["seed"].bounds[1])
    first = min(experiment.seed, most - SEEDS + 1)
    return [dataclasses.replace(experiment, seed=first + number) for number in range(SEEDS)]


def _start(form: Experiment) -> None:
    try:
        check_work(form, limits(), runs=SEEDS)
    except OptionError as error:
        draw_toast(str(error))
        return
    st.session_state[_CURVE] = True
    experiments, library = repeated(form), session_library().library

    def run_each() -> Iterator[int]:
        for number, _ in enumerate(run_all(experiments, library=library, limits=limits()), 1):
            yield number

    start_job(_WORK, run_each)


def _help(row: Row) -> str:
    each = ", ".join(
        f"{value:.3f} (seed {seed})" for seed, value in figures_of(row, "accuracy").items()
    )
    reached, caution = row.reached, caution_text(row.accuracy, row.learned)
    parts = [
        f"Mean over runs of these settings, with the {OF_SEEDS} in parentheses.",
        f"Accuracy of each: {each}.",
        f"Loss {interval_text(row.nll)} nats.",
    ]
    if reached is not None:
        parts.append(
            f"Reached {reached.target:.0%} of what can be learned: {reached_text(reached)}."
        )
    parts += [f"Caution: {caution}."] if caution else []
    return " ".join([*parts, unseen_text(present(row.accuracy).n)])
