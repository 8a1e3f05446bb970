"""The mean of the past, computed in three ways, and its generalisation to attention."""

import inspect

import numpy as np
import streamlit as st

from attnlab.attention import ScaledDotProduct
from attnlab.charts import Matrix, matrix_chart
from attnlab.lessons.stages import (
    Head,
    average_by_loop,
    average_by_matrix,
    average_by_softmax,
    compiled_stages,
)
from attnlab.models.parts import Projection
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.fragments import draw_in_code
from attnlab.ui.core.page_charts import draw_chart

_MOST = 16, 8
_HEAD_WIDTH = 4


def draw_averages() -> None:
    """Draw sizes; below, inputs, weights and means."""
    left, right = st.columns(2, gap="medium")
    length = linked(left.slider, "T (inputs)", 1, _MOST[0], 8, key="step_T")
    channels = linked(right.slider, "C (features of each)", 1, _MOST[1], 2, key="step_C")
    drawn = np.random.default_rng(0).normal(size=_MOST).round(1).astype(np.float32)[:, :channels]
    _draw_mixture(drawn, average_by_loop(drawn[:length]))
    sources = map(inspect.getsource, (average_by_loop, average_by_matrix, average_by_softmax))
    draw_in_code(*sources, title="The three ways in code", key="ways_in_code")


def _draw_mixture(rows: np.ndarray, means: np.ndarray) -> None:
    """Draw the first inputs, the weights that mix them, and the mixtures, by default the means."""
    length, channels = means.shape
    place = st.container()
    if content := linked(st.toggle, "let the weights depend on the inputs", key="step_content"):
        weights, name = _pattern(rows)[:length, :length], "attention"
        mixed = weights @ rows[:length]
    else:
        weights, name = np.tri(length) / np.arange(1.0, length + 1)[:, None], "the mean"
        mixed = means
    left, middle, right = place.columns([1, 2, 1])
    inputs, titles = rows[:length], ("position t", "feature")
    largest = float(np.abs(inputs).max())
    for column, title, values in (
        (left, "inputs so far", inputs),
        (right, f"output of {name}", mixed),
    ):
        with column:
            st.markdown(f"**{title}**")
            alt = f"{title}: {length} rows of {channels} numbers; the last row starts with "
            alt += f"{values[-1, 0]:.2f}."
            chart = matrix_chart(Matrix(title, values, *titles), largest=largest, square=True)
            draw_chart(chart, name=title.capitalize(), alt=alt)
    with middle:
        title = f"weights of {name}"
        st.markdown(f"**{title}**")
        matrix = Matrix(title, weights, "query: position", "key: position", shares=True)
        draw_chart(
            matrix_chart(matrix, meaning="weight", square=True),
            name=title.capitalize(),
            alt=f"{title.capitalize()}: in the last row from {weights[-1].min():.3f} to "
            f"{weights[-1].max():.3f}.",
        )
    st.caption(
        "How to read it: each row of the middle matrix sums to 1. It averages the inputs so far "
        "into one output row at the right. "
        + (
            "A row is the softmax of a query's scaled products with the keys so far, so it depends "
            "on the inputs. This head has random weights."
            if content
            else "All nonzero weights of a row are equal, whatever the inputs are."
        )
    )


def _pattern(rows: np.ndarray) -> np.ndarray:
    """Return the pattern of a causal head with random weights, `(query, key)`."""
    size = 3, rows.shape[1], _HEAD_WIDTH
    weights = np.random.default_rng(1).normal(size=size).astype(np.float32)
    head = Head(*(Projection(weight, np.zeros_like(weight[0])) for weight in weights))
    mask = np.tri(len(rows), dtype=bool)
    score = ScaledDotProduct()
    return compiled_stages(head, rows, rows, mask=mask, scale=1.0, score=score).pattern
