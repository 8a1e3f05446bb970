"""Inspect: how good the predictions are over the whole test set, and what the model makes up."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import (
    by_day_chart,
    by_day_table,
    calibration_chart,
    calibration_table,
    confusion_chart,
    confusion_table,
)
from attnlab.configuration.number_text import show_measured
from attnlab.generators.vocabulary import Vocabulary
from attnlab.inspection import Quality, quality
from attnlab.inspection.transitions import row_shares
from attnlab.live.background import Background
from attnlab.models import AbstractModel
from attnlab.optimum import optimum
from attnlab.training.evaluation import EvaluationByPosition
from attnlab.training.experiment import Experiment
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.core.process_figures import answer_or_none
from attnlab.ui.core.session_work import draw_while_working, session_work

_WORK, _MODEL = "quality", "quality_model"
_HEIGHT = 300


def draw_quality(experiment: Experiment, model: AbstractModel, test: np.ndarray) -> None:
    """Figures over the whole test set, worked out once for a model, in their turn."""
    # The model itself is kept, since the identity of one that is gone may be given again.
    if st.session_state.get(_MODEL) is not model:
        st.session_state[_MODEL] = model
        session_work().start(_WORK, partial(quality, experiment, model, test))
    draw_while_working(_WORK, partial(_draw, experiment=experiment))


def _draw(work: Background, *, experiment: Experiment) -> None:
    state, vocabulary = work.state(), experiment.generator.vocabulary
    found: Quality | None = state.latest
    if state.error:
        draw_error(f"The figures ended by an error. {state.error}")
    elif state.running:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f":material/hourglass_top: {state.message or 'Working it out …'}")
            st.button("Stop", key="quality_stop", icon=":material/stop:", on_click=work.pause)
    elif not state.done:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"Stopped. {state.message}")
            st.button("Go on", key="quality_go_on", icon=":material/resume:", on_click=work.start)
    st.header("Over the whole test set", anchor=False, divider="gray")
    if found is not None:
        _draw_predictions(found, vocabulary)
        if found.by_day is not None:
            _draw_by_day(found.by_day, experiment)
    st.header("Days that the model makes up", anchor=False, divider="gray")
    if found is not None and found.transitions is not None:
        _draw_transitions(found, vocabulary)


def _draw_predictions(found: Quality, vocabulary: Vocabulary) -> None:
    """Confusion matrix and calibration on the test sequences."""
    counts, reliable = found.counts, found.reliable
    right = np.trace(counts) / counts.sum()
    left, middle = st.columns(2, gap="medium")
    with left, st.container(key="chart_confusion"):
        draw_chart(
            confusion_chart(
                confusion_table(counts, vocabulary),
                symbols=vocabulary.symbols,
                dark=on_dark(),
                height=_HEIGHT,
            ),
            name="Confusion matrix",
            alt=f"Confusion matrix of {counts.sum():,} tests; {right:.1%} predicted right.",
        )
        st.caption(
            f"How to read it: counts over {counts.sum():,} test sequences; rows came, columns were "
            "the model's likeliest. The best predictor, too, is often wrong where the process is "
            "random."
        )
    with middle, st.container(key="chart_calibration"):
        draw_chart(
            calibration_chart(
                calibration_table(
                    reliable.said, reliable.came, reliable.came_stderr, reliable.count
                ),
                dark=on_dark(),
                height=_HEIGHT,
            ),
            name="Calibration",
            alt=f"Calibration: the expected calibration error is {reliable.error:.3f}.",
        )
        st.caption(
            "How to read it: on the dashed line a probability means what it says; bars are one "
            f"standard error. Expected calibration error {reliable.error:.3f}."
        )


def _draw_by_day(found: EvaluationByPosition, experiment: Experiment) -> None:
    """The loss of every day that was trained on, beside what could be had of it."""
    known = answer_or_none(optimum, experiment.generator, experiment.length)
    if known is None:
        return
    floors = np.array([known.per_day[position].nll for position in found.positions])
    worst = int(np.argmax(found.nll - floors))
    with st.container(key="chart_by_day"):
        draw_chart(
            by_day_chart(
                by_day_table(found.positions + 1, found.nll, found.nll_stderr, floors),
                dark=on_dark(),
                height=_HEIGHT,
            ),
            name="Loss by day",
            alt=f"Loss by day. Most above its floor is day {found.positions[worst] + 1}, by "
            f"{found.nll[worst] - floors[worst]:.3f} nats.",
        )
    mean = show_measured(found.mean.nll, found.mean.nll_stderr)
    source = "exact" if known.exact else "estimated"
    st.caption(
        "How to read it: with the loss `next` every day is predicted from those before it. Points: "
        f"the model, ± one standard error; dashes: the least loss possible, {source}. Mean over "
        f"days: {mean} nats for the model, {floors.mean():.3f} at best."
    )


def _draw_transitions(quality: Quality, vocabulary: Vocabulary) -> None:
    """Transitions into the next day: drawn from the process and from the model."""
    found, rows = quality.transitions, []
    shares = [row_shares(counts) for counts in (found.process, found.model)]
    for before, after in np.ndindex(found.process.shape):
        row = {"transition": f"{vocabulary.symbols[before]} → {vocabulary.symbols[after]}"}
        for name, (share, stderr) in zip(("process", "model"), shares, strict=True):
            row[name] = show_measured(share[before, after], stderr[before, after])
        rows.append(row)
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="content")
    verdict = (
        "at the level of 1 % they cannot be told apart"
        if found.p_value >= 0.01
        else "the model's days differ from the process's"
    )
    with st.container(key="transitions"):
        st.markdown(
            f"χ² = **{found.statistic:.1f}** on {found.degrees} degrees of freedom, "
            f"p = {found.p_value:.2g}: {verdict}."
        )
    st.caption(
        f"How to read it: behind each of {quality.continued:,} test sequences the process and the "
        "model each put one day; shares of the next day by the last visible one, ± one standard "
        "error."
    )
