"""Inspect: how many targets are right from end to end, and the loss of each of their tokens."""

from functools import partial

import numpy as np
import streamlit as st

from attnlab.charts import by_day_chart, by_day_table
from attnlab.charts.core.drawing import with_position_word_in
from attnlab.configuration.number_text import show_measured
from attnlab.generators import AbstractTask
from attnlab.inspection.targets import TargetTest
from attnlab.models import AbstractModel
from attnlab.ui.core.page_charts import draw_chart
from attnlab.ui.core.page_theme import on_dark
from attnlab.ui.core.uncertainty import OVER_TEST_SEQUENCES
from attnlab.ui.sequence_to_sequence.target_work import draw_target_test

_HEIGHT = 300


def draw_target_quality(task: AbstractTask, model: AbstractModel, test: np.ndarray) -> None:
    """Figures over the whole test set, worked out once for a model."""
    st.header("Over the whole test set", anchor=False, divider="gray")
    draw_target_test(task, model, test, partial(_draw, task=task, size=len(test)))


def _draw(found: TargetTest, *, task: AbstractTask, size: int) -> None:
    mean, floor, count = found.tokens.mean, task.floor(), task.given()
    exact = show_measured(found.exact_match, found.exact_match_stderr)
    with st.container(key="target_figures"):
        st.markdown(
            f"Targets right from end to end: **{exact}** of "
            f"{size:,} test sources, written greedily. Single tokens given the true ones before: "
            f"accuracy **{show_measured(mean.accuracy, mean.accuracy_stderr)}**, loss "
            f"**{show_measured(mean.nll, mean.nll_stderr)}** nats where {floor:.3f} is the floor."
        )
    places = found.tokens.positions - count + 1
    worst = int(np.argmax(found.tokens.nll))
    chart = by_day_chart(
        by_day_table(
            places, found.tokens.nll, found.tokens.nll_stderr, np.full(len(places), floor)
        ),
        dark=on_dark(),
        height=_HEIGHT,
    )
    with st.container(key="chart_by_target"):
        draw_chart(
            with_position_word_in(chart, "target token"),
            name="Loss by target token",
            alt=f"Loss by target token. Largest for token {places[worst]}, "
            f"{found.tokens.nll[worst]:.3f} nats.",
        )
    st.caption(
        "How to read it: the loss of each target token, given the source and the true target "
        f"tokens before it, {OVER_TEST_SEQUENCES}; dashes: the least loss possible, exact."
    )
