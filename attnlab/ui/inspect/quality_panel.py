"""Predictions over the whole test set, compared with the true distribution."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from attnlab import charts
from attnlab.comparisons.uncertainty import OF_OTHER_SEEDS, OVER_TEST_SEQUENCES
from attnlab.configuration.number_text import show_estimate, show_measured, show_percent
from attnlab.configuration.options import present
from attnlab.generators import AbstractTask
from attnlab.generators.vocabulary import Vocabulary
from attnlab.inspection import LikelihoodRatioTest, Quality, Transitions, quality
from attnlab.inspection.targets import TargetTest
from attnlab.live.jobs import JobState
from attnlab.models import AbstractModel
from attnlab.optimum import optimum
from attnlab.training.evaluation import EvaluationByPosition
from attnlab.training.experiment import Experiment
from attnlab.ui.core.display import draw_button
from attnlab.ui.core.figures import figure
from attnlab.ui.core.fragments import panel
from attnlab.ui.core.jobs import draw_job, job_of, start_job
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.sequence_to_sequence.task_panel import draw_target_test

_WORK = "quality"
_HEIGHT = 300
# Significance level of the test.
_LEVEL = 0.01


@panel("Where is the model wrong on the test set?", key="test_set", icon="grid_on")
def draw_quality(experiment: Experiment, model: AbstractModel, test: np.ndarray) -> None:
    """Draw predictions over the whole test set; they are computed once per model."""
    # Keep the model, not its id: Python may reuse the id of a deleted object.
    job = job_of(_WORK)
    if job is None or job.of is not model:
        start_job(_WORK, partial(quality, experiment, model, test), of=model)
    draw_job(_WORK, partial(_draw, experiment=experiment), failed="The computation")


def _draw(state: JobState, *, experiment: Experiment) -> None:
    job, vocabulary = present(job_of(_WORK)), experiment.generator.vocabulary
    word, found = experiment.generator.position_word, state.latest
    if state.running or not state.done:
        with st.container(horizontal=True, vertical_alignment="center"):
            if state.running:
                st.caption(f":material/hourglass_top: {state.message or 'Computing …'}")
                draw_button("Stop", "quality_stop", "stop", job.pause)
            else:
                st.caption(f"Stopped. {state.message}")
                draw_button("Continue", "quality_go_on", "resume", job.start)
    if found is not None:
        _draw_predictions(found, vocabulary)
        if found.by_position is not None:
            _draw_by_position(found.by_position, experiment)
    if found is not None and found.transitions is not None and experiment.generator.has_law:
        st.header("Model and true distribution", anchor=False)
        _draw_transitions(found.transitions, vocabulary)
        _draw_test(present(found.test), int(found.counts.sum()), word)


def _draw_predictions(found: Quality, vocabulary: Vocabulary) -> None:
    """Draw the confusion matrix and the calibration curve over the test sequences."""
    counts, reliable = found.counts, found.reliable
    right = np.trace(counts) / counts.sum()
    left, middle = st.columns(2, gap="medium")
    with left, st.container(key="chart_confusion"):
        draw_chart(
            charts.confusion_chart(counts, symbols=vocabulary.symbols),
            name="Confusion matrix",
            alt=f"Confusion matrix of {counts.sum():,} tests; "
            f"{show_percent(right)} predicted right.",
        )
        st.caption(
            f"Confusion matrix over {counts.sum():,} test sequences: rows are observed tokens, "
            "columns are the model's most probable tokens."
        )
    with middle, st.container(key="chart_calibration"):
        draw_chart(
            charts.calibration_chart(
                reliable.predicted,
                reliable.observed,
                reliable.observed_stderr,
                reliable.count,
                height=_HEIGHT,
            ),
            name="Calibration",
            alt=f"Calibration: the expected calibration error is {reliable.error.value:.4f}; "
            f"perfect calibration would show {reliable.perfect_error:.4f}.",
        )
        st.caption(
            f"Expected calibration error **{show_measured(*reliable.error, most_places=4)}**. "
            "Sampling noise alone gives a perfectly calibrated model "
            f"{reliable.perfect_error:.4f} ± {reliable.perfect_error_std:.4f}.",
            help="Each point is a bin of predicted probabilities, ± one standard error. The error "
            "of a perfectly calibrated model is a mean ± standard deviation over test sets.",
        )


def _draw_by_position(found: EvaluationByPosition, experiment: Experiment) -> None:
    """Draw the loss at each trained position, with the lowest possible loss."""
    known = figure(optimum, experiment.generator, experiment.length)
    if known is None:
        return
    best = [known.by_position[position] for position in found.positions]
    floors = np.array([each.nll for each in best])
    worst, word = int(np.argmax(found.nll - floors)), experiment.generator.position_word
    floor = experiment.generator.best_words.floor
    lowest = "lowest possible loss" if experiment.generator.has_law else floor
    with st.container(key="chart_by_day"):
        draw_chart(
            charts.by_day_chart(
                found.positions + 1,
                found.nll,
                found.nll_stderr,
                floors,
                word=word,
                level=floor,
                height=_HEIGHT,
            ),
            name=f"Loss and {floor} by {word}",
            alt=f"Loss by {word}. Furthest above its {floor} is {word} "
            f"{found.positions[worst] + 1}, by {found.nll[worst] - floors[worst]:.3f} nats.",
        )
    mean = show_measured(found.mean.nll, found.mean.nll_stderr)
    least, source = f"{floors.mean():.3f}", "exact"
    if not known.exact:
        # An upper bound: the errors are correlated, since all positions use the same sequences.
        error = np.mean([each.nll_stderr for each in best])
        least, source = show_measured(float(floors.mean()), float(error)), "estimated"
    st.caption(
        f"Mean over {word}s: model {mean} nats, {lowest} {least} nats. Points show the "
        f"model, {OVER_TEST_SEQUENCES}; dashes show the {lowest} ({source}).",
        help=f"With the loss `next` every {word} is predicted from those before it; "
        f"{OF_OTHER_SEEDS}.",
    )


def _draw_transitions(found: Transitions, vocabulary: Vocabulary) -> None:
    """Draw mean probabilities of the next token, grouped by the last visible token."""
    columns = {"true": found.true, "model": found.model, "model − true": found.difference}
    symbols = vocabulary.symbols
    rows = [
        {"transition": f"{symbols[before]} → {symbols[after]}"}
        | {
            name: show_estimate(float(each.mean[before, after]), float(each.stderr[before, after]))
            for name, each in columns.items()
        }
        for before in np.flatnonzero(found.count > 1).tolist()
        for after in range(vocabulary.size)
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="content")
    is_equal = any("±" not in row[name] for row in rows for name in columns)
    equal = "; values without ± are equal for every sequence" * is_equal
    st.caption(
        "How to read it: the row a → b shows the mean probability of b after sequences that end in "
        f"a. ± is one standard error over the test sequences{equal}."
    )


def _draw_test(found: LikelihoodRatioTest, size: int, word: str) -> None:
    """Draw the KL divergence to the true distribution, and whether the test data reveal it."""
    least = 1 / (found.draws + 1)
    verdict = f"p = {found.p_value:.2g}" if found.p_value > least else f"p ≤ {least:.2g}"
    if found.divergence.value == 0:
        verdict = "none, since both distributions are equal"
    elif found.p_value < _LEVEL:
        verdict += ", so the test data reject the model"
    else:
        verdict += f", so at the {_LEVEL:.0%} level {size:,} {word}s do not distinguish the two"
    with st.container(key="transitions"):
        st.markdown(
            f"KL(true ‖ model) = **{show_measured(*found.divergence, most_places=4)} nats**, mean "
            f"over the test sequences. Likelihood-ratio test: {verdict}."
        )
    st.caption(
        f"How to read it: could the model have generated the {size:,} final {word}s? p is the "
        "probability that data sampled from the model fit it at least as badly.",
        help="The statistic is the log-likelihood ratio of the true distribution to the model. p "
        f"is the share of {found.draws} data sets drawn from the model with at least the observed "
        "value.",
    )


@panel("Where is the model wrong on the test set?", key="target_test_set", icon="grid_on")
def draw_target_quality(task: AbstractTask, model: AbstractModel, test: np.ndarray) -> None:
    """Draw a task's results over the whole test set; they are computed once per model."""
    draw_target_test(task, model, test, partial(_draw_targets, task=task, size=len(test)))


def _draw_targets(found: TargetTest, *, task: AbstractTask, size: int) -> None:
    tokens, floor = found.tokens, task.floor()
    mean, places = tokens.mean, tokens.positions - task.prompt_length() + 1
    with st.container(key="target_figures"):
        st.markdown(
            f"Correct targets: **{show_measured(*found.exact_match)}** of {size:,} test sources, "
            "decoded greedily. With teacher forcing: accuracy "
            f"**{show_measured(mean.accuracy, mean.accuracy_stderr)}**, loss "
            f"**{show_measured(mean.nll, mean.nll_stderr)}** nats (floor {floor:.3f})."
        )
    floors, worst = np.full(len(places), floor), int(np.argmax(tokens.nll))
    with st.container(key="chart_by_target"):
        draw_chart(
            charts.by_day_chart(
                places, tokens.nll, tokens.nll_stderr, floors, word="target token", height=_HEIGHT
            ),
            name="Loss by target token",
            alt=f"Loss by target token. Largest for token {places[worst]}, "
            f"{tokens.nll[worst]:.3f} nats.",
        )
    st.caption(
        "How to read it: points are the losses of each target token, given the source and the "
        f"true tokens before it, {OVER_TEST_SEQUENCES}. The dashes are the lowest possible loss "
        "(exact)."
    )
