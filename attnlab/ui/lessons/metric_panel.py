"""Learning the kernel: W_Q and W_K trained on the leave-one-out error, shown live."""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax.random as jr
import numpy as np
import pandas as pd
import streamlit as st

from attnlab import charts
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
from attnlab.live.jobs import JobState
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.display import draw_metric
from attnlab.ui.core.jobs import draw_job, draw_job_buttons, forget_job, job_of, start_job
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.lessons.kit import clicks, control_row, in_columns, seed_field

_WORK = "metric_training"
_STEPS, _LEARNING_RATE = 400, 0.1
# Pause after each step, so that users can watch the training.
_REST_SECONDS = 0.08
_NEW_POINTS = 2_000
_CANDIDATES = np.geomspace(0.01, 1.0, 61)
_HEIGHT = 370


class _Task(NamedTuple):
    """A data set, new points without noise, and the bandwidth of the best fixed kernel.

    `loss` is this kernel's leave-one-out MSE and `error` its MSE against the truth; both are a mean
    with its standard error.
    """

    sample: Sample
    noise: float
    new: Sample
    bandwidth: float
    loss: tuple[float, float]
    error: tuple[float, float]


def draw_kernels() -> None:
    """Draw the settings, the buttons, and the fixed and the learned kernel side by side."""
    with control_row():
        name = linked(st.selectbox, "data", list(PLANES), key="plane", width=180)
        seed = seed_field("seed of the data", "plane_seed")
        limits = 0.05, 1.0, 0.3, 0.05
        start = linked(st.slider, "initial bandwidth", *limits, key="metric_start", width=240)
        task, plan = _task(name, seed), (name, seed, start)
        if (job := job_of(_WORK)) and job.of != plan:
            # Drop results of other settings.
            forget_job(_WORK)
        settings = {"learning_rate": _LEARNING_RATE, "steps": _STEPS}
        train = partial(learn_metric, *task.sample, isotropic(2, start), **settings)
        begin = partial(start_job, _WORK, train, of=plan, rest=_REST_SECONDS)
        draw_job_buttons(_WORK, "Train W_Q and W_K", begin)
    st.caption(
        f"{PLANES[name].description} Training takes {_STEPS} steps of Adam with learning rate "
        f"{_LEARNING_RATE:g}."
    )
    draw = partial(_draw_learned, task=task, start=start)
    draw_job(_WORK, draw, failed="Training", progress=_progress)


@st.cache_data(max_entries=16, show_spinner=False)
def _task(name: str, seed: int) -> _Task:
    data = PLANES[name]
    of_data, of_new = jr.split(jr.key(seed))
    sample = draw_sample(data, key=of_data)
    new = draw_sample(data._replace(points=_NEW_POINTS, noise=0.0), key=of_new)
    left_out = leave_one_out(sample.x, sample.y, _CANDIDATES)
    best, bandwidth = left_out.best, float(_CANDIDATES[left_out.best])
    loss = float(left_out.loss[best]), float(left_out.stderr[best])
    error = error_against_truth(isotropic(2, bandwidth), new.x, new.y, *sample)
    return _Task(sample, data.noise, new, bandwidth, loss, error)


def _progress(latest: MetricProgress | None) -> tuple[float, str]:
    step = latest.step if latest else 0
    return step / _STEPS, f"step {step:03d} of {_STEPS}"


def _draw_learned(state: JobState | None, *, task: _Task, start: float) -> None:
    if state is None:
        with st.container(key="metric_training_status"):
            st.progress(0.0, f"ready · {_progress(None)[1]}")
    progress = (state and state.latest) or MetricProgress(0, isotropic(2, start), np.zeros(0))
    _draw_numbers(progress, task)
    left, *others = st.columns([4, 3, 3], gap="medium")
    pairs = (("best fixed bandwidth", task.loss[0]), ("noise alone", task.noise**2))
    known = {f"{name} {level:.4f}": level for name, level in pairs}
    with left:
        draw_chart(
            charts.lines_chart(
                charts.series_table("", np.arange(len(progress.losses)), progress.losses),
                charts.level_table(known, (0, _STEPS)),
                x=charts.Scale("step", "d", labels="d", domain=(0, _STEPS)),
                y=charts.Scale("leave-one-out MSE", ".4f", domain=(0.0, 4 * task.loss[0])),
                look="line",
                tips=(),
                # The curve ends between the lines, nearer to the lower one.
                below=True,
                height=_HEIGHT,
            ),
            name="Learning the kernel",
            # Without numbers that still change, since a changed text redraws the chart.
            alt="Leave-one-out MSE during training, with that of the best fixed bandwidth, "
            f"{task.loss[0]:.4f}."
            + (f" It ended at {progress.losses[-1]:.4f}." if progress.step == _STEPS else ""),
        )
    query = linked(
        st.slider, "query: point", 1, len(task.sample.y), 1, 1, key="plane_point", width=300
    )
    fixed = f"**best fixed bandwidth**, h = {task.bandwidth:.3f}"
    kernels = (
        ("fixed", fixed, isotropic(2, task.bandwidth)),
        ("learned", f"**learned**, after step {progress.step}", progress.metric),
    )
    for column, (key, title, metric) in zip(others, kernels, strict=True):
        with column:
            st.markdown(title)
            _draw_plane(key, metric, task.sample, query - 1)
    _draw_weights(progress.metric)
    st.caption(
        "The fixed kernel covers a round neighbourhood; the learned one can stretch along a "
        "direction in which y does not change. Click a point to make it the query, which is "
        "ringed.",
        help="The size of a point is its weight, and the colour is y. Triangles point down where "
        "y is below 0.",
    )


def _draw_numbers(progress: MetricProgress, task: _Task) -> None:
    left_out = left_out_error(progress.metric, *task.sample)
    error = error_against_truth(progress.metric, task.new.x, task.new.y, *task.sample)
    of_training = (
        "Training minimises this error. With its eight weights the learned kernel may fit a "
        "little of the noise."
    )
    of_new = f"Mean squared error at {_NEW_POINTS:,} new points without noise, ± its standard "
    of_new += "error over them."
    loss, truth = "leave-one-out MSE", "MSE against the truth"
    rows = (
        ((loss, "best fixed", task.loss, None), (loss, "learned", left_out, of_training)),
        ((truth, "best fixed", task.error, of_new), (truth, "learned", error, None)),
    )
    for row in in_columns(rows):
        with st.container(horizontal=True, gap="medium"):
            for measure, which, value, help in row:
                draw_metric(f"{measure}: {which}", show_measured(*value, most_places=4), help)


def _draw_plane(key: str, metric: Metric, sample: Sample, query: int) -> None:
    # The query's own point has no weight, as in training.
    weight_query, weight_key = (np.asarray(part, np.float64) for part in metric)
    points = np.arange(len(sample.y))
    others, weights = points != query, np.zeros(len(points))
    asking, asked = sample.x[query : query + 1] @ weight_query, sample.x[others] @ weight_key
    weights[others] = attention_fit(asking, asked, sample.y[others], 1.0).pattern[0]
    columns = {"point": points + 1, "first": sample.x[:, 0], "second": sample.x[:, 1]}
    columns |= {"y": sample.y, "weight": weights, "chosen": points == query}
    table = pd.DataFrame({**columns, "relative": weights / max(float(weights.max()), 1e-12)})
    (x, y), near = sample.x[query], sample.x[weights.argmax()]
    draw_chart(
        charts.plane_chart(table),
        name=f"Weights by the {key} kernel",
        alt=f"The points of the plane, sized by their weights under the {key} kernel. The query "
        f"is point {query + 1} of {len(weights)}, at {x:.2f} across and {y:.2f} up. The "
        f"largest weight, {weights.max():.3f}, is that of the point at {near[0]:.2f} across "
        f"and {near[1]:.2f} up. A triangle points down where y is below 0.",
        **clicks(f"plane_{key}_clicks", _choose_point),
    )


def _choose_point(clicked: Mapping[str, Any]) -> None:
    if "point" in clicked:
        st.session_state["plane_point"] = int(clicked["point"])


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
            "The bandwidth along a feature is one over the norm of its row in W. For features 1 "
            f"and 2 it is {widths[0][0]:.3f} and {widths[0][1]:.3f} in queries, "
            f"{widths[1][0]:.3f} and {widths[1][1]:.3f} in keys."
        )
