"""Inspect: how good the predictions are over the whole test set, and what the model makes up."""

import jax
import jax.random as jr
import numpy as np
import pandas as pd
import streamlit as st

from attnlab.charts import calibration_chart, calibration_table, confusion_chart, confusion_table
from attnlab.experiment import Experiment
from attnlab.generation import generate
from attnlab.generators import continue_sequence
from attnlab.inspection import calibration, confusion, final_probs, transition_test
from attnlab.inspection.transitions import row_shares
from attnlab.models import AbstractModel
from attnlab.number_text import show_measured
from attnlab.ui.drawn import draw_chart
from attnlab.ui.ground import on_dark

_BINS = 10
_HEIGHT = 300
_GENERATED = 2_000


def draw_quality(experiment: Experiment, model: AbstractModel, test: np.ndarray) -> None:
    """Confusion matrix and calibration on the test sequences."""
    vocabulary = experiment.generator.vocabulary
    probs = final_probs(model, test[:, :-1], experiment.training.readout)
    counts = confusion(probs, test[:, -1])
    right = np.trace(counts) / counts.sum()
    reliable = calibration(probs, test[:, -1], _BINS)
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


def draw_generated(experiment: Experiment, model: AbstractModel, test: np.ndarray) -> None:
    """Transitions into the next day: drawn from the process and from the model."""
    vocabulary = experiment.generator.vocabulary
    visible = test[:_GENERATED, :-1]
    keys = jr.split(jr.key(experiment.seed), 2 * len(visible))
    process = _process_days(experiment, visible, keys[: len(visible)])
    learned = _model_days(experiment, model, visible, keys[len(visible) :])
    found = transition_test(visible[:, -1], process, learned, vocabulary.size)
    rows = []
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
        f"How to read it: behind each of {len(visible):,} test sequences the process and the model "
        "each put one day; shares of the next day by the last visible one, ± one standard error."
    )


def _process_days(experiment: Experiment, visible: np.ndarray, keys) -> np.ndarray:
    def one(days, key):
        return continue_sequence(experiment.generator, days, key=key, size=1, days=1)[0, 0]

    return np.asarray(jax.vmap(one)(visible, keys))


def _model_days(
    experiment: Experiment, model: AbstractModel, visible: np.ndarray, keys
) -> np.ndarray:
    def one(days, key):
        readout = experiment.training.readout
        return generate(model, days, readout=readout, days=1, temperature=1.0, key=key)[0]

    return np.asarray(jax.vmap(one)(visible, keys))
