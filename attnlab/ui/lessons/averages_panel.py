"""The mean of the past, computed in three ways, and its generalisation to attention."""

import inspect

import jax
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

_MOST = {"B": 4, "T": 16, "C": 8}
_HEAD_WIDTH = 4
_PROGRAMS = tuple(jax.jit(jax.vmap(way)) for way in (average_by_matrix, average_by_softmax))


def draw_averages() -> None:
    """Draw inputs, weights and means; below, the sizes and how far the three ways differ."""
    picture = st.container()
    with st.container(key="step_sizes"):
        columns = st.columns(3)
    labels = ("B (sequences)", "T (inputs in each)", "C (features of each)")
    batch, length, channels = (
        linked(column.slider, label, 1, _MOST[size], start, key=f"step_{size}")
        for column, label, size, start in zip(columns, labels, "BTC", (4, 8, 2), strict=True)
    )
    drawn = np.random.default_rng(0).normal(size=tuple(_MOST.values())).round(1).astype(np.float32)
    # Always compute the largest size and cut it, so that moving a slider compiles nothing. A mean
    # of the past does not depend on later rows, other sequences or other features.
    ways = np.stack([average_by_loop(rows) for rows in drawn]), *(way(drawn) for way in _PROGRAMS)
    loop, matrix, softmax = (np.asarray(way)[:batch, :length, :channels] for way in ways)
    first, second = (float(np.abs(other - loop).max()) for other in (matrix, softmax))
    with st.container(key="step_differences"):
        st.markdown(
            f"The three ways are equal. Largest difference over {batch} × {length} × {channels} "
            f"numbers: loop and matrix **{first:.1e}**, loop and softmax **{second:.1e}**. This is "
            "the rounding of 32-bit numbers."
        )
    with picture:
        _draw_mixture(drawn[0, :, :channels], loop[0])
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
        (left, "inputs of sequence 1", inputs),
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
