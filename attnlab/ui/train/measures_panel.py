"""Measures of a run's models over training, including the user's own."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import Scale, distinct, lines_chart, series_table
from attnlab.configuration.number_text import show_estimate
from attnlab.configuration.options import present
from attnlab.inspection import estimates_of, measure_label, measure_of, measures_for
from attnlab.inspection.essential_parts import essential_parts_in_words, has_essential_parts
from attnlab.inspection.measures import ESSENTIAL_PARTS, has_training_set
from attnlab.inspection.what_happened import LEARNED
from attnlab.live.live_run import LiveRun
from attnlab.runs.snapshot import Snapshot
from attnlab.training.measure import SHARE, Estimate
from attnlab.ui.core.fragments import draw_while, panel
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.train.course import Course, result_shown
from attnlab.ui.train.cursor import Moment

_SHOWN, _HEIGHT = "measures_shown", 260
# Half the width of a 95 % interval, in standard errors.
_INTERVAL = 1.96
# By measure; None if it is not defined.
Estimates = dict[str, Estimate | None]


def training_accuracy(run: LiveRun, snapshot: Snapshot, moment: Moment) -> float | None:
    """Return the accuracy of the shown model on its training set; None with fresh data.

    While the run trains it may be that of a recent model.
    """
    setup = run.setup
    if setup is None or snapshot.state == "idle" or not has_training_set(setup.experiment):
        return None

    def compute(model: Any) -> Estimate:
        return estimates_of(model, setup, ["training_accuracy"])["training_accuracy"]

    return result_shown("training_accuracy", setup, snapshot, moment, compute).result.value


def draw_essential_parts(run: LiveRun, snapshot: Snapshot, moment: Moment) -> None:
    """Draw which parts a model needs that has learned nearly all, if they can be fixed."""
    setup, names = run.setup, ("learned", *ESSENTIAL_PARTS)
    if setup is None or not has_essential_parts(setup.experiment):
        return

    def compute(model: Any) -> dict[str, Estimate]:
        return estimates_of(model, setup, names)

    found = result_shown("essential_parts", setup, snapshot, moment, compute).result
    if len(found) == len(names) and found["learned"].value >= LEARNED:
        shares = (found[name] for name in names)
        st.markdown(
            f":material/build: {essential_parts_in_words(*shares)}",
            help="Each part is fixed to its mean over 2,000 test sequences, without training the "
            "model again. Shares are of what can be learned, on all test sequences, ± one standard "
            "error. **Measures over training** has them at each step.",
        )


@panel("Measures over training", key="measures", icon="monitoring")
def draw_measures(run: LiveRun) -> None:
    """Draw the chosen measures of every kept model of a run."""
    experiment = run.snapshot().experiment
    usual = ["training_accuracy"] * has_training_set(experiment) + ["accuracy"]
    chosen = st.multiselect(
        "measures",
        # A measure that was chosen for another run stays, and says what it needs.
        list(dict.fromkeys((*measures_for([experiment]), *st.session_state.get(_SHOWN, ())))),
        default=usual,
        format_func=measure_label,
        key=_SHOWN,
        persist_state="session",
        label_visibility="collapsed",
        placeholder="choose measures …",
    )
    if chosen and run.setup is None:
        st.caption("Start a run to measure its models.")
    elif chosen:
        draw_while(
            lambda: _waiting_for(run, chosen),
            functools.partial(_draw, run, chosen),
            key="measures_course",
        )


def _course(snapshot: Snapshot, chosen: Sequence[str]) -> Course[Estimates]:
    return Course("measures", snapshot, is_complete=lambda found: found.keys() >= set(chosen))


def _waiting_for(run: LiveRun, chosen: Sequence[str]) -> tuple[bool, bool]:
    snapshot = run.snapshot()
    return snapshot.active, bool(_course(snapshot, chosen).missing())


def _draw(run: LiveRun, chosen: Sequence[str]) -> None:
    snapshot, setup = run.snapshot(), present(run.setup)
    course = _course(snapshot, chosen)

    def measure(step: int, model: Any) -> Estimates:
        found = course.results.get(step, {})
        wanted = [name for name in chosen if name not in found]
        estimates = estimates_of(model, setup, wanted)
        return found | {name: estimates.get(name) for name in wanted}

    course.compute_some(measure)
    if snapshot.active:
        st.caption("Measures appear when the run pauses or ends.")
    if left := len(course.missing()):
        st.caption(f":material/hourglass_top: Measuring {left} more models of this run …")
    measured = course.curve()
    defined = {name: _values(measured, name, snapshot.step) for name in chosen}
    for name in [name for name, values in defined.items() if measured and not values]:
        needs = present(measure_of(name)).needs
        st.caption(
            f"{measure_label(name)} is not defined here. {f'It needs {needs}.' * bool(needs)}"
        )
    by_axis: dict[tuple[str, tuple[float, float]], list[str]] = {}
    for name in [name for name, values in defined.items() if values]:
        measure_shown = present(measure_of(name))
        by_axis.setdefault((measure_shown.unit, measure_shown.bounds), []).append(name)
    for (unit, bounds), names in by_axis.items():
        _draw_chart({name: defined[name] for name in names}, unit, bounds)
    if by_axis:
        st.caption(
            "± is one standard error over sequences, and bands are 95 % intervals. Without them, "
            "the value is exact or its error is not known."
        )


def _values(
    measured: list[tuple[int, Estimates]], name: str, most: int
) -> list[tuple[int, Estimate]]:
    """Return the estimates of a measure by step, up to the step `most` of the run."""
    pairs = ((step, found.get(name)) for step, found in measured if step <= most)
    return [(step, estimate) for step, estimate in pairs if estimate is not None]


def _draw_chart(
    found: dict[str, list[tuple[int, Estimate]]], unit: str, bounds: tuple[float, float]
) -> None:
    """Draw measures of one unit over the steps, with 95 % intervals where errors are known."""
    labels = {name: present(measure_of(name)).label for name in found}
    tables = [
        series_table(
            labels[name],
            [step for step, _ in values],
            [estimate.value for _, estimate in values],
            _INTERVAL * np.array([estimate.stderr for _, estimate in values]),
        )
        for name, values in found.items()
    ]
    last = "; ".join(
        f"{labels[name]} {show_estimate(*values[-1][1])} at step {values[-1][0]:,}"
        for name, values in found.items()
    )
    axis = "share" if bounds == SHARE else unit or "value"
    draw_chart(
        lines_chart(
            pd.concat(tables),
            x=Scale("step", ",d", ",d"),
            y=Scale(axis, ".3f", domain=bounds if bounds == SHARE else None),
            series=distinct(labels.values()),
            look="band",
            tips=(),
            height=_HEIGHT,
        ),
        name=f"{' and '.join(labels.values())} over training",
        alt=f"Over training: {last}.",
    )
    st.caption(f"{last}.")
