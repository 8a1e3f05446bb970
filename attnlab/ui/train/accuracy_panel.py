"""Accuracy on the training set and on the test set, for runs with fixed data."""

from collections.abc import Callable

import jax.numpy as jnp
import pandas as pd
import streamlit as st

from attnlab.charts import HUES, Scale, Series, lines_chart, series_table
from attnlab.generators import loss_mask_of
from attnlab.live.live_run import LiveRun
from attnlab.models import AbstractModel
from attnlab.runs.snapshot import Snapshot
from attnlab.training.evaluation import evaluate
from attnlab.training.experiment import Experiment, draw_data
from attnlab.ui.core.fragments import draw_while, panel
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.session import kept_result
from attnlab.ui.train.course import course_of, missing_models, result_shown, some_of, without_gaps
from attnlab.ui.train.cursor import Moment

# Sequences of the training set that are measured.
_MOST = 1_000
_COURSE, _HEIGHT = "training_accuracy_course", 260


def _measure_of(experiment: Experiment) -> Callable[[AbstractModel], float]:
    def make() -> Callable[[AbstractModel], float]:
        rows = jnp.asarray(draw_data(experiment).train_set[:_MOST])
        mask = loss_mask_of(experiment.generator, rows)
        readout = experiment.training.readout
        return lambda model: evaluate(model, rows, readout=readout, loss_mask=mask).accuracy

    return kept_result("training_accuracy_of", None, experiment, make)


def training_accuracy(snapshot: Snapshot, moment: Moment) -> float | None:
    """Return the accuracy of the shown model on its training set; None with fresh data.

    While the run trains it may be that of a recent model.
    """
    experiment = snapshot.experiment
    # The settings may have changed during the run, but not its data.
    if experiment.training.data == "fresh" or snapshot.state == "idle":
        return None
    measure = _measure_of(experiment)
    shown = result_shown("training_accuracy", measure, snapshot, moment, measure)
    course_of(_COURSE, experiment)[shown.step] = shown.result
    return shown.result


def draw_accuracies(run: LiveRun) -> None:
    """Draw training and test accuracy over the steps of a run with fixed data."""
    if run.snapshot().experiment.training.data == "fixed":
        _draw_panel(run)


@panel("Accuracy on the training and test sets", key="accuracies", icon="school")
def _draw_panel(run: LiveRun) -> None:
    def waiting_for() -> tuple[bool, bool]:
        return run.snapshot().active, bool(_missing(run.snapshot()))

    draw_while(waiting_for, lambda: _draw_course(run.snapshot()), key="accuracy_course")


def _missing(snapshot: Snapshot) -> list[tuple[int, AbstractModel]]:
    return missing_models(course_of(_COURSE, snapshot.experiment), snapshot)


def _draw_course(snapshot: Snapshot) -> None:
    experiment = snapshot.experiment
    course = course_of(_COURSE, experiment)
    for step, model in some_of(_missing(snapshot)):
        course[step] = _measure_of(experiment)(model)
    tests = snapshot.history.tests
    if not course or not tests:
        st.caption("Start a run to see training and test accuracy.")
        return
    known = without_gaps(course, _missing(snapshot))
    trained = [(step, value) for step, value in known if step <= snapshot.step]
    found = {"training": trained, "test": [(step, test.accuracy) for step, test in tests]}
    st.caption(
        "A model that memorises fits its training set long before the test set, if ever. "
        f"At most {_MOST:,} training sequences are measured."
    )
    draw_chart(
        lines_chart(
            pd.concat(series_table(name, *zip(*each, strict=True)) for name, each in found.items()),
            x=Scale("step", ",d", ",d"),
            y=Scale("accuracy", ".3f", domain=(0.0, 1.0)),
            series=(Series("training", HUES.training), Series("test", HUES.learned)),
            look="line",
            height=_HEIGHT,
        ),
        name="Training and test accuracy",
        alt=f"Accuracy on the training set, {trained[-1][1]:.3f}, and on the test set, "
        f"{tests[-1][1].accuracy:.3f}, at step {snapshot.step:,}.",
    )
