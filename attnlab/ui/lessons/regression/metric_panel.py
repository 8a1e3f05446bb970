"""Attention learns the kernel: W_Q and W_K trained by leaving one out, watched live."""

from functools import partial
from typing import NamedTuple

import jax.random as jr
import numpy as np
import streamlit as st

from attnlab.charts import (
    CLICKED,
    learning_chart,
    learning_table,
    plane_chart,
    plane_table,
)
from attnlab.configuration.number_text import show_measured
from attnlab.lessons.kernel_regression import (
    Metric,
    MetricProgress,
    attention_fit,
    error_against_truth,
    isotropic,
    learn_metric,
    leave_one_out,
    left_out_error,
)
from attnlab.lessons.regression_data import PLANES, Sample, draw_sample
from attnlab.live.background import Background
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.outside import draw_error
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.core.session_work import (
    draw_while_working,
    draw_work_buttons,
    session_work,
    work_in_words,
)

_WORK, _PLAN = "metric", "metric_plan"
_STEPS, _LEARNING_RATE = 400, 0.1
# So that a second's work takes long enough to be watched.
_REST_SECONDS = 0.08
_NEW_POINTS = 2_000
_CANDIDATES = np.geomspace(0.01, 1.0, 61)
_HEIGHT = 330


class _Task(NamedTuple):
    """A data set and what the best fixed kernel makes of it."""

    sample: Sample
    noise: float
    new: Sample
    bandwidth: float
    loss: float
    stderr: float
    error: tuple[float, float]


def draw_metric() -> None:
    """Settings, the two buttons, and the two kernels side by side."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        name = linked(st.selectbox, "data", list(PLANES), key="plane", width=180)
        seed = linked(
            st.number_input, "seed of the data", 0, 2**31 - 1, 0, 1, key="plane_seed", width=150
        )
        start = linked(
            st.slider, "bandwidth to start from", 0.05, 1.0, 0.3, 0.05, key="metric_start",
            width=240,
        )  # fmt: skip
        task, work = _task(name, seed), session_work()
        plan = (name, seed, start)
        if st.session_state.get(_PLAN) != plan:
            # What was learned on other data says nothing about these.
            work.forget(_WORK)
            st.session_state[_PLAN] = plan
        draw_work_buttons(
            _WORK,
            "Train W_Q and W_K",
            start="metric_train",
            stop="metric_stop",
            on_start=partial(_start, task.sample, start),
        )
    st.caption(
        f"{PLANES[name].summary} {len(task.sample.y)} points, noise {task.noise:g}; "
        f"{_STEPS} steps of Adam, learning rate {_LEARNING_RATE:g}."
    )
    draw_while_working(_WORK, partial(_draw_work, task=task, start=start))


@st.cache_data(max_entries=16, show_spinner=False)
def _task(name: str, seed: int) -> _Task:
    data = PLANES[name]
    of_data, of_new = jr.split(jr.key(seed))
    sample = draw_sample(data, key=of_data)
    new = draw_sample(data._replace(points=_NEW_POINTS, noise=0.0), key=of_new)
    left_out = leave_one_out(sample.x, sample.y, _CANDIDATES)
    best = left_out.best
    bandwidth = float(_CANDIDATES[best])
    return _Task(
        sample=sample,
        noise=data.noise,
        new=new,
        bandwidth=bandwidth,
        loss=float(left_out.loss[best]),
        stderr=float(left_out.stderr[best]),
        error=error_against_truth(isotropic(2, bandwidth), new.x, new.y, *sample),
    )


def _start(sample: Sample, start: float) -> None:
    def make():
        return learn_metric(
            *sample, isotropic(2, start), learning_rate=_LEARNING_RATE, steps=_STEPS
        )

    session_work().start(_WORK, make, rest=_REST_SECONDS)


def _draw_work(work: Background | None, *, task: _Task, start: float) -> None:
    state = None if work is None else work.state()
    if state is not None and state.error:
        draw_error(f"Training ended by an error. {state.error}")
    progress = None if state is None else state.latest
    if progress is None:
        progress = MetricProgress(0, isotropic(2, start), np.zeros(0))
    share = progress.step / _STEPS
    word = "ready" if state is None else work_in_words(state, share)
    with st.container(key="metric_status"):
        st.progress(share, f"{word} · step {progress.step:03d} of {_STEPS}")
    _draw_figures(progress, task)
    left, middle, right = st.columns([4, 3, 3], gap="medium")
    with left, st.container(key="chart_learning"):
        known = {"best fixed bandwidth": task.loss, "noise alone": task.noise**2}
        draw_chart(
            learning_chart(
                learning_table(progress.losses, known, _STEPS),
                last_step=_STEPS,
                y_domain=(0.0, 4 * task.loss),
                dark=on_dark(),
                height=_HEIGHT + 40,
            ),
            name="Learning the kernel",
            # A text that changes draws the chart anew, so it names no figure that still moves.
            alt="Leave-one-out MSE, during training, beside that of "
            f"the best fixed bandwidth, {task.loss:.4f}."
            + (f" It ended at {progress.losses[-1]:.4f}." if progress.step == _STEPS else ""),
        )
    query = linked(
        st.slider, "query: point", 1, len(task.sample.y), 1, 1, key="plane_point", width=300
    )
    kernels = (
        (middle, "fixed", f"**best fixed bandwidth**, h = {task.bandwidth:.3f}",
         isotropic(2, task.bandwidth)),
        (right, "learned", f"**learned**, after step {progress.step}", progress.metric),
    )  # fmt: skip
    for column, key, title, metric in kernels:
        with column:
            st.markdown(title)
            _draw_plane(key, metric, task.sample, query - 1)
    _draw_weights(progress.metric)
    st.caption(
        "Click a point to make it the query, or move the slider. How to read it: a point is as "
        "large as the weight that the ringed query gives it, each picture relative to its largest; "
        "colour is y, and a triangle points down where y is below 0. The fixed kernel gathers a "
        "round neighbourhood, the learned one stretches along the direction in which nothing "
        "changes."
    )


def _draw_figures(progress: MetricProgress, task: _Task) -> None:
    left_out = left_out_error(progress.metric, *task.sample)
    error = error_against_truth(progress.metric, task.new.x, task.new.y, *task.sample)
    left, right = st.columns(2, gap="medium")
    with left, st.container(horizontal=True, gap="medium", key="left_out_figures"):
        st.metric(
            "leave-one-out MSE: best fixed",
            show_measured(task.loss, task.stderr, most_places=4),
            width="content",
        )
        st.metric(
            "leave-one-out MSE: learned",
            show_measured(*left_out, most_places=4),
            width="content",
            help="The mean squared error that is trained on; with its eight numbers the learned "
            "kernel may fit a little of the noise.",
        )
    with right, st.container(horizontal=True, gap="medium", key="truth_figures"):
        st.metric(
            "MSE against the truth: best fixed",
            show_measured(*task.error, most_places=4),
            width="content",
            help=f"Mean squared error at {_NEW_POINTS:,} new points without noise, ± its standard "
            "error over them.",
        )
        st.metric(
            "MSE against the truth: learned", show_measured(*error, most_places=4), width="content"
        )


def _draw_plane(key: str, metric: Metric, sample: Sample, query: int) -> None:
    # The query itself is left out, as it is in training.
    weight_query, weight_key = (np.asarray(part, np.float64) for part in metric)
    others = np.arange(len(sample.y)) != query
    pattern = attention_fit(
        sample.x[query : query + 1] @ weight_query,
        sample.x[others] @ weight_key,
        sample.y[others],
        1.0,
    ).pattern[0]
    weights = np.zeros(len(sample.y))
    weights[others] = pattern
    near = sample.x[weights.argmax()]
    with st.container(key=f"chart_plane_{key}"):
        draw_chart(
            plane_chart(
                plane_table(sample.x, sample.y, weights, query), dark=on_dark(), height=_HEIGHT
            ),
            name=f"Weights by the {key} kernel",
            key=f"plane_{key}",
            on_select=partial(_take_click, f"plane_{key}"),
            selection_mode=CLICKED,
            alt=f"The points of the plane, as large as their weights by the {key} kernel. The "
            f"query is point {query + 1} of {len(weights)}, at {sample.x[query, 0]:.2f} across and "
            f"{sample.x[query, 1]:.2f} up; the largest weight, {weights.max():.3f}, is that of the "
            f"point at {near[0]:.2f} across and {near[1]:.2f} up. A triangle points down where y "
            "is below 0.",
        )


def _take_click(chart: str) -> None:
    picked = st.session_state[chart]["selection"].get(CLICKED)
    if picked and "point" in picked[0]:
        st.session_state["plane_point"] = int(picked[0]["point"])


def _draw_weights(metric: Metric) -> None:
    matrices = [
        r"\begin{pmatrix}"
        + r"\\".join(" & ".join(f"{weight:+.2f}" for weight in row) for row in np.asarray(matrix))
        + r"\end{pmatrix}"
        for matrix in metric
    ]
    widths = [1 / np.maximum(np.linalg.norm(matrix, axis=1), 1e-6) for matrix in metric]
    with st.container(key="metric_weights"):
        st.latex(rf"W_Q = {matrices[0]} \qquad W_K = {matrices[1]}")
        st.markdown(
            "Bandwidth along feature 1 and feature 2, one over the length of their rows: queries "
            f"{widths[0][0]:.3f} and {widths[0][1]:.3f}, keys {widths[1][0]:.3f} and "
            f"{widths[1][1]:.3f}."
        )
