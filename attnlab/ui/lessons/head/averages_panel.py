"""The mean of the past, three ways, and its way to attention."""

import inspect

import jax
import numpy as np
import streamlit as st

from attnlab.attention import ScaledDotProduct
from attnlab.charts import matrix_chart, matrix_table
from attnlab.charts.core.colours import hues, share_ramp, signed_ramp
from attnlab.lessons.stages import (
    Head,
    average_by_loop,
    average_by_matrix,
    average_by_softmax,
    compiled_stages,
)
from attnlab.models.parts import Projection
from attnlab.ui.controls.address_controls import linked
from attnlab.ui.core.in_code import draw_in_code
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark

_MOST = {"B": 4, "T": 16, "C": 8}
_HEAD_WIDTH = 4


def draw_averages() -> None:
    """The sliders, the differences and the matrices."""
    with st.container(key="step_sizes"):
        columns = st.columns(3)
    batch, length, channels = (
        linked(column.slider, label, 1, _MOST[size], start, key=f"step_{size}")
        for column, label, size, start in zip(
            columns,
            ("B (sequences)", "T (inputs in each)", "C (features of each)"),
            "BTC",
            (4, 8, 2),
            strict=True,
        )
    )
    drawn = _drawn()
    shown = np.s_[:batch, :length, :channels]
    loop, matrix, softmax = (part[shown] for part in _averages())
    rows = drawn[shown]
    first, second = (float(np.abs(other - loop).max()) for other in (matrix, softmax))
    with st.container(key="step_differences"):
        st.markdown(
            f"Largest difference over {batch} × {length} × {channels} numbers: loop and matrix "
            f"**{first:.1e}**, loop and softmax **{second:.1e}**. That is the rounding of "
            "32-bit numbers: the three are equal."
        )
    content = linked(st.toggle, "now let the weights depend on the content", key="step_content")
    if content:
        found = _attended(rows[0])
        weights, out, name = found.pattern, found.pattern @ rows[0], "attention"
    else:
        days = np.arange(1, length + 1, dtype=float)
        weights, out, name = np.tri(length) / days[:, None], loop[0], "the mean"
    _draw_three(rows[0], weights, out, name)
    st.caption(
        "How to read it: a row of the middle matrix says with which weights the inputs so far are "
        "mixed into one row at the right; it sums to 1. "
        + (
            "Now each row is the softmax of a query's products with the keys of its past: it "
            "depends on what the inputs are. The weights of this head are random."
            if content
            else "All weights of a row are the same, whatever the inputs are."
        )
    )
    ways = (average_by_loop, average_by_matrix, average_by_softmax)
    draw_in_code(*map(inspect.getsource, ways), title="The three ways in code", key="ways_in_code")


_PROGRAMS = tuple(jax.jit(jax.vmap(way)) for way in (average_by_matrix, average_by_softmax))


# Means of the past do not know of later rows, other sequences or other features. So those of
# the largest size hold those of every other, and moving a slider compiles nothing.
def _averages() -> tuple[np.ndarray, ...]:
    drawn = _drawn()
    loop = np.stack([average_by_loop(rows) for rows in drawn])
    return loop, *(np.asarray(program(drawn)) for program in _PROGRAMS)


def _drawn() -> np.ndarray:
    size = tuple(_MOST.values())
    return np.random.default_rng(0).normal(size=size).round(1).astype(np.float32)


def _attended(rows: np.ndarray):
    rng = np.random.default_rng(1)
    features = rows.shape[1]
    weights = rng.normal(size=(3, features, _HEAD_WIDTH)).astype(np.float32)
    head = Head(*(Projection(weight, np.zeros_like(weight[0])) for weight in weights))
    mask = np.tri(len(rows), dtype=bool)
    return compiled_stages(head, rows, rows, mask=mask, scale=1.0, score=ScaledDotProduct())


def _draw_three(rows: np.ndarray, weights: np.ndarray, out: np.ndarray, name: str) -> None:
    dark = on_dark()
    hue, largest = hues(dark=dark), float(np.abs(rows).max())
    signed, common = signed_ramp(dark=dark), {"dark": dark, "height": 360}
    left, middle, right = st.columns([1, 2, 1])
    for column, title, values in (
        (left, "inputs of sequence 1", rows),
        (right, f"mixed by {name}", out),
    ):
        with column, st.container(key=f"chart_step_{'inputs' if column is left else 'mixed'}"):
            st.markdown(f"**{title}**")
            draw_chart(
                matrix_chart(
                    matrix_table(values),
                    shape=values.shape,
                    row_title="← input t",
                    column_title="feature →",
                    domain=(-largest, largest),
                    ramp=signed,
                    **common,
                ),
                name=title.capitalize(),
                alt=f"{title}: {values.shape[0]} rows of {values.shape[1]} numbers, the last row "
                f"begins with {values[-1, 0]:.2f}.",
            )
    with middle, st.container(key="chart_step_weights"):
        st.markdown(f"**weights of {name}**")
        draw_chart(
            matrix_chart(
                matrix_table(weights),
                shape=weights.shape,
                row_title="← query: input t",
                column_title="key: input up to t →",
                domain=(0.0, 1.0),
                ramp=share_ramp(dark=dark),
                row_colour=hue.query,
                column_colour=hue.key,
                meaning="weight",
                **common,
            ),
            name=f"Weights of {name}",
            alt=f"Weights of {name}: in the last row from {weights[-1].min():.3f} to "
            f"{weights[-1].max():.3f}.",
        )
